/**
 * The differences of two JSON values, for the audit log.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../platform/objects.ts";
import type { AuditedChange } from "./audit.ts";

const CHANGES_MAX = 100;
/** Limit of a value as JSON. A longer one is cut and shown as text. */
const VALUE_LENGTH_MAX = 1_000;
/** Fields that every save sets. */
const UNTOLD = new Set([
  "updated_at",
  "moved_at",
  "created_by",
  "updated_by",
  "warnings",
  "revision",
]);

/** Returns the values that differ, with JSON Pointers. At most 100; a list counts as one value. */
export function changesBetween(before: unknown, after: unknown): AuditedChange[] {
  return [...differences("", before, after)].slice(0, CHANGES_MAX);
}

function* differences(pointer: string, before: unknown, after: unknown): Generator<AuditedChange> {
  if (isDeepStrictEqual(before, after)) return;
  if (
    !isObject(before) && !isObject(after) || (before !== undefined && !isObject(before)) ||
    (after !== undefined && !isObject(after))
  ) {
    yield {
      pointer,
      ...(before !== undefined && { before: shown(before) }),
      ...(after !== undefined && { after: shown(after) }),
    };
    return;
  }
  const [left, right] = [before, after].map((value) => isObject(value) ? value : {});
  for (const name of Object.keys({ ...left, ...right })) {
    if (UNTOLD.has(name)) continue;
    const step = name.replaceAll("~", "~0").replaceAll("/", "~1");
    yield* differences(`${pointer}/${step}`, left?.[name], right?.[name]);
  }
}

function shown(value: unknown): unknown {
  const json = JSON.stringify(value);
  return json.length <= VALUE_LENGTH_MAX ? value : `${json.slice(0, VALUE_LENGTH_MAX)}…`;
}
