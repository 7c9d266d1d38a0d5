// The log of an execution. All its lines are in memory; the page holds a window of them.
const ROW_PX = 20;
const SPARE_ROWS = 30;
const LINES_MAX = 500_000;
const CHARACTERS_MAX = 4000;
const DRAW_MS = 100;
const SEARCH_MS = 150;
// A service that stops or starts, or a proxy before it, may refuse what is asked.
const ASK_AGAIN_MS = 10_000;

function lineText({ message }) {
  return ansiParts(message).map(([text]) => text).join("");
}

function rowOf({ message, stream, time }, number, address) {
  const row = document.createElement("div");
  row.className = `line ${stream}`;
  const link = document.createElement("a");
  link.href = `${address}#L${number}`;
  link.textContent = number;
  link.title = stream === "stdout" ? time : `${time} ${stream}`;
  const text = document.createElement("span");
  for (const [piece, classes] of ansiParts(message.slice(0, CHARACTERS_MAX))) {
    const span = document.createElement("span");
    span.className = classes.join(" ");
    span.textContent = piece;
    text.append(span);
  }
  if (message.length > CHARACTERS_MAX) text.append("… (the rest is in the download)");
  row.append(link, text);
  return row;
}

class LogView {
  #lines = [];
  // The rows on the page, by their places.
  #rows = new Map();
  #target = -1;
  #isFollowing = true;
  #unseen = 0;

