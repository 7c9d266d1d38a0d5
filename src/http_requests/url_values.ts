/**
 * Values in URLs.
 *
 * @module
 */
import { parseTemplate } from "../conditions/cel/template.ts";
import { fill } from "../conditions/values/fill.ts";
import type { JsonOrProblem } from "../conditions/values/json.ts";

/** The longest URL. A record holds it with the answer, and few servers accept a longer one. */
export const URL_LENGTH_MAX = 8_192;
/** The scheme and the host of a URL, where a template begins with both. */
const ORIGIN = /^https?:\/\/[^/?#\\]+(?=[/?#])/;

/** The longest address that is shown: a run has one of each of its actions in its record. */
const SHOWN_LENGTH_MAX = 1_024;

/** Returns an address as it is shown: the beginning of a long one. */
export function shownAddress(address: string): string {
  return address.length <= SHOWN_LENGTH_MAX
    ? address
    : `${address.slice(0, SHOWN_LENGTH_MAX - 3)}...`;
}

/** Returns the origin that every URL of a template has; undefined where values decide it. */
export function literalOrigin(template: string): string | undefined {
  const [first = "", ...others] = parseTemplate(template);
  if (typeof first !== "string") return undefined;
  const [found] = ORIGIN.exec(others.length === 0 ? `${first}/` : first) ?? [];
  return found && URL.parse(found)?.origin;
}

/**
 * Puts values into a template of a URL. A value is encoded, so that it stays in its place, unless the URL begins with it.
 *
 * @param values those of the expressions in the template, in their order
 */
export function fillUrl(
  template: string,
  values: readonly JsonOrProblem[],
): { url: URL } | { problem: string } {
  const beginsWithValue = typeof parseTemplate(template)[0] !== "string";
  const encoded = values.map((value, index) =>
    index === 0 && beginsWithValue ? value : encodedValue(value)
  );
  const { value, problems: [problem] } = fill(template, encoded);
  if (problem) return { problem: problem.detail };
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (!isHttp) return { problem: "expected a URL that begins with http:// or https://" };
  if (url.username !== "" || url.password !== "") {
    return {
      problem: "expected a URL without a user name and a password: they belong in a header",
    };
  }
  url.hash = "";
  const { length } = url.href;
  return length <= URL_LENGTH_MAX
    ? { url }
    : { problem: `expected a URL of at most ${URL_LENGTH_MAX} characters, found ${length}` };
}

function encodedValue(value: JsonOrProblem): JsonOrProblem {
  if ("problem" in value || !["string", "number", "boolean"].includes(typeof value.json)) {
    return value;
  }
  const text = String(value.json);
  // These two lead out of their place however they are encoded (WHATWG URL, dot segments).
  if (text === "." || text === "..") return { problem: `"${text}" is no part of a path` };
  if (!text.isWellFormed()) return { problem: "it is no well-formed text" };
  return { json: encodeURIComponent(text) };
}
