// Relative times go on by themselves. `components/values.tsx` writes them in the same words.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"]];

function spanText(span_s) {
  const [unit_s, unit] = UNITS.find(([each]) => span_s >= each) ?? [1, "s"];
  return `${Math.floor(span_s / unit_s)} ${unit}`;
}

function relative(span_ms, isLasting) {
  const span_s = Math.round(Math.abs(span_ms) / 1000);
  const text = spanText(span_s);
  if (isLasting) return text;
  if (span_s < 5) return "now";
  return span_ms < 0 ? `in ${text}` : `${text} ago`;
}

function showTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const span_ms = Date.now() - Date.parse(time.dateTime);
    const text = relative(span_ms, time.dataset.relative === "lasting");
    if (time.textContent !== text) time.textContent = text;
  }
}

setInterval(showTimes, 5000);
