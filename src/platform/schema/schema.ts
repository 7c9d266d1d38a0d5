/**
 * Validation of values that people write: a schema and a value give the value with its defaults, or
 * everything that is wrong with it, in words for the person who wrote it.
 *
 * @module
 */
import type { z } from "zod";
import { InvalidInputError, type Problem } from "../errors.ts";
import { noteFields, problemsOf } from "./describe.ts";

/** The number of problems that one error tells. */
const PROBLEMS_MAX = 100;
const TOO_MUCH = "Cannot be read: too much of it is wrong";

/**
 * Validates a value against a schema, and fills in its defaults.
 *
 * @param what what is being read, for the first words of the error
 * @throws {InvalidInputError} with the first 100 problems, each with a pointer into the value
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = validate(schema, value, PROBLEMS_MAX);
  if ("data" in result) return result.data;
  throw new InvalidInputError(what, result.problems.slice(0, PROBLEMS_MAX));
}

/**
 * Validates a value against a schema. Returns it with its defaults, or its problems, each with a
 * pointer into the value.
 *
 * @param issuesMax the number of zod's issues that are described
 */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  issuesMax = Infinity,
): { data: T } | { problems: Problem[] } {
  try {
    const { success, data, error } = schema.safeParse(value, {
      reportInput: true,
      error: noteFields,
    });
    if (success) return { data };
    return { problems: problemsOf(error.issues.slice(0, issuesMax)) };
  } catch (error) {
    // Zod passes issues on as arguments, of which a call takes a limited number.
    if (!(error instanceof RangeError)) throw error;
    return { problems: [{ pointer: "", detail: TOO_MUCH }] };
  }
}

/** Returns the schemas of a list of kinds, in its order. */
export function schemasOf<const Kinds extends readonly { schema: z.ZodType }[]>(
  kinds: Kinds,
): { [Place in keyof Kinds]: Kinds[Place]["schema"] } {
  // The result has one schema for each kind, but the type of `map` forgets the length.
  return kinds.map(({ schema }) => schema) as { [Place in keyof Kinds]: Kinds[Place]["schema"] };
}

/** Adds an issue about a field, in a schema's `superRefine`. */
export function refuseField(
  context: z.RefinementCtx<unknown>,
  path: readonly PropertyKey[],
  message: string,
): void {
  const input = path.reduce((value: unknown, part) => Object(value)[part], context.value);
  context.addIssue({ code: "custom", path: [...path], input, message });
}
