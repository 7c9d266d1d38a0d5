// The colours of terminals as classes. Each line stands for itself; a code that is no colour is left out.
const CODES =
  // deno-lint-ignore no-control-regex
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|[\x00-\x08\x0b-\x1f\x7f]/g;
const FLAGS = { 1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse" };
const ENDS = { 22: ["bold", "faint"], 23: ["italic"], 24: ["underline"], 27: ["inverse"] };

// Returns the nearest of eight colours to one of 256, or of 16 million, and how many numbers name it.
function nearest([kind, ...rest]) {
  const bits = (values, from) =>
    values.reduce((sum, value, place) => sum + (value >= from ? 1 << place : 0), 0);
  if (kind === 2) return [bits(rest.slice(0, 3), 128), 4];
  const [index = 0] = rest;
  if (index < 16) return [index % 8, 2];
  if (index >= 232) return [index < 244 ? 0 : 7, 2];
  const cube = index - 16;
  return [bits([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6], 3), 2];
}

// Colons join the parts of one code: kinds of underlines, and colours, some with the place of a colour space.
function codesOf(text) {
  return text.replaceAll(/(^|;)4:(\d+)/g, (_, before, kind) => before + (kind > 0 ? 4 : 24))
    .replaceAll(/(8:2):\d*((?::\d+){3})/g, "$1$2")
    .split(/[;:]/).map(Number);
}

function applyCodes(style, text) {
  const codes = codesOf(text);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    const colour = code % 10;
    const ground = code >= 100 || code >= 40 && code < 50 ? "bg" : "fg";
    if (code === 0) { for (const name of Object.keys(style)) delete style[name]; }
    else if (FLAGS[code]) style[FLAGS[code]] = FLAGS[code];
    else if (ENDS[code]) { for (const name of ENDS[code]) delete style[name]; }
    else if (code === 58) at += nearest(codes.slice(at + 1))[1];
    else if (code < 30 || code > 49 && code < 90 || code > 107) continue;
    else if (colour === 9) delete style[ground];
    else if (colour === 8) {
      const [index, used] = nearest(codes.slice(at + 1));
      style[ground] = `${ground}-${index}`;
      at += used;
    } else style[ground] = `${ground}-${colour}`;
  }
}

// Splits a line into texts and their classes.
// deno-lint-ignore no-unused-vars -- log.js uses it
function ansiParts(message) {
  // A progress bar writes over itself: its last state counts.
  const ended = message.replace(/\r+$/, "");
  const line = ended.slice(ended.lastIndexOf("\r") + 1);
  const parts = [];
  const style = {};
  let start = 0;
  const add = (end) => end > start && parts.push([line.slice(start, end), Object.values(style)]);
  for (const { 0: code, 1: numbers, 2: kind, index } of line.matchAll(CODES)) {
    add(index);
    start = index + code.length;
    if (kind === "m") applyCodes(style, numbers);
  }
  add(line.length);
  return parts;
}
