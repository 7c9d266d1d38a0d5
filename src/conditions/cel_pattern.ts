/**
 * Patterns of `matches`, in the syntax that CEL has from RE2 (github.com/google/re2/wiki/Syntax). The
 * matcher that comes with the CEL package cannot be stopped, and takes minutes for a pattern of 40
 * characters and a text of 70,000.
 *
 * @module
 */
import { characterEscape, classEscape, readClass } from "./cel_pattern_class.ts";
import {
  type Part,
  PatternError,
  type PlaceTest,
  type Program,
  ProgramBuilder,
} from "./cel_pattern_program.ts";

const PATTERN_CHARACTERS_MAX = 4096;
const REPEAT_MAX = 1000;
const GROUPS_DEEP_MAX = 100;

const REPEAT = /[*+?]|\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}/y;
const FLAGS = /\(\?([imsU]*)(?:-([imsU]+))?([:)])/y;
/** What stands between `\Q` and `\E`, or the end, is literal. */
const QUOTED = /\\Q(.*?)(?:\\E|$)/sy;
const NAMED_GROUP = /\(\?P?<[0-9A-Za-z_]+>/y;
const NEWLINE = 10;

const isTextStart: PlaceTest = (before) => before < 0;
const isTextEnd: PlaceTest = (_, after) => after < 0;
const isLineStart: PlaceTest = (before) => before < 0 || before === NEWLINE;
const isLineEnd: PlaceTest = (_, after) => after < 0 || after === NEWLINE;

const placeEscapes = new Map<string, PlaceTest>([
  ["A", isTextStart],
  ["z", isTextEnd],
  ["b", (before, after) => isWord(before) !== isWord(after)],
  ["B", (before, after) => isWord(before) === isWord(after)],
]);

/**
 * Reads a pattern.
 *
 * @throws {PatternError} when it is none, or too large
 */
export function parsePattern(pattern: string): Program {
  if (pattern.length > PATTERN_CHARACTERS_MAX) {
    throw new PatternError(`has more than ${PATTERN_CHARACTERS_MAX} characters`);
  }
  return new PatternParser(pattern).parse();
}

/** Whether a code point is a letter, a digit or an underscore of ASCII. */
export function isWord(codePoint: number): boolean {
  return codePoint >= 0 && /^\w$/.test(String.fromCodePoint(codePoint));
}

class PatternParser {
  readonly #pattern: string;
  readonly #builder = new ProgramBuilder();
  #at = 0;
  #deep = 0;
  #flags: ReadonlySet<string> = new Set();

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): Program {
    const whole = this.#alternatives();
    if (this.#at < this.#pattern.length) throw new PatternError("unexpected )");
    return this.#builder.finish(whole);
  }

  #alternatives(): Part {
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    return this.#builder.either(parts);
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#pattern.length && !"|)".includes(this.#peek())) {
      const quoted = this.#takeQuoted();
      for (const character of quoted ?? "") parts.push(this.#literal(character));
      // Behind flags, or a quote, a repeat is one of the last part alone.
      const part = quoted !== undefined || this.#takeFlags() ? parts.pop() : this.#atom();
      if (part !== undefined) parts.push(this.#repeated(part));
    }
    return this.#builder.sequence(parts);
  }

  #takeQuoted(): string | undefined {
    const [text = "", quoted] = this.#find(QUOTED);
    this.#at += text.length;
    return quoted;
  }

  /** Takes flags for the rest of the group, such as `(?i)`. */
  #takeFlags(): boolean {
    const [text, on = "", off = "", end] = this.#find(FLAGS);
    if (text === undefined || end !== ")") return false;
    this.#setFlags(on, off);
    this.#at += text.length;
    return true;
  }

  #repeated(part: Part): Part {
    const [text, least, isRange, most] = this.#find(REPEAT);
    if (text === undefined) return part;
    this.#at += text.length;
    // A repeat that takes as little as it can finds the same texts.
    this.#take("?");
    if (this.#find(REPEAT).length > 0) throw new PatternError("invalid repeat of a repeat");
    if (least === undefined) {
      return this.#builder.repeat(part, text === "+" ? 1 : 0, text === "?" ? 1 : Infinity);
    }
    const min = Number(least);
    const max = most !== undefined ? Number(most) : isRange === undefined ? min : Infinity;
    if (min > max || Math.max(min, max === Infinity ? 0 : max) > REPEAT_MAX) {
      throw new PatternError(`invalid repeat count: ${text}`);
    }
    return this.#builder.repeat(part, min, max);
  }

  #atom(): Part {
    if (this.#find(REPEAT).length > 0) throw new PatternError("missing argument to repeat");
    const start = this.#at;
    const character = String.fromCodePoint(this.#pattern.codePointAt(start) ?? 0);
    this.#at += character.length;
    switch (character) {
      case "(":
        this.#at = start;
        return this.#group();
      case "[": {
        const { test, end } = readClass(this.#pattern, this.#at, this.#flags.has("i"));
        this.#at = end;
        return this.#builder.character(test);
      }
      case ".": {
        const isAny = this.#flags.has("s");
        return this.#builder.character((codePoint) => isAny || codePoint !== NEWLINE);
      }
      case "^":
        return this.#builder.place(this.#flags.has("m") ? isLineStart : isTextStart);
      case "$":
        return this.#builder.place(this.#flags.has("m") ? isLineEnd : isTextEnd);
      case "\\":
        return this.#escape();
      default:
        return this.#literal(character);
    }
  }

  #group(): Part {
    const outer = this.#flags;
    const [named] = this.#find(NAMED_GROUP);
    const [flags, on = "", off = ""] = this.#find(FLAGS);
    this.#setFlags(on, off);
    this.#at += (named ?? flags ?? "(").length;
    if (named === undefined && flags === undefined && this.#peek() === "?") {
      throw new PatternError("invalid group: (?");
    }
    this.#deep += 1;
    if (this.#deep > GROUPS_DEEP_MAX) {
      throw new PatternError(`has groups nested deeper than ${GROUPS_DEEP_MAX} levels`);
    }
    const part = this.#alternatives();
    if (!this.#take(")")) throw new PatternError("missing closing )");
    this.#deep -= 1;
    this.#flags = outer;
    return part;
  }

  #escape(): Part {
    const place = placeEscapes.get(this.#peek());
    if (place) {
      this.#at += 1;
      return this.#builder.place(place);
    }
    const found = classEscape(this.#pattern, this.#at, this.#flags.has("i"));
    if (found) {
      this.#at = found.end;
      return this.#builder.character(found.test);
    }
    const { codePoint, end } = characterEscape(this.#pattern, this.#at);
    this.#at = end;
    return this.#literal(String.fromCodePoint(codePoint));
  }

  #literal(character: string): Part {
    const wanted = character.codePointAt(0) ?? 0;
    if (!this.#flags.has("i")) return this.#builder.character((codePoint) => codePoint === wanted);
    const folded = new RegExp(`^\\u{${wanted.toString(16)}}$`, "iu");
    return this.#builder.character((codePoint) => folded.test(String.fromCodePoint(codePoint)));
  }

  #setFlags(on: string, off: string): void {
    this.#flags = new Set([...this.#flags, ...on].filter((flag) => !off.includes(flag)));
  }

  #find(sticky: RegExp): readonly (string | undefined)[] {
    sticky.lastIndex = this.#at;
    return sticky.exec(this.#pattern) ?? [];
  }

  #peek(): string {
    return this.#pattern.charAt(this.#at);
  }

  #take(character: string): boolean {
    const isThere = this.#peek() === character;
    if (isThere) this.#at += 1;
    return isThere;
  }
}
