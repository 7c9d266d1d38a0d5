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

/** A value that differs. */
export interface ChangedValue {
  /** A JSON Pointer (RFC 6901). */
  pointer: string;
  /** Absent where there was none. */
  before?: unknown;
  /** Absent where there is none. */
  after?: unknown;
}

/** Describes the fields in which a stored value and a sent value differ, at most 100. */
export function differencesOf(stored: unknown, sent: unknown): Problem[] {
  return changedValues(stored, sent).map(({ pointer, before, after }) => ({
    pointer,
    detail: `Stored is ${describeValue(before)}, sent was ${describeValue(after)}`,
  }));
}

/**
 * Returns the values in which two versions differ, at most 100.
 *
 * @param isOne tells whether an object or a list counts as one value
 */
export function changedValues(
  before: unknown,
  after: unknown,
  isOne: (changed: ChangedValue) => boolean = () => false,
): ChangedValue[] {
  return [...changes({ before, after, pointer: "" }, isOne)].slice(0, DIFFERENCES_MAX);
}

function* changes(
  changed: ChangedValue,
  isOne: (changed: ChangedValue) => boolean,
): Generator<ChangedValue> {
  const { before, after, pointer: at } = changed;
  if (isDeepStrictEqual(before, after)) return;
  const isSplit = isContainer(before) && isContainer(after) &&
    Array.isArray(before) === Array.isArray(after) && !isOne(changed);
  if (!isSplit) {
    yield {
      pointer: at,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    };
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [left, right] = [childOf(before, name), childOf(after, name)];
    yield* changes({ before: left, after: right, pointer: at + pointer(name) }, isOne);
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
