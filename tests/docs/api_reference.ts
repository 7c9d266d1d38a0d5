/**
 * The reference of the REST API, made from its OpenAPI document.
 *
 * @module
 */
import { openApiDocument } from "../../src/http/api/openapi.ts";
import { table } from "./markdown.ts";

/** What is read of the document, which has no type of its own. */
// deno-lint-ignore no-explicit-any
type Json = any;

const BASE = "/api/v0";
/** The name of the schema of a page of a list. */
const PAGE = /^(\w+)Page$/;

/** Writes the operations and the schemas as Markdown. */
export function apiReference(): string {
  const { paths, components: { schemas } }: Json = openApiDocument("");
  const operations: Operation[] = Object.entries<Json>(paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, declared]) => ({
      ...declared,
      method: method.toUpperCase(),
      path: declared.servers === undefined ? BASE + path : path,
    }))
  );
  return [
    "## Operations",
    table(["operation", "does"], operations.map(operationRow)),
    ...operations.flatMap(operationSection),
    "## Schemas",
    "A field with `?` may be absent. A page of a list is " +
    "`{ results, next }`: the records, and the address of the next page, `null` on the last.",
    ...Object.entries<Json>(schemas).filter(([name]) => !isPage(name))
      .flatMap(([name, schema]) => schemaSection(name, schema)),
  ].join("\n\n");
}

interface Operation {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  security?: readonly unknown[];
  parameters: readonly Json[];
  requestBody?: Json;
  responses: Record<string, Json>;
}

function operationRow({ method, path, operationId, summary }: Operation): string[] {
  return [`\`${method} ${path}\``, `[${summary}](#${operationId.toLowerCase()})`];
}

function operationSection(operation: Operation): string[] {
  const { method, path, operationId, summary, description, security } = operation;
  const asked = operation.parameters.filter(({ in: place }) => place !== "path");
  return [
    `### ${operationId}`,
    `\`${method} ${path}\``,
    [`${summary}.`, description, security?.length === 0 ? "It takes no operator's token." : ""]
      .filter(Boolean).join(" "),
    ...(asked.length === 0 ? [] : [table(["parameter", "in", "type", "meaning"], asked.map(row))]),
    ...bodySection(operation),
    answers(operation),
  ];
}

function row({ name, in: place, schema, required, description }: Json): string[] {
  const meaning = sentence(description ?? schema.description, schema.default);
  return [`\`${name}\`${required ? "" : "?"}`, place, typeOf(schema), meaning];
}

function bodySection({ requestBody, method }: Operation): string[] {
  if (requestBody === undefined) return [];
  const media: [string, Json][] = Object.entries(requestBody.content);
  const [[, { schema, examples }] = ["", {}]] = media;
  const types = media.map(([type]) => `\`${type}\``).join(" or ");
  const optional = requestBody.required ? "" : " It can be left out.";
  const body = `Body: ${schema ? `${typeOf(schema)} as ` : ""}${types}.${optional}`;
  return [
    body,
    // What a PUT takes is what a POST takes, whose examples come first.
    ...(method === "PUT" ? [] : Object.entries<Json>(examples ?? {})).flatMap((
      [name, { value }],
    ) => [
      `Example: ${name}.`,
      `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``,
    ]),
  ];
}

function answers({ responses }: Operation): string {
  return Object.entries(responses).filter(([status]) => status !== "default").map(
    ([status, { description, content = {}, headers = {} }]) => {
      const types = Object.entries<Json>(content).map(([type, { schema }]) =>
        schema?.$ref ? typeOf(schema) : `\`${type}\``
      );
      const said = Object.entries<Json>(headers).map(([name, header]) =>
        ` \`${name}\`: ${header.description}.`
      );
      const when = description === "Done" ? "" : ` (${description})`;
      return `- ${status}${when}: ${types.join(" or ") || "no body"}.${said.join("")}`;
    },
  ).join("\n");
}

function schemaSection(name: string, schema: Json): string[] {
  const variants: Json[] = schema.oneOf ?? schema.anyOf ?? [schema];
  return [
    `### ${name}`,
    ...(schema.description ? [`${schema.description}.`] : []),
    ...variants.flatMap((variant, index) => [
      ...(variants.length > 1 ? [index === 0 ? "Either:" : "Or:"] : []),
      ...(variant.properties === undefined
        ? []
        : [table(["field", "type", "meaning"], fieldRows(variant, ""))]),
    ]),
  ];
}

/** A row for each field, and for each field of the objects in it. */
function fieldRows({ properties = {}, required = [] }: Json, prefix: string): string[][] {
  return Object.entries<Json>(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const optional = required.includes(name) ? "" : "?";
    const inner = schema.type === "array"
      ? fieldRows(schema.items, `${path}[].`)
      : fieldRows(schema, `${path}.`);
    const meaning = sentence(schema.description, schema.default);
    return [[`\`${path}\`${optional}`, typeOf(schema), meaning], ...inner];
  });
}

function sentence(description: string | undefined, value: unknown): string {
  const fallback = value === undefined ? "" : `default: \`${JSON.stringify(value)}\``;
  return [description, fallback].filter(Boolean).join("; ");
}

/** The type of a value, in a few words. */
function typeOf(schema: Json): string {
  const { $ref, const: only, enum: values, type, format, items, additionalProperties } = schema;
  if ($ref !== undefined) return linkTo($ref.split("/").at(-1));
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values !== undefined) {
    return values.map((value: unknown) => `\`${JSON.stringify(value)}\``).join(" or ");
  }
  const variants: Json[] | undefined = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (variants !== undefined) return [...new Set(variants.map(variantOf))].join(" or ");
  if (type === "array") return `array of ${typeOf(items)}`;
  if (type === "object" && typeof additionalProperties === "object" && !schema.properties) {
    return `object of ${typeOf(additionalProperties)}`;
  }
  const types: string[] = [type ?? "any JSON"].flat();
  return types.map((each) => format && each === "string" ? format : each).join(" or ");
}

function linkTo(name: string): string {
  if (isPage(name)) return `a page of ${linkTo(name.replace(PAGE, "$1"))}`;
  return `[${name}](#${name.toLowerCase()})`;
}

/** A page of a log has a further field, and a section of its own. */
function isPage(name: string): boolean {
  return PAGE.test(name) && name !== "LogPage";
}

/** An object among several is told by its type. */
function variantOf(schema: Json): string {
  const kind = schema.properties?.type?.const;
  return kind === undefined ? typeOf(schema) : `\`${kind}\``;
}
