/**
 * The schemas of what the API answers. They serve the OpenAPI document alone: no answer is checked while
 * the service runs. Each is checked against the type of the code that makes the answer, by the compiler.
 *
 * @module
 */
import { z } from "zod";
import type { TriggerSettings } from "../../triggers/trigger.ts";
import type { ProblemDetails } from "../problem.ts";

/** The named schemas of answers. */
export const answerSchemas = z.registry<{ id: string }>();

/** The named schemas of what is sent. */
export const inputSchemas = z.registry<{ id: string }>();

/** The names of those in which null does not stand for an absent field. */
export const nullIsOwn = new Set<string>();

/** JSON of any depth. Both sides have its type from the schema that checks the input. */
type Deep = TriggerSettings["actions"] | TriggerSettings["response"];

/** A type without the names of its parts and without `readonly`. */
type Plain<T> = T extends Deep ? T
  : T extends object ? { -readonly [Name in keyof T]: Plain<T[Name]> }
  : T;

/** True when two types are the same, down to which fields are optional. */
type IsSame<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends
  (<T>() => T extends Plain<B> ? 1 : 2) ? true : false;

/** Compiles only where a schema is exactly of a type. */
type Exactly<T, Schema extends z.ZodType> = IsSame<z.output<Schema>, T> extends true ? unknown
  : { "is not exactly": T };

/**
 * Names the schema of an answer of the type `T`.
 *
 * @returns a function of the name and the schema, which does not compile when the schema differs from `T`
 */
export function answer<T>() {
  return <Schema extends z.ZodType>(id: string, schema: Schema & Exactly<T, Schema>): Schema => {
    answerSchemas.add(schema, { id });
    return schema;
  };
}

/**
 * Names the schema of what is sent.
 *
 * @param options `hasOwnNull`: null for an optional field does not mean that the field is absent
 */
export function input<Schema extends z.ZodType>(
  id: string,
  schema: Schema,
  { hasOwnNull = false } = {},
): Schema {
  inputSchemas.add(schema, { id });
  if (hasOwnNull) nullIsOwn.add(id);
  return schema;
}

/** Names the schema of a page of a list, after that of its results. */
export function page<Schema extends z.ZodType>(result: Schema) {
  const schema = z.object(pageFields(result));
  answerSchemas.add(schema, { id: `${answerSchemas.get(result)?.id}Page` });
  return schema;
}

/** The fields of a page of a list. */
export function pageFields<Schema extends z.ZodType>(result: Schema) {
  return {
    results: z.array(result),
    next: z.url().nullable().describe("The address of the next page; null when this is the last"),
  };
}

/** Text. */
export const text = z.string();
/** A time (RFC 3339). */
export const time = text.meta({ format: "date-time" });
/** A number of things, or of bytes. */
export const count = z.int().min(0);

/** One thing that is wrong, or worth knowing, with its place. */
export const problem = z.object({
  pointer: text.describe("A JSON Pointer to the value that is meant"),
  detail: text,
});

/** The schema of every error. */
export const problemDetails = answer<
  Omit<ProblemDetails, "headers"> & { title: string; status: number }
>()(
  "Problem",
  z.object({
    title: text,
    status: z.int(),
    detail: text.exactOptional(),
    errors: z.array(problem).exactOptional(),
  }),
);