  constructor(section) {
    [this.view, this.pane, this.end] = [".lines", ".window", ".follow"].map((selector) =>
      section.querySelector(selector)
    );
    this.address = section.dataset.address;
    this.search = new LogSearch(section.querySelector(".find"), this, this.#lines);
    this.view.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.view.addEventListener("click", (event) => this.#pick(event));
    this.end.addEventListener("click", () => this.#followAgain());
    addEventListener("resize", () => this.draw());
    addEventListener("hashchange", () => this.goToHash());
  }

  get length() {
    return this.#lines.length;
  }

  get top() {
    return Math.floor(this.view.scrollTop / ROW_PX);
  }

  // Counts lines as new that are printed while somebody looks.
  append(more, isNew) {
    const isTargetNew = this.#target >= this.length;
    for (const line of more) this.#lines.push(line);
    this.search.take(more);
    if (isNew && !this.#isFollowing) this.#unseen += more.length;
    this.pane.style.height = `${this.length * ROW_PX}px`;
    if (isTargetNew && this.#target < this.length) this.show(this.#target);
    if (this.#isFollowing) this.view.scrollTop = this.view.scrollHeight;
    this.draw();
  }

  draw() {
    const first = Math.max(0, this.top - SPARE_ROWS);
    const count = Math.ceil(this.view.clientHeight / ROW_PX) + 2 * SPARE_ROWS;
    const last = Math.min(this.length, first + count);
    this.pane.style.paddingTop = `${first * ROW_PX}px`;
    for (const [index, row] of this.#rows) {
      if (index >= first && index < last) continue;
      row.remove();
      this.#rows.delete(index);
    }
    let place = this.pane.firstElementChild;
    for (let index = first; index < last; index++) {
      const row = this.#rows.get(index) ??
        rowOf(this.#lines[index], index + 1, this.address);
      if (!this.#rows.has(index)) this.pane.insertBefore(row, place);
      this.#rows.set(index, row);
      place = row.nextElementSibling;
      row.classList.toggle("hit", this.search.current === index);
      row.classList.toggle("target", this.#target === index);
    }
    this.end.hidden = this.#isFollowing;
    this.end.textContent = this.#unseen > 0
      ? `${this.#unseen} new lines: follow`
      : "Not following: go to the end";
  }

  show(index) {
    this.#isFollowing = false;
    this.view.scrollTop = Math.max(0, index * ROW_PX - this.view.clientHeight / 3);
    this.draw();
  }

  goToHash() {
    this.#target = (Number(/^#L(\d+)$/.exec(location.hash)?.[1]) || 0) - 1;
    if (this.#target >= 0 && this.#target < this.length) this.show(this.#target);
    else this.draw();
  }

  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.view;
    this.#isFollowing = scrollTop + clientHeight >= scrollHeight - ROW_PX;
    if (this.#isFollowing) this.#unseen = 0;
    this.draw();
  }

  // A click on a number marks its line, and moves nothing.
  #pick(event) {
    const { hash, href } = event.target.closest("a") ?? {};
    if (!hash) return;
    event.preventDefault();
    history.replaceState(null, "", href);
    this.#target = Number(hash.slice(2)) - 1;
    this.draw();
  }

  #followAgain() {
    this.#isFollowing = true;
    this.#unseen = 0;
    this.view.scrollTop = this.view.scrollHeight;
    this.draw();
  }
}

class LogSearch {
  #hits = [];
  #at = -1;
  #wanted = "";

  constructor(form, view, lines) {
    [this.form, this.view, this.lines] = [form, view, lines];
    this.input = form.querySelector("input");
    let typing;
    this.input.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.#begin(), SEARCH_MS);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#next(event.shiftKey ? -1 : 1);
    });
  }

  // The place of the line that is found.
  get current() {
    return this.#hits[this.#at];
  }

  // Looks into lines that were just added.
  take(more) {
    if (this.#wanted === "") return;
    const start = this.lines.length - more.length;
    for (const [index, line] of more.entries()) {
      if (lineText(line).toLowerCase().includes(this.#wanted)) this.#hits.push(start + index);
    }
    this.#tell();
  }

  #begin() {
    this.#wanted = this.input.value.toLowerCase();
    this.#hits = [];
    this.take(this.lines);
    this.#at = Math.max(0, this.#hits.findIndex((index) => index >= this.view.top));
    this.#next(0);
  }

  #next(step) {
    this.#tell();
    if (this.#hits.length === 0) return this.view.draw();
    this.#at = (this.#at + step + this.#hits.length) % this.#hits.length;
    this.#tell();
    this.view.show(this.current);
  }

  #tell() {
    const found = this.#hits.length === 0 ? "None" : `${this.#at + 1} of ${this.#hits.length}`;
    this.form.querySelector("span").textContent = this.#wanted === "" ? "" : found;
  }
}

// Loads JSON, however often it must be asked for; undefined where it is refused for good.
async function load(address) {
  for (;;) {
    try {
      const answer = await fetch(address);
      if (answer.ok) return await answer.json();
      if (answer.status < 500) return undefined;
    } catch {
      // The service does not answer.
    }
    await new Promise((done) => setTimeout(done, ASK_AGAIN_MS));
  }
}

async function startLog(section) {
  const view = new LogView(section);
  const charts = new Charts(document.querySelector(".charts"));
  const { log: address, query = "" } = section.dataset;
  const append = (lines, isNew) => {
    for (const line of lines) charts.take(line);
    if (lines.length > 0) section.querySelector(".nothing")?.remove();
    view.append(lines, isNew);
    charts.draw();
  };
  let cursor = "0";
  for (let next = cursor; next !== null && view.length < LINES_MAX;) {
    const page = await load(`${address}/lines?${query}cursor=${cursor}`);
    // The lines of the server's page stay.
    if (!page) return;
    if (view.length === 0) {
      view.pane.replaceChildren();
      section.querySelector(".more")?.remove();
      view.search.form.hidden = false;
      view.goToHash();
    }
    append(page.results, false);
    ({ cursor, next } = page);
  }
  follow(`${address}/events?${query}`, cursor, { view, append });
}

function follow(address, cursor, { view, append }) {
  let events;
  let isOver = false;
  let arrived = [];
  let timer;
  // What is printed fast is drawn together.
  const arrive = (line) => {
    arrived.push(line);
    timer ??= setTimeout(() => {
      append(arrived, true);
      [arrived, timer] = [[], undefined];
    }, DRAW_MS);
  };
  const end = () => {
    isOver = true;
    events.close();
  };
  const take = ({ data, lastEventId }) => {
    cursor = lastEventId;
    if (view.length + arrived.length < LINES_MAX) return arrive(JSON.parse(data));
    end();
    const message = `The page shows ${LINES_MAX} lines at most. The download has all of them.`;
    arrive({ message, stream: "event", time: new Date().toISOString() });
  };
  const askAgain = (refused) => setTimeout(() => refused === events && connect(), ASK_AGAIN_MS);
  // A hidden page holds no connection: a browser has few of them.
  const connect = () => {
    events?.close();
    if (document.hidden || isOver) return;
    events = new EventSource(`${address}cursor=${cursor}`);
    events.onmessage = take;
    events.addEventListener("end", end);
    // A browser connects again by itself only where it got no answer.
    events.onerror = ({ target }) => target.readyState === EventSource.CLOSED && askAgain(target);
  };
  document.addEventListener("visibilitychange", connect);
  connect();
}

for (const section of document.querySelectorAll("[data-log]")) startLog(section);
