/**
 * JSON and fields as values of CEL. A value is converted when an expression reads it, so that a large body
 * costs no more than the part that is read.
 *
 * @module
 */
import { isInt64 } from "../../platform/text/exact_json.ts";
import { type CelInput, celList, type CelMap, celMap } from "@bufbuild/cel";
import { FilterLimitError } from "./pattern.ts";

/** The error of a number of which a filter cannot see what was sent. */
export const TOO_LARGE = "a number beyond 64 bits: its sender must send it as text";

/**
 * Converts a JSON value. A whole number is an int, as CEL adds no int to a double.
 *
 * @throws {FilterLimitError} when a number is too large, so that it is an error wherever it is used
 */
export function fromJson(value: unknown): CelInput {
  switch (typeof value) {
    case "number":
      if (isTooLarge(value)) throw new FilterLimitError(TOO_LARGE);
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case "bigint":
      if (isTooLarge(value)) throw new FilterLimitError(TOO_LARGE);
      return value;
    case "string":
    case "boolean":
      return value;
    default:
      if (Array.isArray(value)) return celList(listView(value));
      return typeof value === "object" && value !== null ? textMap(new ObjectView(value)) : null;
  }
}

/** Tells whether a value is a number that CEL has none for. */
export function isTooLarge(value: unknown): boolean {
  return typeof value === "bigint"
    ? !isInt64(value)
    : typeof value === "number" && !Number.isFinite(value);
}

/** Makes a map whose keys are strings. */
export function textMap(entries: ReadonlyMap<string, CelInput>): CelMap {
  const map = celMap(entries);
  // The package searches all keys for a number.
  const { get } = map;
  map.get = (key) => typeof key === "string" ? get.call(map, key) : undefined;
  // The package takes a key whose value is null for a missing one; CEL does not.
  map.has = (key) => map.get(key) !== undefined;
  return map;
}

/** Converts the fields of a form or a query: a string, or a list of strings where a field comes twice. */
export function fieldMap(fields: ReadonlyMap<string, readonly string[]>): CelMap {
  const values = new Map<string, CelInput>();
  for (const [name, [first = "", ...others]] of fields) {
    values.set(name, others.length === 0 ? first : celList([first, ...others]));
  }
  return textMap(values);
}

/** Converts the fields of a form with files: a text, a map of a file, or a list where a field comes twice. */
export function partMap(
  fields: ReadonlyMap<string, readonly (string | object)[]>,
): CelMap {
  const values = new Map<string, CelInput>();
  for (const [name, parts] of fields) {
    values.set(name, fromJson(parts.length === 1 ? parts[0] : parts));
  }
  return textMap(values);
}

/** Views an array; its elements are converted each time they are read. */
function listView(array: readonly unknown[]): readonly CelInput[] {
  // The cast is sound: an element that is read through the proxy is converted.
  return new Proxy(array, {
    get(target, key) {
      const value = Reflect.get(target, key);
      const isElement = key !== "length" && typeof key === "string" && typeof value !== "function";
      return isElement ? fromJson(value) : value;
    },
  }) as readonly CelInput[];
}

/** An object's own properties as a map whose values are converted each time they are read. */
class ObjectView implements ReadonlyMap<string, CelInput> {
  readonly #object: object;
  #keys: readonly string[] | undefined;

  constructor(object: object) {
    this.#object = object;
  }

  get size(): number {
    return this.#ownKeys().length;
  }

  get(key: unknown): CelInput | undefined {
    const property = typeof key === "string"
      ? Object.getOwnPropertyDescriptor(this.#object, key)
      : undefined;
    return property && fromJson(property.value);
  }

  has(key: unknown): boolean {
    return typeof key === "string" && Object.hasOwn(this.#object, key);
  }

  keys(): MapIterator<string> {
    return this.#ownKeys().values();
  }

  *values(): MapIterator<CelInput> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): MapIterator<[string, CelInput]> {
    for (const key of this.#ownKeys()) yield [key, this.get(key) ?? null];
  }

  [Symbol.iterator](): MapIterator<[string, CelInput]> {
    return this.entries();
  }

  forEach(callback: (value: CelInput, key: string, map: this) => void): void {
    for (const [key, value] of this) callback(value, key, this);
  }

  #ownKeys(): readonly string[] {
    return this.#keys ??= Object.keys(this.#object);
  }
}
