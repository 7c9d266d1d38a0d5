/**
 * Problems in words: what was expected and what was found.
 *
 * @module
 */
import type { z } from "zod";
import type { Problem } from "../errors.ts";
import { hideUserInfo } from "../network/urls.ts";
import { didYouMean } from "../text/nearest.ts";
import { truncate } from "../text/display.ts";
import { pointer } from "./pointer.ts";

const FOUND_LENGTH_MAX = 80;
/** A longer list is not shown where the word that was meant is known. */
const LISTED_MAX = 20;
/** Types that have another name for the people who read about them. */
const NOUNS: Readonly<Record<string, string>> = { int: "whole number", record: "object" };
/** Formats of texts, in words. */
const FORMATS: Readonly<Record<string, string>> = {
  base64: "base64",
  datetime: "a time such as 2026-01-31T12:00:00Z",
};

/** The fields that an object has room for, by the list of its unknown ones, which zod passes on as it is. */
const fieldsBeside = new WeakMap<readonly string[], string[]>();

/** Notes the fields of an object with unknown ones: the issue itself does not name them. For zod's `error`. */
export function noteFields(issue: z.core.$ZodRawIssue): undefined {
  if (issue.code !== "unrecognized_keys") return;
  const { def } = issue.inst?._zod ?? {};
  if (def !== undefined && "shape" in def) {
    fieldsBeside.set(issue.keys, Object.keys(Object(def.shape)));
  }
}

/** Describes issues of zod, one problem for each place that is wrong. */
export function problemsOf(issues: readonly z.core.$ZodIssue[]): Problem[] {
  return causes(issues).flatMap(problemsOfIssue);
}

/** Describes a value that was found: shortened, and a URL without what may be a password. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return truncate(hideUserInfo(JSON.stringify(value)), FOUND_LENGTH_MAX);
}

/**
 * Leaves out issues about the length of a value that has the wrong type: a text has a length too.
 */
function causes(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const mistyped = new Set<string>();
  return issues.filter(({ code, path }) => {
    const at = pointer(...path);
    if (mistyped.has(at)) return false;
    if (code === "invalid_type") mistyped.add(at);
    return true;
  });
}

function problemsOfIssue(issue: z.core.$ZodIssue): Problem[] {
  const at = pointer(...issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: at + pointer(key),
      // A schema may have its own words for an unknown field.
      detail: issue.message.startsWith("Unrecognized key")
        ? `Unknown field "${key}"${
          didYouMean(key, fieldsBeside.get(issue.keys) ?? [], JSON.stringify)
        }`
        : issue.message,
    }));
  }
  const meant = issue.code === "invalid_union" ? alternativeMeant(issue.errors) : undefined;
  if (meant !== undefined) {
    return causes(meant).flatMap((inner) =>
      problemsOfIssue({ ...inner, path: [...issue.path, ...inner.path] })
    );
  }
  const expected = expectation(issue);
  // A schema's own words may tell what was found more exactly.
  const isTold = /\b(found|current value is) /.test(expected);
  return [{ pointer: at, detail: isTold ? expected : `${expected}, found ${found(issue)}` }];
}

/** Returns the issues of the only alternative of a union that takes values of this type at all. */
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
      // A schema may have its own words for a value that is not in a list.
      return issue.message.startsWith("Invalid ")
        ? `Expected ${oneOf(issue.values, issue.input)}`
        : issue.message;
    case "invalid_union": {
      // Zod lists the values of the discriminator, but does not type them.
      const options = "options" in issue && Array.isArray(issue.options) ? issue.options : [];
      if (options.length > 0) return `Expected ${oneOf(options, discriminatorOf(issue))}`;
      if (issue.message !== "Invalid input") return issue.message;
      const alternatives = issue.errors.flat().filter(({ path }) => path.length === 0);
      return alternatives.length > 0
        ? `Expected ${alternatives.map(withoutExpected).join(" or ")}`
        : "Expected another form of value";
    }
    case "invalid_key": {
      const texts = issue.issues.map(expectation);
      // A schema of names may say so itself.
      const own = texts.find((text) => !text.startsWith("Expected ") || / name\b/.test(text));
      return own ?? `Expected a name of ${issue.issues.map(withoutExpected).join(" and ")}`;
    }
    case "invalid_format": {
      // A schema may have its own words for a format.
      const form = issue.message.startsWith("Invalid ") ? FORMATS[issue.format] : undefined;
      return form === undefined ? issue.message : `Expected ${form}`;
    }
    case "too_small":
      return `Expected ${
        size(issue.inclusive === false ? "more than" : "at least", issue.origin, issue.minimum)
      }`;
    case "too_big":
      return `Expected ${
        size(issue.inclusive === false ? "less than" : "at most", issue.origin, issue.maximum)
      }`;
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

/** Lists the values that are expected. A word that is near to the one that was found stands for a long list. */
function oneOf(values: readonly unknown[], found: unknown): string {
  const words = values.filter((value) => typeof value === "string");
  const question = typeof found === "string" ? didYouMean(found, words, JSON.stringify) : "";
  if (question !== "" && values.length > LISTED_MAX) {
    return `one of ${values.length} values${question}`;
  }
  const listed = values.map((value) => JSON.stringify(value)).join(", ");
  return (values.length === 1 ? listed : `one of ${listed}`) + question;
}

function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** Describes the value that was found. A secret is never shown. */
function found(issue: z.core.$ZodIssue): string {
  const { path } = issue;
  const value = discriminatorOf(issue);
  const isSecret = path.some((part) => /secret|key|token/i.test(String(part)));
  const isText = value !== undefined && Object(value) !== value && value !== null;
  return isSecret && isText ? article(typeof value) : describeValue(value);
}

/** Returns the value that an issue is about: of a union, the field that chooses the alternative. */
function discriminatorOf({ input, path, ...issue }: z.core.$ZodIssue): unknown {
  return issue.code === "invalid_union" && "discriminator" in issue
    ? Object(input)[String(path.at(-1))]
    : input;
}
