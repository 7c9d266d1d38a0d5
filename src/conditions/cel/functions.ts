/**
 * The functions of CEL that replace the package's own: those are wrong, or take far longer than the size of
 * their input explains.
 *
 * @module
 */
import {
  celEnv,
  celError,
  type CelFunc,
  celFunc,
  type CelList,
  celList,
  celMethod,
  CelScalar,
  type CelValue,
  listType,
} from "@bufbuild/cel";
import { corrected } from "./corrections.ts";
import { extensions } from "./extensions.ts";
import { FilterLimitError, matches } from "./pattern.ts";
import { countCodePoints } from "./texts.ts";

const { BOOL, BYTES, INT, STRING } = CelScalar;
const LIST = listType(CelScalar.DYN);

/** To read a number or a time zone out of more takes the square of its length, or shows it in full. */
const SHORT_TEXT_CHARACTERS_MAX = 256;
/** V8 searches in linear time for texts of up to this length: for longer ones their product is limited. */
const LINEAR_SEARCH_CHARACTERS_MAX = 200;
const SEARCH_PRODUCT_MAX = 100_000_000;
/** In one list: `a + a` doubles it for nothing. */
const ELEMENTS_MAX = 1_000_000;
/** Of one evaluation. The Worker's limit of memory does not count bytes, as they lie outside of its heap. */
const BYTES_MADE_MAX = 32 * 1024 * 1024;
/** The functions that take texts of any length. Every other function that takes a text takes a short one. */
const LONG_TEXT = new Set([
  "_+_",
  "_<_",
  "_<=_",
  "_>_",
  "_>=_",
  "@in",
  "base64.decode",
  "bytes",
  "contains",
  "endsWith",
  "matches",
  "parseJSON",
  "size",
  "startsWith",
  "string",
]);

const own: readonly CelFunc[] = [
  celFunc("_<_", [STRING, STRING], BOOL, precedes),
  celFunc("_<=_", [STRING, STRING], BOOL, (left, right) => !precedes(right, left)),
  celFunc("_>_", [STRING, STRING], BOOL, (left, right) => precedes(right, left)),
  celFunc("_>=_", [STRING, STRING], BOOL, (left, right) => !precedes(left, right)),
  celFunc("_+_", [LIST, LIST], LIST, concat),
  celFunc("_+_", [BYTES, BYTES], BYTES, (left, right) => {
    const joined = newBytes(left.length + right.length);
    joined.set(left);
    joined.set(right, left.length);
    return joined;
  }),
  celFunc("bytes", [STRING], BYTES, (text) => {
    countBytes(text.length);
    return new TextEncoder().encode(text);
  }),
  celFunc(
    "string",
    [BYTES],
    STRING,
    (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
  ),
  celFunc("size", [STRING], INT, countCodePoints),
  celMethod("size", STRING, [], INT, function () {
    return countCodePoints(this);
  }),
  celMethod("contains", STRING, [STRING], BOOL, function (sought) {
    return contains(this, sought);
  }),
  celFunc("matches", [STRING, STRING], BOOL, matches),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
];

/** The environment in which expressions are evaluated. */
export const environment = celEnv({
  funcs: [...celEnv({ funcs: [...own, ...extensions] }).funcs].map(corrected).map(limited),
});

function limited(func: CelFunc): CelFunc {
  if (LONG_TEXT.has(func.name) || !func.arguments.includes(STRING)) return func;
  const call: CelFunc["call"] = (id, target, args) => {
    const isLong = args.some((arg) =>
      typeof arg === "string" && arg.length > SHORT_TEXT_CHARACTERS_MAX
    );
    if (!isLong) return func.call(id, target, args);
    const most = `more than ${SHORT_TEXT_CHARACTERS_MAX} characters`;
    return celError(`${func.name}() takes no text of ${most}`, id);
  };
  // The package tells a function by a symbol of its own, which comes with the prototype.
  return Object.create(func, { call: { value: call } });
}

let bytesMade = 0;

/** Begins an evaluation: limits of one evaluation count from here. */
export function beginEvaluation(): void {
  bytesMade = 0;
}

function countBytes(count: number): void {
  bytesMade += count;
  if (bytesMade > BYTES_MADE_MAX) {
    throw new FilterLimitError(`it makes more than ${BYTES_MADE_MAX} bytes`);
  }
}

function newBytes(length: number): Uint8Array {
  countBytes(length);
  return new Uint8Array(length);
}

/** Compares by code points, whose order is not that of UTF-16 units. */
function precedes(text: string, other: string): boolean {
  const length = Math.min(text.length, other.length);
  for (let i = 0; i < length; i++) {
    const [unit, otherUnit] = [text.charCodeAt(i), other.charCodeAt(i)];
    if (unit !== otherUnit) return rankOf(unit) < rankOf(otherUnit);
  }
  return text.length < other.length;
}

/** A code point that takes two units is beyond all that take one. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function contains(text: string, sought: string): boolean {
  const isLong = sought.length > LINEAR_SEARCH_CHARACTERS_MAX;
  if (isLong && sought.length * text.length > SEARCH_PRODUCT_MAX) {
    throw new FilterLimitError(
      `contains() would look for ${sought.length} characters in ${text.length} characters`,
    );
  }
  return text.includes(sought);
}

/** The array behind each list that {@linkcode concat} has made. Several lists share one. */
const arrays = new WeakMap<CelList, CelValue[]>();

/**
 * Adds two lists. The macros `map` and `filter` add one element at a time, which the package does by
 * nesting lists, as deep as they are long. Here the list that was made last is continued in its array.
 */
function concat(left: CelList, right: CelList): CelList {
  const size = left.size + right.size;
  if (size > ELEMENTS_MAX) {
    throw new FilterLimitError(`a list of more than ${ELEMENTS_MAX} elements`);
  }
  const known = arrays.get(left);
  const array = known?.length === left.size ? known : [...left];
  for (const element of right) array.push(element);
  const list = celList(firstOf(array, size));
  arrays.set(list, array);
  return list;
}

/** Views the first elements of an array, which may grow. */
function firstOf(array: readonly CelValue[], size: number): readonly CelValue[] {
  return new Proxy(array, {
    get(target, key) {
      if (key === "length") return size;
      if (key === "values") return () => target.slice(0, size).values();
      return Reflect.get(target, key);
    },
  });
}
