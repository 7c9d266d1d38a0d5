/**
 * The OpenAPI 3.1 document of the API, made from the declarations of its operations.
 *
 * @module
 */
import { z } from "zod";
import { mapValues } from "../../platform/objects.ts";
import { answerSchemas, inputSchemas, nullIsOwn, problemDetails } from "./answer.ts";
import { operations } from "./mod.ts";
import { openOperations } from "./open_operations.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import { withNulls } from "./openapi_nulls.ts";
import type { Answer, Declaration, RequestBody } from "./declaration.ts";

const COMPONENTS = "#/components/schemas/";
/** The answers that have no body (RFC 9110 sections 15.3.5 and 15.4.5). */
const BODILESS = ["204", "304"];

type Json = Record<string, unknown>;

const { $schema: _dialect, ...pathName } = z.toJSONSchema(nameSchema);

/** Makes the OpenAPI document of the API at an address. */
export function openApiDocument(baseUrl: string): Json {
  const paths: Record<string, Json> = {};
  for (const declared of [...operations, ...openOperations]) {
    const item = paths[declared.path] ??= {};
    item[declared.method] = {
      ...describe(declared),
      ...(declared.isAtRoot ? { servers: [{ url: baseUrl }] } : {}),
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
      schemas: { ...componentsOf(inputSchemas, "input"), ...componentsOf(answerSchemas, "output") },
    },
  };
}

function describe(declared: Declaration): Json {
  const { id, summary, description, body, answers } = declared;
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(declared.isOpen ? { security: [] } : {}),
    parameters: parametersOf(declared),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: {
      ...mapValues(answers, (answer, status) => responseOf(status, answer)),
      default: {
        description: "Not done",
        content: { "application/problem+json": mediaOf(problemDetails) },
      },
    },
  };
}

function parametersOf({ path, query, headers = {} }: Declaration): Json[] {
  const text = { type: "string" };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const { properties = {}, required = [] } = query === undefined
    ? {}
    : z.toJSONSchema(query, { io: "input", unrepresentable: "any" });
  return [
    ...names.map((name = "") => ({
      name,
      in: "path",
      required: true,
      schema: name === "name" ? pathName : text,
    })),
    ...Object.entries(properties).map(([name, written]) => {
      const { description, ...schema } = Object(written);
      return {
        name,
        in: "query",
        ...(description === undefined ? {} : { description }),
        ...(required.includes(name) ? { required: true } : {}),
        schema,
      };
    }),
    ...Object.entries(headers).map(([name, header]) => ({
      name,
      in: "header",
      ...(typeof header === "string" ? { description: header, schema: text } : headerOf(header)),
    })),
  ];
}

function headerOf(schema: z.ZodString): Json {
  const { $schema: _dialect, description, ...written } = z.toJSONSchema(schema);
  return { description, schema: written };
}

function bodyOf(
  { schema, isOptional, media = ["application/json"], examples }: RequestBody,
): Json {
  const sent = {
    ...mediaOf(schema),
    ...(examples === undefined ? {} : { examples: mapValues(examples, (value) => ({ value })) }),
  };
  return {
    required: isOptional !== true,
    content: Object.fromEntries(media.map((type) => [type, sent])),
  };
}

function responseOf(status: string, answer: Answer): Json {
  const { description = "Done", schema, media = {}, headers } = answer;
  const isJson = schema !== undefined || Object.keys(media).length === 0;
  const all = isJson ? { "application/json": schema, ...media } : media;
  return {
    description,
    ...(BODILESS.includes(status) ? {} : { content: mapValues(all, mediaOf) }),
    ...(headers === undefined ? {} : {
      headers: mapValues(headers, (description) => ({ description, schema: { type: "string" } })),
    }),
  };
}

/** A named schema is a reference; another one is written out. */
function mediaOf(schema: z.ZodType | undefined): Json {
  if (schema === undefined) return {};
  const id = inputSchemas.get(schema)?.id ?? answerSchemas.get(schema)?.id;
  if (id !== undefined) return { schema: { $ref: COMPONENTS + id } };
  const { $schema: _dialect, ...written } = z.toJSONSchema(schema);
  return { schema: written };
}

/** The named schemas of a registry, as components of the document. */
function componentsOf(registry: z.core.$ZodRegistry<{ id: string }>, io: "input" | "output"): Json {
  const made = z.toJSONSchema(registry, {
    io,
    unrepresentable: "any",
    uri: (name) => COMPONENTS + name,
    override({ jsonSchema }) {
      // Answers may get more fields in a later version, and have their defaults filled in.
      if (io === "output") {
        delete jsonSchema.default;
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      }
    },
  });
  const { __shared: _shared, ...named } = made.schemas;
  const plain: Json = JSON.parse(JSON.stringify(named, simplified));
  // By name, whichever of their modules was loaded first.
  const sorted = Object.entries(plain).sort(([one], [other]) => one < other ? -1 : 1);
  if (io === "output") return Object.fromEntries(sorted);
  return Object.fromEntries(
    sorted.map((
      [id, schema],
    ) => [
      id,
      nullIsOwn.has(id)
        ? { ...Object(schema), properties: withNulls(Object(schema).properties) }
        : withNulls(schema),
    ]),
  );
}

/**
 * Leaves out the addresses of schemas: references would start there and not at the document. A schema that
 * contains itself is JSON of any depth: `{}` says as much, and generators of types fail on more.
 */
function simplified(name: string, value: unknown): unknown {
  if (name === "$id" || name === "$schema") return undefined;
  return String(Object(value).$ref).startsWith(`${COMPONENTS}__shared`) ? {} : value;
}
