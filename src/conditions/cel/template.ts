/**
 * Templates: texts in which `{…}` holds an expression of CEL. A brace that no letter follows is text, and
 * `{{` is a brace.
 *
 * @module
 */
import { ExpressionError } from "./expression.ts";
import { STRING_LITERAL } from "./string_literal.ts";

/** A part of a template: a text, or the source of an expression. */
type TemplatePart = string | { readonly source: string };

const STRING = new RegExp(STRING_LITERAL, "y");
const OPENING = /\{(?:\{|(?=[A-Za-z_]))/g;

/**
 * Splits a template into its parts.
 *
 * @throws {ExpressionError} when an expression has no end
 */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let text = "";
  let at = 0;
  OPENING.lastIndex = 0;
  for (let found = OPENING.exec(template); found; found = OPENING.exec(template)) {
    text += template.slice(at, found.index);
    if (found[0] === "{{") {
      text += "{";
      at = OPENING.lastIndex;
      continue;
    }
    const end = endOf(template, found.index + 1);
    if (text !== "") parts.push(text);
    text = "";
    parts.push({ source: template.slice(found.index + 1, end) });
    OPENING.lastIndex = at = end + 1;
  }
  text += template.slice(at);
  if (text !== "" || parts.length === 0) parts.push(text);
  return parts;
}

/** Finds the brace that ends an expression: none in a string, or of a map. */
function endOf(template: string, start: number): number {
  let depth = 0;
  for (let i = start; i < template.length; i++) {
    const sign = template.charAt(i);
    STRING.lastIndex = i;
    const [literal] = STRING.exec(template) ?? [];
    if (literal !== undefined) i += literal.length - 1;
    // A string without an end.
    else if (sign === "'" || sign === '"') break;
    else if (sign === "{") depth++;
    else if (sign === "}" && depth-- === 0) return i;
  }
  throw new ExpressionError(
    `Expected } at the end of an expression, found none in ${
      JSON.stringify(template.slice(0, 80))
    }`,
  );
}
