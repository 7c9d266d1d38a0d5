/**
 * A value that only the request of a run decides, and what is known of it before.
 *
 * @module
 */

/** A value that may come, as far as it is known. */
export interface KnownValue {
  /** Its type; `nothing` is a value that JSON does not have. */
  kind: "text" | "number" | "true or false" | "list" | "map" | "null" | "nothing";
  /** The value itself, or one that looks like it: an id, a time. */
  like?: unknown;
  /** The known ends of a text. */
  ends?: { start: string; end: string };
}

/**
 * The values that one way through an expression may have: one of some, or any (undefined). Each way of
 * `a ? b : c` is taken some time.
 */
export type Outcome = readonly KnownValue[] | undefined;

/** The place of a value. */
interface Place {
  isOptional: boolean;
  isMultiple: boolean;
  isNumber: boolean;
  /** The texts that it takes; undefined where it takes all. */
  words: readonly string[] | undefined;
  /** Tells whether it takes a value. */
  takes(value: unknown): boolean;
}

/** The words for the kinds of values. */
const KIND_WORDS: Readonly<Record<KnownValue["kind"], string>> = {
  text: "a text",
  number: "a number",
  "true or false": "true or false",
  list: "a list",
  map: "a map",
  null: "null",
  nothing: "a value that JSON does not have",
};

/** The signs of numbers, those of `0x1f` and `1e5` too. */
const NUMBER_SIGNS = /^[\s\da-fA-FxXoO.+-]*$/;

/** A value that only the request of a run decides. */
export class PendingValue {
  /**
   * @param text its text in the settings, in errors
   */
  constructor(
    readonly text: string,
    readonly outcomes: readonly Outcome[],
  ) {}

  /** Returns the value that a place can never take, in words; undefined where it may take all. */
  refusedBy(place: Place): string | undefined {
    const refused = this.outcomes.find((outcome) => outcome?.every((known) => !fits(known, place)));
    const [first] = refused ?? [];
    if (first === undefined) return undefined;
    return `${this.text}: ${kindInWords(first)}`;
  }
}

/** Says of which kind a value is. */
export function kindInWords({ kind, like }: KnownValue): string {
  if (like === undefined || like === null) return KIND_WORDS[kind];
  return `${KIND_WORDS[kind]} such as ${JSON.stringify(like)}`;
}

function fits({ kind, like, ends }: KnownValue, place: Place): boolean {
  if (like !== undefined) return place.takes(like);
  switch (kind) {
    case "text":
      return ends === undefined || fitsEnds(ends, place);
    case "number":
      return place.words === undefined || place.words.some((word) => Number.isFinite(Number(word)));
    case "true or false":
      return place.takes(true) || place.takes(false);
    case "list":
      return place.isMultiple;
    case "null":
      return place.isOptional;
    default:
      return false;
  }
}

function fitsEnds({ start, end }: { start: string; end: string }, place: Place): boolean {
  if (place.isNumber && !NUMBER_SIGNS.test(start + end)) return false;
  const { words } = place;
  return words === undefined ||
    words.some((word) =>
      word.length >= start.length + end.length && word.startsWith(start) && word.endsWith(end)
    );
}
