/**
 * The fields of requests as expressions, such as `body.commits[0].id`.
 *
 * @module
 */
import type { Shape } from "./shape.ts";

const FIELDS_MAX = 500;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Words of CEL that are no names behind a dot. */
const RESERVED = new Set(
  ("as break const continue else false for function if import in let loop package namespace null return true " +
    "var void while").split(" "),
);

/** A field, and the types that its values had. */
export interface Field {
  expression: string;
  types: string[];
}

/** Lists the fields of bodies of a shape: of each object its properties, of each list its first element. */
export function bodyFields(shape: Shape): Field[] {
  const fields: Field[] = [];
  const visit = (expression: string, { types, properties = {}, items }: Shape): void => {
    if (fields.length === FIELDS_MAX) return;
    fields.push({ expression, types: Object.keys(types).sort() });
    for (const [name, inner] of Object.entries(properties)) visit(expression + step(name), inner);
    if (items) visit(`${expression}[0]`, items);
  };
  visit("body", shape);
  return fields.slice(1);
}

/** Returns a field of the headers or the query, whose values are texts. */
export function mapField(variable: "headers" | "query", name: string): Field {
  return { expression: variable + step(name), types: ["string"] };
}

function step(name: string): string {
  if (NAME.test(name) && !RESERVED.has(name)) return `.${name}`;
  // Expressions often stand within double quotes.
  const escaped = JSON.stringify(name).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `['${escaped}']`;
}
