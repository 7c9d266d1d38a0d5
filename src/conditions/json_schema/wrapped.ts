/**
 * JSON that senders wrap: as a text within JSON, in a field of a form, or in base64. Expressions unwrap it.
 *
 * @module
 */
import { isObject } from "../../platform/objects.ts";
import { parseExactJson } from "../../platform/text/exact_json.ts";

/** The forms in which a text holds JSON. */
export type Wrapping = "json" | "base64";

/** Shorter texts are words that happen to be base64. */
const BASE64 = /^[A-Za-z0-9+/_-]{16,}={0,2}$/;
const JSON_BEGINS = /^\s*[[{]/;

/** Returns the JSON that a text holds; undefined where it holds no object and no list. */
export function unwrap(text: string): { by: Wrapping; value: unknown } | undefined {
  const own = jsonIn(text);
  if (own !== undefined) return { by: "json", value: own };
  const value = BASE64.test(text) ? jsonIn(decoded(text)) : undefined;
  return value === undefined ? undefined : { by: "base64", value };
}

/** Returns the expression that unwraps the text that another one reads. */
export function unwrapping(expression: string, by: Wrapping): string {
  return by === "json"
    ? `${expression}.parseJSON()`
    : `string(base64.decode(${expression})).parseJSON()`;
}

function jsonIn(text: string): unknown {
  if (!JSON_BEGINS.test(text)) return undefined;
  try {
    const value = parseExactJson(text);
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  const alphabet = /[-_]/.test(text) ? "base64url" : "base64";
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.fromBase64(text, { alphabet }),
    );
  } catch {
    return "";
  }
}
