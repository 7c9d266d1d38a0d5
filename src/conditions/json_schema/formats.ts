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

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const { "date-time": dateTime } = format;

// The package takes a leading zero of an address, which others read as octal, and any space in place of the T (RFC 3339
// section 5.6).
Object.assign(format, {
  "date-time": (text: string) => /^\S{10}t/i.test(text) && dateTime?.(text) === true,
  ipv4: (text: string) => IPV4.test(text),
});

/** Tells whether a text has a format that is checked. */
export function hasFormat(text: string, name: string): boolean {
  return FORMATS.includes(name) && format[name]?.(text) === true;
}
