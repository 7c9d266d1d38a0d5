/**
 * Limits of the bodies that are parsed. The cost of parsing one, in time and in memory, depends on its
 * number of values and names, not on its length.
 *
 * @module
 */

/** Comparing two deeper values could overflow the stack. */
const DEPTH_MAX = 64;
const VALUES_MAX = 1_000_000;
/** V8 spends 4 µs on a name that is new at its place, thirty times as long as on a value. */
const NAMES_MAX = 100_000;

/** A body within these limits is parsed in some 4 ms at most. A longer one is not even measured. */
export const SHORT_BYTES_MAX = 64 * 1024;
export const SHORT_NAMES_MAX = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BYTE_ORDER_MARK = "\ufeff";
const SPACE = " \t\n\r";

/** The size of a body. */
export interface BodySize {
  /** Values, at least one; those of a form are its fields. */
  values: number;
  /** Names of objects, or of a form's fields. */
  names: number;
  /** The characters of the longest text in it, at most. */
  text: number;
}

/** Measures a body before any value is made of it; `refused` says why it must not be parsed. */
export function sizeOfBody(body: string, isForm: boolean): BodySize | { refused: string } {
  const fields = isForm ? fieldsOf(body) : 0;
  if (fields > NAMES_MAX) return tooMany(NAMES_MAX, "names");
  const json = sizeOfJson(body);
  if ("refused" in json || fields === 0) return json;
  const { values, names } = json;
  return { values: Math.max(fields, values), names: Math.max(fields, names), text: body.length };
}

/** Measures a body as JSON as far as it may be JSON. What follows the end of a value makes it none. */
function sizeOfJson(body: string): BodySize | { refused: string } {
  let depth = 0;
  let values = 1;
  let names = 0;
  let text = 0;
  for (let i = startOf(body); i < body.length; i++) {
    const code = body.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(body, i);
      text = Math.max(text, end - i);
      i = end;
    } else if (code === COMMA) values += 1;
    else if (code === COLON) names += 1;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      values += 1;
    }
    if (depth > DEPTH_MAX) return { refused: "it is nested too deep" };
    if (values > VALUES_MAX) return tooMany(VALUES_MAX, "values");
    if (names > NAMES_MAX) return tooMany(NAMES_MAX, "names");
    if (depth <= 0) break;
  }
  return { values, names, text };
}

function startOf(body: string): number {
  let start = body.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < body.length && SPACE.includes(body.charAt(start))) start += 1;
  return start;
}

/** Finds the end of the string that begins at `start`, by the runtime's own search. */
function endOfString(body: string, start: number): number {
  for (let end = body.indexOf('"', start + 1); end !== -1; end = body.indexOf('"', end + 1)) {
    let first = end;
    while (first > start + 1 && body.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    // A quote behind an odd number of backslashes belongs to the string.
    if ((end - first) % 2 === 0) return end;
  }
  return body.length;
}

/** Counts the fields of a form, up to one more than the limit. */
function fieldsOf(form: string): number {
  let count = 1;
  for (let i = form.indexOf("&"); i !== -1 && count <= NAMES_MAX; i = form.indexOf("&", i + 1)) {
    count += 1;
  }
  return count;
}

function tooMany(most: number, what: string): { refused: string } {
  return { refused: `it holds more than ${most} ${what}` };
}
