/**
 * Validation of what operators write, in which null for an optional field means that the field is absent.
 *
 * @module
 */
import type { z } from "zod";
import { childOf } from "./pointer.ts";
import { parseWith } from "./schema.ts";

/** The number of times that a value is validated to find nulls: a union shows those inside it late. */
const ROUNDS_MAX = 8;

type Path = readonly PropertyKey[];

/**
 * Validates what an operator wrote, without the nulls of optional fields, and fills in its defaults.
 *
 * @param what what is being read, for the first words of the error
 * @throws {InvalidInputError} with the first 100 problems, each with a pointer into the value
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  return parseWith(schema, withoutNulls(schema, value), what);
}

/** Leaves out the fields that are null where the schema wants another value. */
export function withoutNulls(schema: z.ZodType, value: unknown): unknown {
  let current = value;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const places = nullPlaces(schema, current);
    if (places.length === 0) return current;
    for (const place of places) current = without(current, place);
  }
  return current;
}

/** Finds the fields that are null, and that the schema refuses. */
function nullPlaces(schema: z.ZodType, value: unknown): Path[] {
  try {
    const { error } = schema.safeParse(value);
    return (error?.issues ?? []).flatMap((issue) => pathsOf(issue))
      // An element of a list is not a field.
      .filter((path) => typeof path.at(-1) === "string" && at(value, path) === null);
  } catch (error) {
    // Too many issues for zod: the validation that follows says so.
    if (!(error instanceof RangeError)) throw error;
    return [];
  }
}

/** The path of an issue, and those of the alternatives of a union. */
function pathsOf({ path, ...issue }: z.core.$ZodIssue): Path[] {
  const inner = "errors" in issue ? issue.errors.flat().flatMap((each) => pathsOf(each)) : [];
  return [path, ...inner.map((rest) => [...path, ...rest])];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((parent: unknown, part) => childOf(parent, String(part)), value);
}

/** Copies a value without the field at a path. */
function without(value: unknown, [part, ...rest]: Path): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    return value.map((each, index) => index === part ? without(each, rest) : each);
  }
  const fields = Object.entries(value);
  if (rest.length === 0) return Object.fromEntries(fields.filter(([name]) => name !== part));
  return Object.fromEntries(
    fields.map(([name, each]) => [name, name === part ? without(each, rest) : each]),
  );
}
