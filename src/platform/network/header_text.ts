/**
 * Header values as text. HTTP leaves their encoding open, and Deno gives each byte as a character.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";

// deno-lint-ignore no-control-regex -- these are the characters of bytes
const NO_ASCII = /[^\x00-\x7f]/;
// deno-lint-ignore no-control-regex -- these are the characters of bytes
const NO_BYTE = /[^\x00-\xff]/;

/** Returns the text of a header value: it is UTF-8, or else Latin-1. */
export function headerText(value: string): string {
  if (!NO_ASCII.test(value) || NO_BYTE.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : value;
}

/** Returns a value of a header that {@linkcode headerText} reads as this text. */
export function headerValue(text: string): string {
  return NO_BYTE.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
}
