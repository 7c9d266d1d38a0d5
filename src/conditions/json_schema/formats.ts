/**
 * The formats and patterns of texts, as the schema package looks them up.
 *
 * @module
 */
import { format } from "@cfworker/json-schema";
import { matches } from "../cel/pattern.ts";

/**
 * The formats that are checked. The package has others: their patterns take a time that grows exponentially with
 * the text.
 */
export const FORMATS: readonly string[] = [
  "date",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "json-pointer",
  "time",
  "uri",
  "uri-reference",
  "uuid",
];

/** The beginning of the name by which the package looks up a pattern. */
const PATTERN = "pattern:";

/** Returns the name of the format that a text has which contains a match of a pattern. */
export function formatOfPattern(pattern: string): string {
  return PATTERN + pattern;
}

/** Returns the pattern of such a format. */
export function patternOfFormat(name: string): string | undefined {
  return name.startsWith(PATTERN) ? name.slice(PATTERN.length) : undefined;
}

// The package's own `pattern` takes a time that grows exponentially with the text. It looks formats up in this
// record, so that a format can be any check of a text.
Object.setPrototypeOf(
  format,
  new Proxy({}, {
    get(_target, name) {
      const pattern = patternOfFormat(String(name));
      return pattern === undefined ? undefined : (text: string) => matches(text, pattern);
    },
  }),
);

/** Tells whether a text has a format that is checked. */
export function hasFormat(text: string, name: string): boolean {
  return FORMATS.includes(name) && format[name]?.(text) === true;
}
