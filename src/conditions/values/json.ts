/**
 * Values of CEL as JSON.
 *
 * @module
 */
import {
  type CelResult,
  celType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
} from "@bufbuild/cel";
import { conversion } from "../cel/expression.ts";
import { hintOf } from "../cel/reason.ts";

/** Values that JSON writes as a text of CEL's own. */
const TEXTS = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
const DEPTH_MAX = 32;

const toText = conversion("string");

/** A value of JSON, or why there is none. */
export type JsonOrProblem = { json: unknown } | { problem: string };

/** Thrown for a value that JSON does not have. */
class NoJsonError extends Error {}

/** Converts a value. A whole number beyond 2^53 becomes a text of its digits, since JSON's readers round it. */
export function toJson(value: CelResult): JsonOrProblem {
  if (isCelError(value)) return { problem: value.message + hintOf(value) };
  try {
    return { json: jsonOf(value, 0) };
  } catch (error) {
    if (error instanceof NoJsonError) return { problem: error.message };
    throw error;
  }
}

function jsonOf(value: CelValue, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new NoJsonError(`it is nested deeper than ${DEPTH_MAX} levels`);
  if (isCelUint(value)) return wholeOf(value.value);
  if (typeof value === "bigint") return wholeOf(value);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new NoJsonError(`${value} is no number of JSON`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (isCelList(value)) return Array.from(value, (each) => jsonOf(each, depth + 1));
  if (isCelMap(value)) {
    return Object.fromEntries(
      Array.from(value, ([key, each]) => [String(toText(key)), jsonOf(each, depth + 1)]),
    );
  }
  const { name } = celType(value);
  if (TEXTS.includes(name)) return toText(value);
  throw new NoJsonError(`it is of type ${name}, which JSON does not have`);
}

function wholeOf(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
