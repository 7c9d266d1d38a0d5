/**
 * The description of the operators' API (OpenAPI 3.1), made from the schemas that check the input.
 *
 * @module
 */
import { z } from "zod";
import { projectSchema } from "../../projects/project.ts";
import { triggerSchema } from "../../trigger/trigger.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** One operation of the API. */
interface Operation {
  method: Method;
  path: string;
  summary: string;
  /** The name of the schema of what is sent. */
  body?: "Trigger" | "Project";
  success: number;
  isList?: boolean;
}

const OPERATIONS: readonly Operation[] = [
  { method: "get", path: "/triggers/", summary: "List the triggers", success: 200, isList: true },
  {
    method: "post",
    path: "/triggers/",
    summary: "Create a trigger",
    body: "Trigger",
    success: 201,
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
    success: 200,
  },
  { method: "delete", path: "/triggers/{id}/", summary: "Delete a trigger", success: 204 },
  {
    method: "post",
    path: "/triggers/{id}/test/",
    summary: "Say what each condition thinks of a request, without launching",
    success: 200,
  },
  {
    method: "post",
    path: "/triggers/{id}/sign/",
    summary: "Make a request that the trigger's conditions let pass",
    success: 200,
  },
  {
    method: "get",
    path: "/triggers/{id}/runs/",
    summary: "List a trigger's runs, newest first",
    success: 200,
    isList: true,
  },
  {
    method: "get",
    path: "/triggers/{id}/log/",
    summary: "List a trigger's log, newest first",
    success: 200,
    isList: true,
  },
  { method: "get", path: "/runs/{id}/", summary: "Read a run", success: 200 },
  { method: "get", path: "/runs/{id}/payload/", summary: "Read a run's payload", success: 200 },
  {
    method: "post",
    path: "/runs/{id}/replay/",
    summary: "Launch a run's payload again",
    success: 201,
  },
  { method: "get", path: "/projects/", summary: "List the projects", success: 200, isList: true },
  {
    method: "post",
    path: "/projects/",
    summary: "Create a project",
    body: "Project",
    success: 201,
  },
  { method: "get", path: "/projects/{name}/", summary: "Read a project", success: 200 },
  {
    method: "put",
    path: "/projects/{name}/",
    summary: "Create or replace a project",
    body: "Project",
    success: 200,
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
    summary: "List the executions, newest first",
    success: 200,
    isList: true,
  },
  { method: "get", path: "/executions/{id}/", summary: "Read an execution", success: 200 },
  { method: "get", path: "/executions/{id}/log/", summary: "Read what it printed", success: 200 },
  {
    method: "get",
    path: "/executions/{id}/outputs/{path}",
    summary: "Read a file that it left behind",
    success: 200,
  },
  { method: "post", path: "/executions/{id}/stop/", summary: "Stop an execution", success: 202 },
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
        Trigger: z.toJSONSchema(triggerSchema, { io: "input", unrepresentable: "any" }),
        Project: z.toJSONSchema(projectSchema, { io: "input", unrepresentable: "any" }),
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

function describe({ path, summary, body, success, isList }: Operation): Record<string, unknown> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path" }));
  const paging = isList ? ["limit", "cursor"].map((name) => ({ name, in: "query" })) : [];
  return {
    summary,
    parameters: [
      ...names.map((parameter) => ({ ...parameter, required: true, schema: { type: "string" } })),
      ...paging.map((parameter) => ({ ...parameter, schema: { type: "string" } })),
    ],
    ...(body === undefined ? {} : {
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: `#/components/schemas/${body}` } } },
      },
    }),
    responses: {
      [success]: { description: "Done" },
      default: {
        description: "Not done",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    },
  };
}
