/**
 * Values of a filter list as literals of CEL.
 *
 * @module
 */
import { type CelValue, isCelList } from "@bufbuild/cel";
import { type Int64, isInt64Value } from "../../platform/text/exact_integers.ts";
import { truncate } from "../../platform/text/display.ts";

const SHOWN_CHARACTERS_MAX = 80;

/** A value that a filter list can compare with. */
export type Scalar = string | number | boolean | null | Int64;

/** The kind of a value of JSON. */
export type Kind = "string" | "number" | "boolean" | "null" | "list" | "map";

const celTypes: Readonly<Record<Kind, readonly string[]>> = {
  string: ["string"],
  number: ["int", "double"],
  boolean: ["bool"],
  null: ["null_type"],
  list: ["list"],
  map: ["map"],
};

/** Writes a value as a literal of CEL: nothing in it can end the literal. */
export function literal(value: Scalar): string {
  // Every escape of JSON is one of CEL (cel-spec, doc/langdef.md, "String and Bytes Values").
  if (typeof value === "string") return JSON.stringify(value);
  if (isInt64Value(value)) return value.int64;
  if (typeof value !== "number" || Number.isSafeInteger(value)) return String(value);
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** Writes several values as a list. */
export function literals(values: readonly Scalar[]): string {
  return `[${values.map(literal).join(", ")}]`;
}

/** Writes an expression that is true where `value` is of one of the kinds. */
export function isOfKind(value: string, kinds: readonly Kind[]): string {
  const types = kinds.flatMap((kind) => celTypes[kind]);
  const [only] = types;
  return types.length === 1
    ? `type(${value}) == ${only}`
    : `type(${value}) in [${types.join(", ")}]`;
}

/** Returns the kind of a value of a filter list, or of CEL. */
export function kindOf(value: Scalar | CelValue): Kind {
  if (value === null) return "null";
  if (isInt64Value(value)) return "number";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "bigint":
    case "number":
      return "number";
    default:
      return isCelList(value) ? "list" : "map";
  }
}

/** Writes the value of a clause as its body would: with the digits of integers beyond 2^53. */
export function json(value: Scalar | readonly Scalar[]): string {
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  return isInt64Value(value) ? value.int64 : JSON.stringify(value);
}

/** Writes a value of a list for a message. */
export function show(value: unknown): string {
  if (isInt64Value(value)) return value.int64;
  return truncate(value === undefined ? "nothing" : JSON.stringify(value), SHOWN_CHARACTERS_MAX);
}
