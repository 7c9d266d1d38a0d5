/**
 * The shape of values: what some bodies have in common, and the schema that says it.
 *
 * @module
 */
import { isObject, mapValues } from "../../platform/objects.ts";
import { isInt64 } from "../../platform/text/exact_json.ts";
import type { Schema } from "./keywords.ts";
import { hasFormat } from "./formats.ts";
import { unwrap, type Wrapping } from "./wrapped.ts";

/** Limits of a shape: what is beyond them is left open. */
const DEPTH_MAX = 8;
const PROPERTIES_MAX = 200;
const ITEMS_MAX = 100;
/** A text that comes often with few values is one of these. */
const CHOICES_MAX = 8;
const CHOICE_CHARACTERS_MAX = 64;
const SEEN_FOR_CHOICES_MIN = 10;
const SEEN_FOR_EACH_CHOICE_MIN = 3;

/** The formats that are told apart, the narrowest first. */
const FORMATS = ["uuid", "date-time", "date", "email", "ipv4", "uri"];

/** The known facts about the values at one place, as plain data. */
export interface Shape {
  /** The number of values. */
  seen: number;
  /** The number of values of each type of JSON Schema. */
  types: Record<string, number>;
  /** The properties of objects; absent where there are too many. */
  properties?: Record<string, Shape>;
  items?: Shape;
  /** The different texts; absent where there are too many. */
  choices?: string[];
  /** The formats that all texts have. */
  formats: string[];
  /** The JSON within texts. */
  wrapped?: Partial<Record<Wrapping, Shape>>;
  /** True where a schema is to take every value: some were not looked at, or cannot be checked. */
  isOpen?: true;
}

/** Returns the shape of one value. */
export function shapeOf(value: unknown): Shape {
  return shapeAt(value, 0);
}

function shapeAt(value: unknown, depth: number): Shape {
  const shape: Shape = { seen: 1, types: { [typeOf(value)]: 1 }, formats: FORMATS, choices: [] };
  if (isBeyond(value)) shape.isOpen = true;
  if (typeof value === "string") {
    shape.formats = FORMATS.filter((name) => hasFormat(value, name));
    if (value.length > CHOICE_CHARACTERS_MAX) delete shape.choices;
    else shape.choices = [value];
    const inner = depth < DEPTH_MAX ? unwrap(value) : undefined;
    if (inner) shape.wrapped = { [inner.by]: shapeAt(inner.value, depth + 1) };
  } else if (depth < DEPTH_MAX && Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((each) => shapeAt(each, depth + 1));
    const [first, ...others] = items;
    if (first) shape.items = others.reduce(mergeShapes, first);
    if (shape.items && value.length > ITEMS_MAX) shape.items.isOpen = true;
  } else if (depth < DEPTH_MAX && isObject(value)) {
    const entries = Object.entries(value);
    if (entries.length <= PROPERTIES_MAX) {
      shape.properties = Object.fromEntries(
        entries.map(([name, each]) => [name, shapeAt(each, depth + 1)]),
      );
    }
  }
  return shape;
}

/** Returns the shape of the values of both shapes. */
export function mergeShapes(one: Shape, other: Shape): Shape {
  const types = { ...one.types };
  for (const [type, count] of Object.entries(other.types)) types[type] = (types[type] ?? 0) + count;
  const choices = one.choices && other.choices && [...new Set([...one.choices, ...other.choices])];
  const properties = mergeProperties(one, other);
  const wrapped = mergeWrapped(one.wrapped, other.wrapped);
  const items = one.items && other.items
    ? mergeShapes(one.items, other.items)
    : one.items ?? other.items;
  return {
    seen: one.seen + other.seen,
    types,
    formats: one.formats.filter((name) => other.formats.includes(name)),
    ...(choices && choices.length <= CHOICES_MAX && { choices }),
    ...(properties && { properties }),
    ...(items && { items }),
    ...(wrapped && { wrapped }),
    ...((one.isOpen ?? other.isOpen) && { isOpen: true }),
  };
}

function mergeWrapped(one: Shape["wrapped"], other: Shape["wrapped"]): Shape["wrapped"] {
  if (one === undefined || other === undefined) return one ?? other;
  const json = one.json && other.json ? mergeShapes(one.json, other.json) : one.json ?? other.json;
  const base64 = one.base64 && other.base64
    ? mergeShapes(one.base64, other.base64)
    : one.base64 ?? other.base64;
  return { ...(json && { json }), ...(base64 && { base64 }) };
}

function mergeProperties(one: Shape, other: Shape): Shape["properties"] {
  if (one.types.object === undefined) return other.properties;
  if (other.types.object === undefined) return one.properties;
  if (one.properties === undefined || other.properties === undefined) return undefined;
  const names = new Set([...Object.keys(one.properties), ...Object.keys(other.properties)]);
  if (names.size > PROPERTIES_MAX) return undefined;
  const merged: [string, Shape][] = [];
  for (const name of names) {
    const [first, second] = [one, other].map(({ properties = {} }) =>
      Object.hasOwn(properties, name) ? properties[name] : undefined
    );
    const both = first && second ? mergeShapes(first, second) : first ?? second;
    if (both) merged.push([name, both]);
  }
  return Object.fromEntries(merged);
}

/** Returns the schema that values of a shape match. */
export function schemaOfShape(shape: Shape): Schema {
  if (shape.isOpen) return true;
  const { seen, types, properties, items, choices, formats } = shape;
  const names = Object.keys(types).filter((type) => type !== "integer" || !types.number).sort();
  const [only, second] = names;
  const texts = types.string ?? 0;
  const [format] = formats;
  const isChoice = choices !== undefined && texts === seen && texts >= SEEN_FOR_CHOICES_MIN &&
    texts >= choices.length * SEEN_FOR_EACH_CHOICE_MIN;
  if (isChoice) return { enum: choices.toSorted() };
  const objects = types.object ?? 0;
  const required = Object.entries(properties ?? {}).filter(([, each]) => each.seen === objects)
    .map(([name]) => name);
  return {
    type: second === undefined ? only : names,
    ...(texts > 0 && format !== undefined && { format }),
    ...(required.length > 0 && { required }),
    ...(properties && Object.keys(properties).length > 0 && {
      properties: mapValues(properties, (each) => schemaOfShape(each)),
    }),
    ...(items && { items: schemaOfShape(items) }),
  };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return isBeyond(value) ? "number" : "integer";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

/** Tells whether a value is a number beyond 64 bits, which is not exact. */
function isBeyond(value: unknown): boolean {
  return typeof value === "bigint"
    ? !isInt64(value)
    : typeof value === "number" && !Number.isFinite(value);
}
