/**
 * What one character of a pattern may be: classes such as `[^a-z\d]`, and escapes. A class becomes a
 * regular expression of the engine for a single character, which takes a fixed time.
 *
 * @module
 */
import { type CharacterTest, PatternError } from "./cel_pattern_program.ts";

/** What stands at a place of a pattern, and where it ends. */
export interface FoundClass {
  test: CharacterTest;
  end: number;
}

/** A set of characters, written as between the brackets of a regular expression. */
interface CharacterSet {
  source: string;
  isNegated: boolean;
  end: number;
}

const PERL_CLASS = /\\([dswDSW])/y;
const UNICODE_CLASS = /\\([pP])(?:\{(\^?)([^}]*)\}|(.))/suy;
const POSIX_CLASS = /\[:(\^?)(.*?):\]/sy;
const NUMBER_ESCAPE = /\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))/y;
const SIGN_ESCAPE = /\\([\0-\x7f])/y;

const perlClasses: Readonly<Record<string, string>> = {
  d: "0-9",
  s: "\\t\\n\\f\\r ",
  w: "0-9A-Za-z_",
};

const posixClasses = new Map([
  ["alnum", "0-9A-Za-z"],
  ["alpha", "A-Za-z"],
  ["ascii", "\\x00-\\x7f"],
  ["blank", "\\t "],
  ["cntrl", "\\x00-\\x1f\\x7f"],
  ["digit", "0-9"],
  ["graph", "!-~"],
  ["lower", "a-z"],
  ["print", " -~"],
  ["punct", "!-\\/:-@\\[-`\\{-~"],
  ["space", "\\t\\n\\v\\f\\r "],
  ["upper", "A-Z"],
  ["word", "0-9A-Za-z_"],
  ["xdigit", "0-9A-Fa-f"],
]);

const controlEscapes = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

/** Reads a class of which the opening bracket stands before `start`. */
export function readClass(pattern: string, start: number, isFolded: boolean): FoundClass {
  let at = start;
  const isNegated = pattern[at] === "^";
  if (isNegated) at += 1;
  const sets: CharacterSet[] = [];
  // A bracket that comes first stands for itself.
  while (sets.length === 0 || pattern[at] !== "]") {
    if (at >= pattern.length) throw new PatternError("missing closing ]");
    const set = posixSet(pattern, at) ?? escapedSet(pattern, at) ?? range(pattern, at);
    sets.push(set);
    at = set.end;
  }
  const test = anyOf(sets, isFolded);
  return { test: (codePoint) => test(codePoint) !== isNegated, end: at + 1 };
}

/** Reads `\d`, `\pL` and the like, of which the backslash stands before `start`. */
export function classEscape(
  pattern: string,
  start: number,
  isFolded: boolean,
): FoundClass | undefined {
  const set = escapedSet(pattern, start - 1);
  return set && { test: anyOf([set], isFolded), end: set.end };
}

/** Reads an escape that stands for one character, of which the backslash stands before `start`. */
export function characterEscape(
  pattern: string,
  start: number,
): { codePoint: number; end: number } {
  const [text, braced, hex, octal] = find(NUMBER_ESCAPE, pattern, start - 1);
  if (text !== undefined) {
    const codePoint = octal === undefined ? parseInt(braced ?? hex ?? "", 16) : parseInt(octal, 8);
    if (codePoint > 0x10ffff) throw new PatternError(`invalid escape: ${text}`);
    return { codePoint, end: start - 1 + text.length };
  }
  const [sign = "", character = ""] = find(SIGN_ESCAPE, pattern, start - 1);
  const codePoint = controlEscapes.get(character) ??
    (/[^0-9A-Za-z]/.test(character) ? character.charCodeAt(0) : undefined);
  if (codePoint === undefined) {
    if (start >= pattern.length) throw new PatternError("trailing backslash");
    throw new PatternError(`invalid escape: \\${pattern.charAt(start)}`);
  }
  return { codePoint, end: start - 1 + sign.length };
}

function posixSet(pattern: string, at: number): CharacterSet | undefined {
  const [text, caret, name = ""] = find(POSIX_CLASS, pattern, at);
  if (text === undefined) return undefined;
  const source = posixClasses.get(name);
  if (source === undefined) throw new PatternError(`invalid class: ${text}`);
  return { source, isNegated: caret === "^", end: at + text.length };
}

function escapedSet(pattern: string, at: number): CharacterSet | undefined {
  const [perl, letter = ""] = find(PERL_CLASS, pattern, at);
  if (perl !== undefined) {
    const lower = letter.toLowerCase();
    return {
      source: perlClasses[lower] ?? "",
      isNegated: letter !== lower,
      end: at + perl.length,
    };
  }
  const [text, p, caret, braced, single] = find(UNICODE_CLASS, pattern, at);
  if (text === undefined) return undefined;
  return {
    source: unicodeSource(braced ?? single ?? "", text),
    isNegated: (p === "P") !== (caret === "^"),
    end: at + text.length,
  };
}

/** A general category such as `L` or `Lu`, or a script such as `Greek`. */
function unicodeSource(name: string, text: string): string {
  if (name === "Any") return "\\0-\\u{10ffff}";
  const source = /^[A-Z][a-z]?$/.test(name) ? `\\p{${name}}` : `\\p{Script=${name}}`;
  try {
    if (/^\w+$/.test(name)) return new RegExp(source, "u").source;
  } catch {
    // It is refused below, in words of our own.
  }
  throw new PatternError(`invalid class: ${text}`);
}

function range(pattern: string, at: number): CharacterSet {
  const low = classCharacter(pattern, at);
  const isRange = pattern[low.end] === "-" && low.end + 1 < pattern.length &&
    pattern[low.end + 1] !== "]";
  const high = isRange ? classCharacter(pattern, low.end + 1) : low;
  if (high.codePoint < low.codePoint) {
    throw new PatternError(`invalid range: ${pattern.slice(at, high.end)}`);
  }
  const [from, to] = [low, high].map(({ codePoint }) => `\\u{${codePoint.toString(16)}}`);
  return { source: `${from}-${to}`, isNegated: false, end: high.end };
}

function classCharacter(pattern: string, at: number): { codePoint: number; end: number } {
  if (pattern[at] === "\\") return characterEscape(pattern, at + 1);
  const codePoint = pattern.codePointAt(at);
  if (codePoint === undefined) throw new PatternError("missing closing ]");
  return { codePoint, end: at + String.fromCodePoint(codePoint).length };
}

/**
 * Case is folded before a set is negated, which `\P` and `\W` in a class of the engine's own do not
 * do: so each negated set is a class of its own.
 */
function anyOf(sets: readonly CharacterSet[], isFolded: boolean): CharacterTest {
  const flags = isFolded ? "iu" : "u";
  // The engine puts a set together anew as often as it is named.
  const sources = (isNegated: boolean) =>
    new Set(sets.filter((set) => set.isNegated === isNegated).map(({ source }) => source));
  const positive = new RegExp(`^[${[...sources(false)].join("")}]$`, flags);
  const negative = [...sources(true)].map((source) => new RegExp(`^[^${source}]$`, flags));
  return (codePoint) => {
    const character = String.fromCodePoint(codePoint);
    return positive.test(character) || negative.some((set) => set.test(character));
  };
}

function find(sticky: RegExp, pattern: string, at: number): readonly (string | undefined)[] {
  sticky.lastIndex = at;
  return sticky.exec(pattern) ?? [];
}
