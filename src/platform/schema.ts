/**
 * From a schema and a value to either the value or a list of everything that is wrong with it, in
 * words for the person who wrote it.
 *
 * @module
 */
import type { z } from "zod";
import { cut } from "./text/truncate.ts";
import { InvalidInputError, type Problem } from "./errors.ts";

const FOUND_LENGTH_MAX = 80;
/** How many problems are told of one value. */
const PROBLEMS_MAX = 100;
const ARRAY_INDEX = /^(0|[1-9][0-9]*)$/;
/** Types that have another name for who reads of them. */
const NOUNS: Readonly<Record<string, string>> = { int: "whole number", record: "object" };
const TOO_MUCH = "Cannot be read: too much of it is wrong";

/**
 * Checks a value against a schema and fills in its defaults.
 *
 * @param what what is being read, for the first words of the error
 * @throws {InvalidInputError} with every problem of the first 100, each with a pointer into the value
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = checked(schema, value, PROBLEMS_MAX);
  if ("data" in result) return result.data;
  throw new InvalidInputError(what, result.problems.slice(0, PROBLEMS_MAX));
}

/**
 * Checks a value against a schema: answers it with its defaults filled in, or what is wrong with it, each
 * with a pointer into the value.
 *
 * @param issuesMax of how many issues the problems are told
 */
export function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  issuesMax = Infinity,
): { data: T } | { problems: Problem[] } {
  try {
    const { success, data, error } = schema.safeParse(value, { reportInput: true });
    if (success) return { data };
    return { problems: causes(error.issues.slice(0, issuesMax)).flatMap(problemsOf) };
  } catch (error) {
    // Issues are handed on as arguments, of which a call takes only so many.
    if (!(error instanceof RangeError)) throw error;
    return { problems: [{ pointer: "", detail: TOO_MUCH }] };
  }
}

/** The schemas of kinds, in their order. */
export function schemasOf<const Kinds extends readonly { schema: z.ZodType }[]>(
  kinds: Kinds,
): { [Place in keyof Kinds]: Kinds[Place]["schema"] } {
  // A list of what each of them has is as long as theirs, but the type of `map` forgets that.
  return kinds.map(({ schema }) => schema) as { [Place in keyof Kinds]: Kinds[Place]["schema"] };
}

/** A JSON Pointer (RFC 6901) from the parts of a path. */
export function pointer(...parts: readonly PropertyKey[]): string {
  return parts.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(
    "",
  );
}

/** The parts of a path from a JSON Pointer (RFC 6901). */
export function pointerParts(pointer: string): string[] {
  return pointer.split("/").slice(1).map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/** One step into a JSON value: own properties alone, so that `constructor` is no key. */
export function childOf(parent: unknown, key: string): unknown {
  if (typeof parent !== "object" || parent === null) return undefined;
  if (Array.isArray(parent) && !ARRAY_INDEX.test(key)) return undefined;
  return Object.getOwnPropertyDescriptor(parent, key)?.value;
}

/** Refuses, in a schema's `superRefine`, the field of the value that a path leads to. */
export function refuseField(
  context: z.RefinementCtx<unknown>,
  path: readonly PropertyKey[],
  message: string,
): void {
  const input = path.reduce((value: unknown, part) => Object(value)[part], context.value);
  context.addIssue({ code: "custom", path: [...path], input, message });
}

/** Without what is said of a value's length when it is of the wrong type: a text has one too. */
function causes(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const mistyped = new Set<string>();
  return issues.filter(({ code, path }) => {
    const at = pointer(...path);
    if (mistyped.has(at)) return false;
    if (code === "invalid_type") mistyped.add(at);
    return true;
  });
}

/** What a schema's issue says, one problem for each place that is wrong. */
function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  const at = pointer(...issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: at + pointer(key),
      // A schema may have words of its own for a field that there is not.
      detail: issue.message.startsWith("Unrecognized key")
        ? `Unknown field "${key}"`
        : issue.message,
    }));
  }
  const meant = issue.code === "invalid_union" ? alternativeMeant(issue.errors) : undefined;
  if (meant !== undefined) {
    return causes(meant).flatMap((inner) =>
      problemsOf({ ...inner, path: [...issue.path, ...inner.path] })
    );
  }
  const expected = expectation(issue);
  // A schema's own words may say what was found, more exactly than the value does.
  const isTold = /\b(found|current value is) /.test(expected);
  return [{ pointer: at, detail: isTold ? expected : `${expected}, found ${found(issue)}` }];
}

/** What is wrong by the only alternative of a union that takes values of this type at all. */
function alternativeMeant(
  alternatives: readonly z.core.$ZodIssue[][],
): readonly z.core.$ZodIssue[] | undefined {
  const possible = alternatives.filter((issues) =>
    issues.length > 0 &&
    !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0)
  );
  return possible.length === 1 ? possible[0] : undefined;
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `Expected ${article(NOUNS[issue.expected] ?? issue.expected)}`;
    case "invalid_value":
      // A schema may have words of its own for a value that is not among them.
      return issue.message.startsWith("Invalid ")
        ? `Expected ${oneOf(issue.values)}`
        : issue.message;
    case "invalid_union": {
      // Zod lists the discriminator's values beside its own fields, but does not type them.
      const options = "options" in issue && Array.isArray(issue.options) ? issue.options : [];
      if (options.length > 0) return `Expected ${oneOf(options)}`;
      const alternatives = issue.errors.flat().filter(({ path }) => path.length === 0);
      return alternatives.length > 0
        ? `Expected ${alternatives.map(withoutExpected).join(" or ")}`
        : "Expected another form of value";
    }
    case "invalid_key":
      return `Expected a name of ${issue.issues.map(withoutExpected).join(" and ")}`;
    case "too_small":
      return `Expected ${size("at least", issue.origin, issue.minimum)}`;
    case "too_big":
      return `Expected ${size("at most", issue.origin, issue.maximum)}`;
    default:
      return issue.message;
  }
}

function withoutExpected(issue: z.core.$ZodIssue): string {
  return expectation(issue).replace(/^Expected /, "");
}

function size(bound: string, origin: string, limit: number | bigint): string {
  if (origin === "string") return `${bound} ${plural(limit, "character")}`;
  if (origin === "array" || origin === "set") return `${bound} ${plural(limit, "element")}`;
  return `a number of ${bound} ${limit}`;
}

function plural(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;
}

function oneOf(values: readonly unknown[]): string {
  const listed = values.map((value) => JSON.stringify(value)).join(", ");
  return values.length === 1 ? listed : `one of ${listed}`;
}

function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** What was found, cut short; a secret is never shown. */
function found(issue: z.core.$ZodIssue): string {
  const { input, path } = issue;
  const value = issue.code === "invalid_union" && "discriminator" in issue
    ? Object(input)[String(path.at(-1))]
    : input;
  const isSecret = path.some((part) => /secret|key|token/i.test(String(part)));
  const isText = value !== undefined && Object(value) !== value && value !== null;
  return isSecret && isText ? article(typeof value) : describeValue(value);
}

/** What a value is called where another one was expected, cut short, a URL without what may be a password. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return cut(shownAddress(JSON.stringify(value)), FOUND_LENGTH_MAX);
}

/** A text to show, without what stands before the host where it is a URL, or was meant as one. */
export function shownAddress(text: string): string {
  const [start, end] = [text.indexOf("://"), text.lastIndexOf("@")];
  return start === -1 || end < start ? text : `${text.slice(0, start)}://***${text.slice(end)}`;
}
