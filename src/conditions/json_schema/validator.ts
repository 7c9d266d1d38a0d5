/**
 * Schemas, made ready for the package that checks them. It gets no patterns: those of texts become formats, and
 * those of names become the names that a value has.
 *
 * @module
 */
import { type Schema as PackageSchema, Validator } from "@cfworker/json-schema";
import { TooLargeError } from "../../platform/errors.ts";
import { isObject, mapValues } from "../../platform/objects.ts";
import { childOf, pointer, pointerParts } from "../../platform/schema/pointer.ts";
import { matches } from "../cel/pattern.ts";
import { formatOfPattern, FORMATS } from "./formats.ts";
import { anchorsOf, formOf, localReference, type Schema, schemasIn } from "./keywords.ts";
import { numbersOf, placesOfBigints, withStandIns } from "./numbers.ts";

/** Keywords that assert nothing, and those that are put in another form. */
const LEFT_OUT = new Set([
  "$anchor",
  "$comment",
  "$dynamicAnchor",
  "$dynamicRef",
  "$id",
  "$schema",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "default",
  "deprecated",
  "description",
  "examples",
  "format",
  "pattern",
  "patternProperties",
  "readOnly",
  "title",
  "writeOnly",
]);

/** The most places of integers that an error names. */
const PLACES_MAX = 3;

/** One reason for which a value does not match. */
export interface Mismatch {
  keyword: string;
  /** A JSON Pointer to the value within the whole, as a URI fragment. */
  instanceLocation: string;
  /** The keywords that lead to the one that does not hold. */
  keywordLocation: string;
  error: string;
}

/** A schema for values. */
export interface CompiledSchema {
  /**
   * Returns why a value does not match, the outermost reason first; none where it does.
   *
   * @throws {TooLargeError} when the schema checks a number that cannot be compared
   */
  mismatches(value: unknown): { root: Schema; errors: readonly Mismatch[] };
}

/** Compiles a schema that has no mistakes. */
export function compileSchema(schema: Schema): CompiledSchema {
  const numbers = numbersOf(schema);
  if (hasNamePatterns(schema)) {
    return {
      mismatches(value) {
        const names = new Set<string>();
        collectNames(value, names);
        return validate(prepare(schema, schema, names), withStandIns(value, numbers));
      },
    };
  }
  const prepared = prepare(schema, schema, new Set());
  const validator = validatorOf(prepared);
  return { mismatches: (value) => validate(prepared, withStandIns(value, numbers), validator) };
}

function validatorOf(prepared: Schema): Validator {
  return new Validator(asPackageSchema(prepared), "2020-12");
}

function validate(
  root: Schema,
  value: unknown,
  validator = validatorOf(root),
): ReturnType<CompiledSchema["mismatches"]> {
  try {
    return { root, ...validator.validate(value) };
  } catch (error) {
    const places = error instanceof RangeError ? [] : placesOfBigints(value);
    if (places.length === 0) throw error;
    const shown = places.slice(0, PLACES_MAX).map((at) => at || "the body").join(", ");
    throw new TooLargeError(
      `the schema checks a number that is beyond 64 bits, or too near to its own numbers: ${shown}`,
    );
  }
}

/** The package's type names each keyword; these have been checked. */
function asPackageSchema(schema: Schema): PackageSchema | boolean {
  return schema as PackageSchema | boolean;
}

function hasNamePatterns(schema: unknown): boolean {
  return isObject(schema) &&
    (Object.hasOwn(schema, "patternProperties") ||
      schemasIn(schema).some((place) => hasNamePatterns(place.schema)));
}

function collectNames(value: unknown, names: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) names.add(name);
    collectNames(inner, names);
  }
}

/**
 * Returns a schema as the package takes it.
 *
 * @param names all names of the value that is checked
 */
