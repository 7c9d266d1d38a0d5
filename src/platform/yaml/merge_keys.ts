/**
 * Merge keys of YAML 1.1 (https://yaml.org/type/merge.html), as project configuration files have
 * them.
 *
 * @module
 */
import { MERGE_KEY } from "./positions.ts";

/** The number of fields that all merge keys bring together: each field is copied. */
const FIELDS_MAX = 100_000;

/**
 * Replaces merge keys by the fields that they bring. A map's own fields go first, and then the
 * first of a name. A merge key that brings anything but maps stays: the schema refuses it.
 *
 * @throws {RangeError} when they bring too many fields
 */
export function replaceMergeKeys(value: unknown): void {
  merge(value, { done: new Set(), fields: 0 });
}

function merge(value: unknown, merging: { done: Set<unknown>; fields: number }): void {
  // All aliases of a map stand for one object.
  if (typeof value !== "object" || value === null || merging.done.has(value)) return;
  merging.done.add(value);
  for (const inner of Object.values(value)) merge(inner, merging);
  if (!Object.hasOwn(value, MERGE_KEY)) return;
  // The line above has found the field.
  const fields = value as Record<string, unknown>;
  const sources = [fields[MERGE_KEY]].flat();
  if (!sources.every((source) => Object(source) === source && !Array.isArray(source))) return;
  delete fields[MERGE_KEY];
  for (const [name, inner] of sources.flatMap((source) => Object.entries(Object(source)))) {
    if (Object.hasOwn(fields, name)) continue;
    if (++merging.fields > FIELDS_MAX) {
      throw new RangeError(`Merge keys bring over ${FIELDS_MAX} fields`);
    }
    const property = { value: inner, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(fields, name, property);
  }
}
