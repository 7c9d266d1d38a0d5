// Metadata as line charts: the numbers in the lines of a log that are JSON objects.
const KEYS_MAX = 60;
const POINTS_MAX = 1000;
const [WIDTH, HEIGHT] = [240, 56];
const SVG = "http://www.w3.org/2000/svg";

// deno-lint-ignore no-unused-vars -- log.js uses it
class Charts {
  #box;
  #series = new Map();

  constructor(box) {
    this.#box = box;
  }

  take({ stream, message }) {
    if (stream !== "stdout" || !message.trimStart().startsWith("{")) return;
    let event;
    try {
      event = JSON.parse(message);
    } catch {
      return;
    }
    for (const [key, value] of Object.entries(event)) {
      if (Number.isFinite(value)) this.#add(key, value);
    }
  }

  // Of too many points every second one goes.
  #add(key, value) {
    const series = this.#series.get(key) ?? { points: [], count: 0, step: 1 };
    if (series.count === 0 && this.#series.size >= KEYS_MAX) return;
    this.#series.set(key, series);
    series.latest = value;
    series.isNew = true;
    if (series.count++ % series.step > 0) return;
    series.points.push(value);
    if (series.points.length < POINTS_MAX) return;
    series.points = series.points.filter((_, index) => index % 2 === 0);
    series.step *= 2;
  }

  draw() {
    for (const [key, series] of this.#series) {
      if (!series.isNew || series.count < 2) continue;
      series.isNew = false;
      const chart = chartOf(key, series);
      if (series.chart) series.chart.replaceWith(chart);
      else this.#box.append(chart);
      series.chart = chart;
      this.#box.hidden = false;
    }
  }
}

function chartOf(key, { points, count, latest }) {
  const low = Math.min(...points);
  const high = Math.max(...points);
  const x = (index) => index / Math.max(1, points.length - 1) * (WIDTH - 4) + 2;
  const y = (value) => HEIGHT - 4 - (value - low) / (high - low || 1) * (HEIGHT - 8);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${key}: ${count} values between ${low} and ${high}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute(
    "points",
    points.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
  );
  svg.append(line);
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const value = document.createElement("strong");
  value.textContent = short(latest);
  caption.append(`${key} `, value);
  const range = document.createElement("small");
  range.textContent = `${short(low)} to ${short(high)}, ${count} values`;
  figure.append(caption, svg, range);
  return figure;
}

function short(value) {
  return String(Number(value.toPrecision(5)));
}
