/**
 * The fields of requests as expressions, such as `body.commits[0].id`.
 *
 * @module
 */
import { isObject } from "../../platform/objects.ts";
import type { Shape } from "./shape.ts";
import { unwrap, unwrapping } from "./wrapped.ts";

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
  const visit = (expression: string, { types, properties = {}, items, wrapped }: Shape): void => {
    if (fields.length === FIELDS_MAX) return;
    fields.push({ expression, types: Object.keys(types).sort() });
    for (const [name, inner] of Object.entries(properties)) visit(expression + step(name), inner);
    if (items) visit(`${expression}[0]`, items);
    for (const by of ["json", "base64"] as const) {
      const inner = wrapped?.[by];
      if (inner) visit(unwrapping(expression, by), inner);
    }
  };
  visit("body", shape);
  return fields.slice(1);
}

/** Lists the JSON that the texts of a body wrap, with the expressions that read it. */
export function wrappedParts(body: unknown): { expression: string; value: unknown }[] {
  const parts: { expression: string; value: unknown }[] = [];
  const visit = (expression: string, value: unknown): void => {
    if (Array.isArray(value)) {
      value.forEach((each, place) => visit(`${expression}[${place}]`, each));
    } else if (isObject(value)) {
      for (const [name, inner] of Object.entries(value)) visit(expression + step(name), inner);
    } else if (typeof value === "string") {
      const inner = unwrap(value);
      if (inner === undefined) return;
      const read = unwrapping(expression, inner.by);
      parts.push({ expression: read, value: inner.value });
      visit(read, inner.value);
    }
  };
  visit("body", body);
  return parts;
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
