/**
 * A bound of the work of a schema, which decides what is checked at once and what in the Worker.
 *
 * @module
 */
import { isObject } from "../../platform/objects.ts";
import { SHORT_BYTES_MAX, SHORT_NAMES_MAX } from "../body_limits.ts";
import { parsePattern } from "../cel/pattern.ts";
import type { LaunchRequest } from "../request.ts";
import { FORMATS } from "./formats.ts";
import { referencesOf, type Schema, schemasIn } from "./keywords.ts";

/** Within these limits a check takes a few milliseconds at most. */
const STEPS_MAX = 20_000;
const PATTERN_STEPS_MAX = 100_000;
/** A schema whose mismatch does not end the check takes so many steps for each: the package writes a reason. */
const MISMATCH_STEPS = 20;
const GOES_ON: ReadonlySet<string> = new Set(["anyOf", "contains", "if", "not", "oneOf"]);
/** To divide by a number that is no integer takes so many steps. */
const FRACTION_STEPS = 10;
/** A format takes as long as a pattern of so many parts. */
const FORMAT_PARTS = 4;

/** The work of a schema. */
interface SchemaCost {
  /** The steps of the schemas in it: each is for each value of the body once, at most. */
  schemas: number;
  /** The values that it compares with, and the names that it asks for. */
  constants: number;
  /** The parts of its patterns. */
  patternParts: number;
  /** There is no useful bound: it refers to itself, or compares all elements of a list with each other. */
  isUnbounded: boolean;
}

/** Returns the work of a schema. */
export function costOfSchema(schema: Schema): SchemaCost {
  const cost: SchemaCost = { schemas: 0, constants: 0, patternParts: 0, isUnbounded: false };
  add(schema, cost, 1);
  return cost;
}

/** Tells whether the check of a request's body is sure to take a few milliseconds at most. */
export function isShortCheck(cost: SchemaCost, request: LaunchRequest): boolean {
  if (cost.isUnbounded || request.body.length > SHORT_BYTES_MAX) return false;
  const size = request.bodySize();
  if (size === undefined) return true;
  if (size.names > SHORT_NAMES_MAX) return false;
  const steps = (cost.schemas + cost.constants) * size.values;
  return steps <= STEPS_MAX && cost.patternParts * request.body.length <= PATTERN_STEPS_MAX;
}

function add(schema: unknown, cost: SchemaCost, steps: number): void {
  cost.schemas += steps;
  if (!isObject(schema)) return;
  const { uniqueItems, pattern, patternProperties, enum: choices, required } = schema;
  const { multipleOf, format } = schema;
  if (multipleOf !== undefined && !Number.isInteger(multipleOf)) cost.schemas += FRACTION_STEPS;
  if (FORMATS.includes(String(format))) cost.patternParts += FORMAT_PARTS;
  cost.isUnbounded ||= referencesOf(schema).length > 0 || uniqueItems === true ||
    patternProperties !== undefined || isObject(schema.const) || Array.isArray(schema.const);
  if (typeof pattern === "string") cost.patternParts += parsePattern(pattern).programSize();
  if (Array.isArray(choices)) cost.constants += JSON.stringify(choices).length;
  if (Array.isArray(required)) cost.constants += required.length;
  for (const place of schemasIn(schema)) {
    add(place.schema, cost, GOES_ON.has(place.keyword) ? MISMATCH_STEPS : steps);
  }
}
