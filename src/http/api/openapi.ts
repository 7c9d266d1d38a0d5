/**
 * The description of the operators' API (OpenAPI 3.1), made from the schemas that check the input.
 *
 * @module
 */
import { z } from "zod";
import { projectSchema } from "../../projects/project.ts";
import { triggerSchema } from "../../trigger/trigger.ts";
import { approvalSchema } from "./pipelines.ts";
import { executionQuery, listQuery, logQuery, pipelineQuery } from "./queries.ts";
import { tokenSchema } from "./tokens.ts";
import { requestSchema } from "./try_out.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** One operation of the API. */
interface Operation {
  method: Method;
  path: string;
  summary: string;
  /** The name of the schema of what is sent. */
  body?: keyof typeof BODIES;
  /** Whether nothing may be sent as well. */
  isBodyOptional?: boolean;
  /** What can be asked for behind the `?`. */
  query?: z.ZodObject;
  /** A header that it looks at. */
  header?: string;
  success: number;
  /** Other answers that are none of errors, and when they come. */
  also?: Partial<Record<201 | 204 | 304, string>>;
  /** The media types of its answer, unless that is JSON alone. */
  media?: readonly string[];
  /** Headers of its answers that say something of what was asked for. */
  headers?: readonly (keyof typeof HEADERS)[];
}

const HEADERS = {
  Location: "The address of what was made",
  Link: "Where the text that was printed later begins",
  ETag: "Its SHA-256",
  "Content-Disposition": "A name for it as a file",
};

/** The schemas of what is sent. */
const BODIES = {
  Trigger: triggerSchema,
  TriggerPatch: z.looseObject({}).describe("Fields of a trigger; null removes one"),
  Request: requestSchema,
  Project: projectSchema,
  Approval: approvalSchema,
  Token: tokenSchema,
};

const OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/triggers/",
    summary: "List the triggers",
    query: listQuery,
    success: 200,
  },
  {
    method: "post",
    path: "/triggers/",
    summary: "Create a trigger",
    body: "Trigger",
    success: 201,
    headers: ["Location"],
  },
  { method: "get", path: "/triggers/{id}/", summary: "Read a trigger", success: 200 },
  {
    method: "put",
    path: "/triggers/{id}/",
    summary: "Replace a trigger",
    body: "Trigger",
    success: 200,
  },
  {
    method: "patch",
    path: "/triggers/{id}/",
    summary: "Change a trigger by a JSON Merge Patch (RFC 7396)",
    body: "TriggerPatch",
    success: 200,
  },
  { method: "delete", path: "/triggers/{id}/", summary: "Delete a trigger", success: 204 },
  {
    method: "post",
    path: "/triggers/{id}/test/",
    summary: "Say what each condition thinks of a request, without launching",
    body: "Request",
    success: 200,
  },
  {
    method: "post",
    path: "/triggers/{id}/sign/",
    summary: "Make a request that the trigger's conditions let pass",
    body: "Request",
    success: 200,
  },
  {
    method: "get",
    path: "/triggers/{id}/runs/",
    summary: "List a trigger's runs, newest first",
    query: listQuery,
    success: 200,
  },
  {
    method: "get",
    path: "/triggers/{id}/log/",
    summary: "List a trigger's log, newest first",
    query: listQuery,
    success: 200,
  },
  { method: "get", path: "/runs/{id}/", summary: "Read a run", success: 200 },
  {
    method: "get",
    path: "/runs/{id}/payload/",
    summary: "Read a run's payload",
    success: 200,
    media: ["application/octet-stream"],
    headers: ["Content-Disposition"],
  },
  {
    method: "post",
    path: "/runs/{id}/replay/",
    summary: "Launch a run's payload again",
    success: 201,
    headers: ["Location"],
  },
  {
    method: "get",
    path: "/projects/",
    summary: "List the projects",
    query: listQuery,
    success: 200,
  },
  {
    method: "post",
    path: "/projects/",
    summary: "Create a project",
    body: "Project",
    success: 201,
    headers: ["Location"],
  },
  { method: "get", path: "/projects/{name}/", summary: "Read a project", success: 200 },
  {
    method: "put",
    path: "/projects/{name}/",
    summary: "Create or replace a project",
    body: "Project",
    success: 200,
    also: { 201: "Created" },
  },
  { method: "delete", path: "/projects/{name}/", summary: "Delete a project", success: 204 },
  {
    method: "post",
    path: "/projects/{name}/fetch/",
    summary: "Fetch a project's repository",
    success: 201,
  },
  {
    method: "get",
    path: "/executions/",
    summary: "List the executions, newest first; a page may have fewer than there are",
    query: executionQuery,
    success: 200,
  },
  { method: "get", path: "/executions/{id}/", summary: "Read an execution", success: 200 },
  {
    method: "get",
    path: "/executions/{id}/log/",
    summary: "Read what it printed, or follow it as server-sent events",
    query: logQuery,
    header: "Last-Event-ID",
    success: 200,
    also: { 204: "The end was told before" },
    media: ["application/json", "text/plain", "text/event-stream"],
    headers: ["Link"],
  },
  {
    method: "get",
    path: "/executions/{id}/outputs/{path}",
    summary: "Read a file that it left behind",
    header: "If-None-Match",
    success: 200,
    also: { 304: "The client has it already" },
    media: ["application/octet-stream"],
    headers: ["Content-Disposition", "ETag"],
  },
  { method: "post", path: "/executions/{id}/stop/", summary: "Stop an execution", success: 202 },
  {
    method: "get",
    path: "/pipelines/",
    summary: "List the pipelines, newest first; a page may have fewer than there are",
    query: pipelineQuery,
    success: 200,
  },
  {
    method: "get",
    path: "/pipelines/{id}/",
    summary: "Read a pipeline with its nodes, edges and parameters",
    success: 200,
  },
  { method: "post", path: "/pipelines/{id}/stop/", summary: "Stop a pipeline", success: 202 },
  {
    method: "post",
    path: "/pipelines/{id}/approve/",
    summary: "Let nodes go on that wait for approval",
    body: "Approval",
    isBodyOptional: true,
    success: 202,
  },
  {
    method: "get",
    path: "/tokens/",
    summary: "List the operators' tokens",
    query: listQuery,
    success: 200,
  },
  {
    method: "post",
    path: "/tokens/",
    summary: "Make a token, which is shown this once",
    body: "Token",
    success: 201,
    headers: ["Location"],
  },
  { method: "delete", path: "/tokens/{id}/", summary: "Revoke a token", success: 204 },
];

