/**
 * The functions of CEL, each within the limits of an evaluation: what costs more than a fixed time
 * looks at the clock while it works, and what makes something large counts it.
 *
 * @module
 */
import {
  celEnv,
  celError,
  type CelFunc,
  celFunc,
  celMethod,
  CelScalar,
  listType,
} from "@bufbuild/cel";
import { concatLists } from "./concat.ts";
import { corrected } from "./corrections.ts";
import { equalityFunctions } from "./equality.ts";
import { matches } from "./pattern.ts";
import { make, tick } from "./meter.ts";
import { roundFunctions } from "./rounds.ts";
import { contains, countCodePoints, precedes } from "./search.ts";

const { BOOL, BYTES, INT, STRING } = CelScalar;
const LIST = listType(CelScalar.DYN);

/** To read a number or a time zone out of more takes the square of its length, or shows it in full. */
const SHORT_TEXT_CHARACTERS_MAX = 256;
/** What takes a text of any length. Every other function that takes a text takes a short one. */
const LONG_TEXT = new Set([
  "_+_",
  "_<_",
  "_<=_",
  "_>_",
  "_>=_",
  "@in",
  "bytes",
  "contains",
  "endsWith",
  "matches",
  "size",
  "startsWith",
  "string",
]);

const own: readonly CelFunc[] = [
  celFunc("_<_", [STRING, STRING], BOOL, precedes),
  celFunc("_<=_", [STRING, STRING], BOOL, (left, right) => !precedes(right, left)),
  celFunc("_>_", [STRING, STRING], BOOL, (left, right) => precedes(right, left)),
  celFunc("_>=_", [STRING, STRING], BOOL, (left, right) => !precedes(left, right)),
  celFunc("_+_", [STRING, STRING], STRING, (left, right) => {
    make(left.length + right.length);
    return left + right;
  }),
  celFunc("_+_", [BYTES, BYTES], BYTES, (left, right) => {
    make(left.length + right.length);
    const joined = new Uint8Array(left.length + right.length);
    joined.set(left);
    joined.set(right, left.length);
    return joined;
  }),
  celFunc("_+_", [LIST, LIST], LIST, concatLists),
  celFunc("bytes", [STRING], BYTES, (text) => {
    make(text.length);
    return new TextEncoder().encode(text);
  }),
  celFunc("string", [BYTES], STRING, (bytes) => {
    make(bytes.length);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  }),
  celFunc("size", [STRING], INT, (text) => BigInt(countCodePoints(text))),
  celMethod("size", STRING, [], INT, function () {
    return BigInt(countCodePoints(this));
  }),
  celMethod("contains", STRING, [STRING], BOOL, function (sought) {
    return contains(this, sought);
  }),
  celFunc("matches", [STRING, STRING], BOOL, matches),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
  ...equalityFunctions,
  ...roundFunctions,
];

/** What expressions are evaluated in. */
export const environment = celEnv({
  funcs: [...celEnv({ funcs: [...own] }).funcs].map(corrected).map(limited),
});

/** A function that ends when the evaluation has ended, though an error inside it is a mere value. */
function limited(func: CelFunc): CelFunc {
  const takesShortText = func.arguments.includes(STRING) && !LONG_TEXT.has(func.name);
  const call: CelFunc["call"] = (id, target, args) => {
    if (takesShortText && args.some(isLong)) {
      const most = `more than ${SHORT_TEXT_CHARACTERS_MAX} characters`;
      return celError(`${func.name}() takes no text of ${most}`, id);
    }
    const result = func.call(id, target, args);
    if (result !== undefined) tick();
    return result;
  };
  // The package tells a function by a symbol of its own, which comes with the prototype.
  return Object.create(func, { call: { value: call } });
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length > SHORT_TEXT_CHARACTERS_MAX;
}
