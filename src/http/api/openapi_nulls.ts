/**
 * JSON schemas in which null stands for an absent field.
 *
 * @module
 */
import { isObject, mapValues } from "../../platform/objects.ts";

type Json = Record<string, unknown>;

/** Adds null to the optional fields of a schema, at every depth, and to those of any name. */
export function withNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNulls);
  if (!isObject(schema)) return schema;
  const inner = mapValues(schema, withNulls);
  const { properties, required, additionalProperties: others } = inner;
  if (isObject(others)) inner.additionalProperties = orNull(others);
  if (!isObject(properties)) return inner;
  const names = Array.isArray(required) ? required : [];
  return {
    ...inner,
    properties: mapValues(
      properties,
      (property, name) => names.includes(name) || !isObject(property) ? property : orNull(property),
    ),
  };
}

function orNull(schema: Json): Json {
  const { type, oneOf, anyOf, enum: values, const: only, ...others } = schema;
  if (Array.isArray(oneOf)) return { ...schema, oneOf: [...oneOf, { type: "null" }] };
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  // Any JSON: null is one.
  if (type === undefined) return schema;
  if (only !== undefined) return { ...others, type: [type, "null"], enum: [only, null] };
  if (Array.isArray(values)) return { ...others, type: [type, "null"], enum: [...values, null] };
  return { ...schema, type: [type, "null"] };
}
