/**
 * Values as YAML.
 *
 * @module
 */
import { Document, visit } from "yaml";
import { harmlessJson } from "./harmless_json.ts";

/** Characters that stay as they are between quotes alone: all control characters but the end of a line, and more. */
// deno-lint-ignore no-control-regex
const TO_ESCAPE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Writes a value as YAML. What moves the cursor or changes the direction of text is escaped, as in JSON. */
export function yamlText(value: unknown): string {
  // Absent fields are left out, as in JSON.
  const document = new Document(JSON.parse(JSON.stringify(value)), {
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Scalar(_, scalar) {
      const { value: text } = scalar;
      if (typeof text === "string" && TO_ESCAPE.test(text)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return harmlessJson(document.toString({ lineWidth: 0 }).trimEnd());
}
