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
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const BYTE_ORDER_MARK = "\ufeff";
const SPACE = " \t\n\r";

/**
 * Why a body should not be parsed; undefined where it may be. It is looked at once, before any value is
 * made of it.
 */
export function whyBodyIsRefused(body: string, isForm: boolean): string | undefined {
  return isForm && holdsMany(body, "&") ? tooManyValues() : whyJsonIsRefused(body);
}

/** Looks at a body as JSON as far as it may be JSON. What follows the end of a value makes it none. */
function whyJsonIsRefused(body: string): string | undefined {
  let depth = 0;
  let values = 1;
  for (let i = startOf(body); i < body.length; i++) {
    const code = body.charCodeAt(i);
    if (code === QUOTE) i = endOfString(body, i);
    else if (code === COMMA) values += 1;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      values += 1;
    }
    if (depth > DEPTH_MAX) return "it is nested too deep";
    if (values > VALUES_MAX) return tooManyValues();
    if (depth <= 0) return undefined;
  }
  return undefined;
}

function startOf(body: string): number {
  let start = body.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < body.length && SPACE.includes(body.charAt(start))) start += 1;
  return start;
}

/** Where the string that begins at `start` ends. Long ones are passed over by the runtime's own search. */
function endOfString(body: string, start: number): number {
  for (let end = body.indexOf('"', start + 1); end !== -1; end = body.indexOf('"', end + 1)) {
    let first = end;
    while (first > start + 1 && body.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    // A quote behind an odd number of backslashes belongs to the string.
    if ((end - first) % 2 === 0) return end;
  }
  return body.length;
}

/** Whether a body holds a character so often that there would be too many values between. */
function holdsMany(body: string, wanted: string): boolean {
  let count = 0;
  for (
    let i = body.indexOf(wanted);
    i !== -1 && count < VALUES_MAX;
    i = body.indexOf(wanted, i + 1)
  ) {
    count += 1;
  }
  return count >= VALUES_MAX;
}

function tooManyValues(): string {
  return `it holds more than ${VALUES_MAX} values`;
}
