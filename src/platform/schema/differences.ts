/**
 * The differences of two versions of a JSON value.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import type { Problem } from "../errors.ts";
import { describeValue } from "./describe.ts";
import { childOf, pointer } from "./pointer.ts";

const DIFFERENCES_MAX = 100;

/** Describes the fields in which a stored value and a sent value differ, at most 100. */
export function differencesOf(stored: unknown, sent: unknown): Problem[] {
  return [...differences(stored, sent, "")].slice(0, DIFFERENCES_MAX);
}

function* differences(stored: unknown, sent: unknown, at: string): Generator<Problem> {
  if (isDeepStrictEqual(stored, sent)) return;
  if (isContainer(stored) && isContainer(sent) && Array.isArray(stored) === Array.isArray(sent)) {
    for (const name of new Set([...Object.keys(stored), ...Object.keys(sent)])) {
      yield* differences(childOf(stored, name), childOf(sent, name), at + pointer(name));
    }
    return;
  }
  const detail = `Stored is ${describeValue(stored)}, sent was ${describeValue(sent)}`;
  yield { pointer: at, detail };
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
