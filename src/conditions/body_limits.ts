/**
 * Which bodies are read as values: what it costs to parse one, in time and in memory, follows from how
 * many values it holds and not from its length.
 *
 * @module
 */

/** To compare two such values could overflow the stack. */
const DEPTH_MAX = 64;
const VALUES_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const AMPERSAND = 0x26;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const SPACE = [0x20, 0x09, 0x0a, 0x0d];

/**
 * Why a body should not be parsed; undefined where it may be. The bytes are looked at once, before
 * anything is made of them.
 */
export function whyBodyIsRefused(body: Uint8Array, isForm: boolean): string | undefined {
  const isFull = isForm && countBytes(body, AMPERSAND) >= VALUES_MAX;
  return isFull ? tooManyValues() : whyJsonIsRefused(body);
}

/** Looks at a body as JSON as far as it may be JSON. What follows the end of a value makes it none. */
function whyJsonIsRefused(body: Uint8Array): string | undefined {
  let depth = 0;
  let values = 1;
  for (let i = startOf(body); i < body.length; i++) {
    const byte = body[i] ?? 0;
    if (byte === QUOTE) i = endOfString(body, i);
    else if (byte === COMMA) values += 1;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      values += 1;
    }
    if (depth > DEPTH_MAX) return "it is nested too deep";
    if (values > VALUES_MAX) return tooManyValues();
    if (depth <= 0) return undefined;
  }
  return undefined;
}

function startOf(body: Uint8Array): number {
  let start = BYTE_ORDER_MARK.every((byte, i) => body[i] === byte) ? BYTE_ORDER_MARK.length : 0;
  while (SPACE.includes(body[start] ?? 0)) start += 1;
  return start;
}

/** Where the string that begins at `start` ends. Long ones are passed over by the runtime's own search. */
function endOfString(body: Uint8Array, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end !== -1; end = body.indexOf(QUOTE, end + 1)) {
    let first = end;
    while (first > start + 1 && body[first - 1] === BACKSLASH) first -= 1;
    // A quote behind an odd number of backslashes belongs to the string.
    if ((end - first) % 2 === 0) return end;
  }
  return body.length;
}

function countBytes(body: Uint8Array, wanted: number): number {
  let count = 0;
  for (let i = 0; i < body.length; i++) if (body[i] === wanted) count += 1;
  return count;
}

function tooManyValues(): string {
  return `it holds more than ${VALUES_MAX} values`;
}