function prepare(schema: Schema, root: Schema, names: ReadonlySet<string>): Schema {
  if (typeof schema === "boolean") return schema;
  const again = (inner: unknown) => prepare(inner as Schema, root, names);
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    const form = formOf(keyword);
    if (form === undefined || LEFT_OUT.has(keyword)) return [];
    if (keyword === "$ref") return [[keyword, ownReference(String(value), root)]];
    if (form === "schema") return [[keyword, again(value)]];
    if (form === "schemas" && Array.isArray(value)) return [[keyword, value.map(again)]];
    if (form !== "schemas by name") return [[keyword, value]];
    return [[keyword, mapValues(Object(value), again)]];
  });
  const { patternProperties } = schema;
  const properties = isObject(patternProperties)
    ? propertiesOf(
      schema,
      mapValues(patternProperties, again),
      again,
      names,
    )
    : undefined;
  const prepared: Record<string, unknown> = {
    ...Object.fromEntries(entries),
    ...(properties && { properties }),
  };
  const { $ref, $dynamicRef } = schema;
  if ($dynamicRef !== undefined) {
    const reference = { $ref: ownReference(String($dynamicRef), root) };
    if ($ref === undefined) Object.assign(prepared, reference);
    else prepared.allOf = [...listOf(prepared.allOf), reference];
  }
  return { ...prepared, ...textChecks(schema, prepared.allOf) };
}

/** Returns the properties that a schema has where the patterns of names are the names that match them. */
function propertiesOf(
  { properties }: Readonly<Record<string, unknown>>,
  patterns: Readonly<Record<string, unknown>>,
  again: (schema: unknown) => Schema,
  names: ReadonlySet<string>,
): Record<string, unknown> {
  const own = isObject(properties) ? properties : {};
  const all = new Set([...Object.keys(own), ...names]);
  return Object.fromEntries(
    Array.from(all, (name): [string, unknown[]] => [name, [
      ...Object.hasOwn(own, name) ? [again(own[name])] : [],
      ...Object.entries(patterns).filter(([pattern]) => matches(name, pattern))
        .map(([, schema]) => schema),
    ]]).filter(([, schemas]) => schemas.length > 0).map(([name, allOf]) => [name, { allOf }]),
  );
}

/** Returns the checks of texts. The package looks both up by the name of a format. */
function textChecks({ pattern, format }: Readonly<Record<string, unknown>>, allOf: unknown) {
  const known = typeof format === "string" && FORMATS.includes(format) ? format : undefined;
  if (typeof pattern !== "string") return known === undefined ? {} : { format: known };
  const own = { format: formatOfPattern(pattern) };
  if (known === undefined) return own;
  return { ...own, allOf: [...listOf(allOf), { format: known }] };
}

function listOf(schemas: unknown): unknown[] {
  return Array.isArray(schemas) ? schemas : [];
}

/** Returns a reference without the name of the schema, which the package does not get. */
function ownReference(reference: string, root: Schema): string {
  const id = typeof root === "object" ? root.$id : undefined;
  const found = localReference(reference, id);
  if (found === undefined) return reference;
  const written = "anchor" in found ? placeOfAnchor(found.anchor, root) ?? "" : found.pointer;
  return `#${encodeURI(ownPointer(written, root))}`;
}

function placeOfAnchor(anchor: string, schema: unknown, at = ""): string | undefined {
  if (!isObject(schema)) return undefined;
  if (anchorsOf(schema).includes(anchor)) return at;
  for (const place of schemasIn(schema)) {
    const found = placeOfAnchor(anchor, place.schema, at + place.at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the place of a schema in the prepared one: where names have patterns, a property is one of several. */
function ownPointer(written: string, root: Schema): string {
  let at: unknown = root;
  let own = "";
  let isProperty = false;
  for (const part of pointerParts(written)) {
    own += pointer(part);
    if (isProperty) own += "/allOf/0";
    isProperty = part === "properties" && isObject(at) && isObject(at.patternProperties);
    at = childOf(at, part);
  }
  return own;
}