/** The operations there are, in the order of the description. */
export function openApiOperations(): readonly Pick<Operation, "method" | "path" | "summary">[] {
  return OPERATIONS;
}

/** Makes the description of the API at an address. */
export function openApiDocument(baseUrl: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    const item = paths[operation.path] ?? {};
    paths[operation.path] = item;
    item[operation.method] = describe(operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Hooklaunch", version: "0" },
    servers: [{ url: `${baseUrl}/api/v0` }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: {
        ...Object.fromEntries(
          Object.entries(BODIES).map(([name, schema]) => [name, componentOf(name, schema)]),
        ),
        Problem: {
          type: "object",
          properties: {
            title: { type: "string" },
            status: { type: "integer" },
            detail: { type: "string" },
            errors: {
              type: "array",
              items: {
                type: "object",
                properties: { pointer: { type: "string" }, detail: { type: "string" } },
              },
            },
          },
        },
      },
    },
  };
}

function describe(operation: Operation): Record<string, unknown> {
  const { summary, body, isBodyOptional = false, success, also = {} } = operation;
  const done = Object.entries({ [success]: "Done", ...also }).map(([status, description]) => {
    const content = contentOf(operation, Number(status));
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
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : {
      requestBody: {
        required: !isBodyOptional,
        content: { "application/json": { schema: { $ref: `#/components/schemas/${body}` } } },
      },
    }),
    responses: {
      ...Object.fromEntries(done),
      default: {
        description: "Not done",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    },
  };
}

function parametersOf({ path, query, header }: Operation): Record<string, unknown>[] {
  const text = { type: "string" };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const asked = query ? Object.entries(jsonSchemaOf(query).properties ?? {}) : [];
  return [
    ...names.map((name) => ({ name, in: "path", required: true, schema: text })),
    ...asked.map(([name, schema]) => ({ name, in: "query", schema })),
    ...(header === undefined ? [] : [{ name: header, in: "header", schema: text }]),
  ];
}

function contentOf({ media }: Operation, status: number): Record<string, unknown> | undefined {
  if (status === 204 || status === 304) return undefined;
  const types = media ?? ["application/json"];
  return Object.fromEntries(types.map((type) => [type, {}]));
}

function headersOf(names: readonly (keyof typeof HEADERS)[]): Record<string, unknown> {
  const text = { type: "string" };
  return Object.fromEntries(
    names.map((name) => [name, { description: HEADERS[name], schema: text }]),
  );
}

/** A schema by a name of the description, from whose root its references begin. */
function componentOf(name: string, schema: z.ZodType): unknown {
  const text = JSON.stringify(jsonSchemaOf(schema));
  return JSON.parse(text.replaceAll('"#/$defs/', `"#/components/schemas/${name}/$defs/`));
}

function jsonSchemaOf(schema: z.ZodType) {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}
