/**
 * JSON Pointers (RFC 6901): the places of values within values.
 *
 * @module
 */

const ARRAY_INDEX = /^(0|[1-9][0-9]*)$/;

/** Joins the parts of a path to a JSON Pointer. */
export function pointer(...parts: readonly PropertyKey[]): string {
  return parts.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(
    "",
  );
}

/** Splits a JSON Pointer into the parts of its path. */
export function pointerParts(pointer: string): string[] {
  return pointer.split("/").slice(1).map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/**
 * Returns a field or an element of a JSON value: only its own, so that `constructor` is no field.
 */
export function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== "object" || parent === null) return undefined;
  if (Array.isArray(parent) && !ARRAY_INDEX.test(key)) return undefined;
  return Object.getOwnPropertyDescriptor(parent, key)?.value;
}
