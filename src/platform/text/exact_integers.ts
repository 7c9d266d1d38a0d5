/**
 * Integers of settings that JavaScript's numbers do not hold, up to 64 bits. A list of filters holds one as
 * `{ int64: "…" }`, a parameter as the text of its digits; anything that has no place for one refuses it.
 *
 * @module
 */
import type { Problem } from "../errors.ts";
import { childOf, pointer } from "../schema/pointer.ts";
import { isInt64 } from "./exact_json.ts";
import { rawJson } from "./raw_json.ts";
import { inexactNumberProblem, inexactProblem } from "./exact_number.ts";

const WHOLE = /^[-+]?\d{1,19}$/;
/** The value of a clause, or an element of it. */
const FILTER_VALUE = /\/(?:all|any|not)(?:\/.*)?\/value(?:\/\d+)?$/;
/** The value of a parameter: of an action, or what a step or a pipeline declares. */
const PARAMETER = /\/parameters\/(?:[^/]+|\d+\/(?:default|choices))(?:\/\d+)?$/;

/** An integer in a list of filters. */
export interface Int64 {
  int64: string;
}

/** Tells whether a value is an integer of a list of filters. */
export function isInt64Value(value: unknown): value is Int64 {
  return typeof value === "object" && value !== null && "int64" in value;
}

/**
 * Reads a number as it is written.
 *
 * @returns the number, a bigint that {@linkcode settleIntegers} finds a place for, or the problem with it
 */
export function readNumber(value: number, source: string): number | bigint | { problem: string } {
  const problem = inexactNumberProblem(value, source);
  if (problem === undefined) return value;
  const integer = WHOLE.test(source) ? BigInt(source.replace("+", "")) : undefined;
  return integer !== undefined && isInt64(integer) ? integer : { problem };
}

/** Puts the bigints of settings into the form of their places, and returns the problems of those without one. */
export function settleIntegers(value: unknown): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  const settled = new Map<object, object>();
  const settle = (value: unknown, at: string): unknown => {
    if (typeof value === "bigint") {
      if (FILTER_VALUE.test(at)) return { int64: String(value) };
      if (PARAMETER.test(at)) return String(value);
      problems.push({ pointer: at, detail: inexactProblem(String(value)) });
      return null;
    }
    if (typeof value !== "object" || value === null) return value;
    // An alias may stand for one object in many places.
    const known = settled.get(value);
    if (known !== undefined) return known;
    settled.set(value, value);
    for (const key of Object.keys(value)) {
      const inner = settle(childOf(value, key), at + pointer(key));
      Object.defineProperty(value, key, {
        value: inner,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
    return value;
  };
  return { value: settle(value, ""), problems };
}

/**
 * Reads settings that are JSON, such as a field of a form.
 *
 * @throws {SyntaxError} when they are no JSON, or a number in them cannot be kept
 */
export function readSettings(text: string): unknown {
  const parsed = JSON.parse(text, (_key, value, ...[written]: [{ source: string }?]) => {
    if (typeof value !== "number") return value;
    const read = readNumber(value, written?.source ?? "");
    if (typeof read === "object") throw new SyntaxError(read.problem);
    return typeof read === "bigint" ? rawJson(String(read)) : read;
  });
  return parsed;
}
