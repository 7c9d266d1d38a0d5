/**
 * The description of the API (OpenAPI 3.1), made from the schemas that check the input and from those of
 * what is answered.
 *
 * @module
 */
import { z } from "zod";
import { ANSWERS, pageSchema } from "./answers.ts";
import { BODIES, HEADERS, type Operation, OPERATIONS, OTHER_OPERATIONS } from "./operations.ts";

const COMPONENTS = "#/components/schemas/";

/** Makes the description of the API at an address. */
export function openApiDocument(baseUrl: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [operationId, operation] of Object.entries({ ...OPERATIONS, ...OTHER_OPERATIONS })) {
    const item = paths[operation.path] ?? {};
    paths[operation.path] = item;
    item[operation.method] = {
      operationId,
      ...describe(operation),
      ...(operation.isAtRoot ? { servers: [{ url: baseUrl }] } : {}),
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Hooklaunch", version: "0" },
    servers: [{ url: `${baseUrl}/api/v0` }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { ...componentsOf(BODIES, "input"), ...componentsOf(answers(), "output") },
    },
  };
}

/** The schemas of what is answered, the pages of lists among them. */
function answers(): Record<string, z.ZodType> {
  const pages = Object.values(OPERATIONS).flatMap(({ page }) =>
    page === undefined ? [] : [[`${page}Page`, pageSchema(ANSWERS[page])]]
  );
  return { ...ANSWERS, ...Object.fromEntries(pages) };
}

function describe(operation: Operation): Record<string, unknown> {
  const { summary, body, bodyMedia, success, also = {} } = operation;
  const done = Object.entries({ [success]: "Done", ...also }).map(([status, description]) => {
    const content = contentOf(operation, status);
    return [status, {
      description,
      ...(content === undefined ? {} : { content }),
      ...(status === "204" || operation.headers === undefined
        ? {}
        : { headers: headersOf(operation.headers) }),
    }];
  });
  return {
    summary,
    ...(operation.isOpen ? { security: [] } : {}),
    parameters: parametersOf(operation),
    ...(body ?? bodyMedia ? { requestBody: bodyOf(operation) } : {}),
    responses: {
      ...Object.fromEntries(done),
      default: {
        description: "Not done",
        content: { "application/problem+json": { schema: reference("Problem") } },
      },
    },
  };
}

function bodyOf({ body, bodyMedia = ["application/json"], isBodyOptional = false }: Operation) {
  const sent = body === undefined ? {} : { schema: reference(body) };
  return {
    required: !isBodyOptional,
    content: Object.fromEntries(bodyMedia.map((type) => [type, sent])),
  };
}

function parametersOf({ path, query, header }: Operation): Record<string, unknown>[] {
  const text = { type: "string" };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const { properties = {}, required = [] } = query === undefined
    ? {}
    : z.toJSONSchema(query, { io: "input", unrepresentable: "any" });
  const asked = Object.entries(properties);
  return [
    ...names.map((name) => ({ name, in: "path", required: true, schema: text })),
    ...asked.map(([name, schema]) => ({
      name,
      in: "query",
      ...(required.includes(name) ? { required: true } : {}),
      schema,
    })),
    ...(header === undefined ? [] : [{ name: header, in: "header", schema: text }]),
  ];
}

function contentOf(
  { media = ["application/json"], answer, page }: Operation,
  status: string,
): Record<string, unknown> | undefined {
  if (status === "204" || status === "304") return undefined;
  const name = page === undefined ? answer : `${page}Page`;
  const json = name === undefined ? {} : { schema: reference(name) };
  return Object.fromEntries(media.map((type) => {
    if (type === "application/json") return [type, json];
    return [type, type.startsWith("text/") ? { schema: { type: "string" } } : {}];
  }));
}

function headersOf(names: readonly (keyof typeof HEADERS)[]): Record<string, unknown> {
  const text = { type: "string" };
  return Object.fromEntries(
    names.map((name) => [name, { description: HEADERS[name], schema: text }]),
  );
}

function reference(name: string): { $ref: string } {
  return { $ref: COMPONENTS + name };
}

/** Schemas by their names, as components of the description. */
function componentsOf(
  schemas: Record<string, z.ZodType>,
  io: "input" | "output",
): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, {
    io,
    unrepresentable: "any",
    uri: (name) => COMPONENTS + name,
    override({ jsonSchema }) {
      // What is answered may have further fields one day, and has its defaults filled in.
      if (io === "output") {
        delete jsonSchema.default;
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      }
    },
  });
  const { __shared: _shared, ...named } = made.schemas;
  return JSON.parse(JSON.stringify(named, simpler));
}

/**
 * Leaves out the addresses of schemas, which would have references begin there and not at the description.
 * What holds itself is JSON of any depth: that it can be anything says as much, and generators of types
 * stumble over more.
 */
function simpler(name: string, value: unknown): unknown {
  if (name === "$id" || name === "$schema") return undefined;
  return String(Object(value).$ref).startsWith(`${COMPONENTS}__shared`) ? {} : value;
}
