/**
 * Every operation of the API, as its description tells of them.
 *
 * @module
 */
import { z } from "zod";
import { projectSchema } from "../../config/project.ts";
import { triggerSchema } from "../../triggers/trigger.ts";
import type { ANSWERS } from "./answers.ts";
import { approvalSchema } from "./pipelines.ts";
import { executionQuery, listQuery, logQuery, pipelineQuery } from "./queries.ts";
import { tokenSchema } from "./tokens.ts";
import { requestSchema } from "./try_out.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** One operation of the API. */
export interface Operation {
  method: Method;
  path: string;
  summary: string;
  /** The name of the schema of what is sent. */
  body?: keyof typeof BODIES;
  /** Whether nothing may be sent as well. */
  isBodyOptional?: boolean;
  /** The media types of what is sent, unless that is JSON alone. */
  bodyMedia?: readonly string[];
  /** What can be asked for behind the `?`. */
  query?: z.ZodObject;
  /** A header that it looks at. */
  header?: string;
  success: number | "2XX";
  /** The name of the schema of the JSON that is answered; where there is none, it can be any. */
  answer?: keyof typeof ANSWERS;
  /** The same, where a page of a list is answered, of its results. */
  page?: keyof typeof ANSWERS;
  /** Other answers that are none of errors, and when they come. */
  also?: Partial<Record<201 | 204 | 304, string>>;
  /** The media types of its answer, unless that is JSON alone. */
  media?: readonly string[];
  /** Headers of its answers that say something of what was asked for. */
  headers?: readonly (keyof typeof HEADERS)[];
  /** Whether it takes no operator's token. */
  isOpen?: true;
  /** Whether its path begins where the service's own do, and not below `/api/v0`. */
  isAtRoot?: true;
}

/** What headers of answers say. */
export const HEADERS = {
  Location: "The address of what was made",
  Link: "Where the text that was printed later begins",
  ETag: "Its SHA-256",
  "Content-Disposition": "A name for it as a file",
};

/** What run info is asked; conditions may want more beside it. */
const runQuestion = z.looseObject({
  run_id: z.string(),
  wait: z.union([z.string(), z.number()]).optional(),
})
  .describe("A run, and for how many seconds to wait for its end, at most 30");

/** The schemas of what is sent. */
export const BODIES = {
  TriggerInput: triggerSchema,
  TriggerPatch: z.looseObject({}).describe(
    "Fields of a trigger; null removes one, and a response with its type replaces the one before",
  ),
  Request: requestSchema,
  ProjectInput: projectSchema,
  Approval: approvalSchema,
  TokenInput: tokenSchema,
  RunQuestion: runQuestion,
};

/** What operators do, by the operations' ids and in the order of the description. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  listTriggers: {
    method: "get",
    path: "/triggers/",
    summary: "List the triggers",
    query: listQuery,
    success: 200,
    page: "Trigger",
  },
  createTrigger: {
    method: "post",
    path: "/triggers/",
    summary: "Create a trigger",
    body: "TriggerInput",
    success: 201,
    answer: "Trigger",
    headers: ["Location"],
  },
  getTrigger: {
    method: "get",
    path: "/triggers/{id}/",
    summary: "Read a trigger",
    success: 200,
    answer: "Trigger",
  },
  replaceTrigger: {
    method: "put",
    path: "/triggers/{id}/",
    summary: "Replace a trigger",
    body: "TriggerInput",
    success: 200,
    answer: "Trigger",
  },
  patchTrigger: {
    method: "patch",
    path: "/triggers/{id}/",
    summary: "Change a trigger by a JSON Merge Patch (RFC 7396)",
    body: "TriggerPatch",
    success: 200,
    answer: "Trigger",
  },
  deleteTrigger: {
    method: "delete",
    path: "/triggers/{id}/",
    summary: "Delete a trigger",
    success: 204,
  },
  testTrigger: {
    method: "post",
    path: "/triggers/{id}/test/",
    summary: "Say what each condition thinks of a request, without launching",
    body: "Request",
    success: 200,
    answer: "TestResult",
  },
  signRequest: {
    method: "post",
    path: "/triggers/{id}/sign/",
    summary: "Make a request that the trigger's conditions let pass",
    body: "Request",
    success: 200,
    answer: "SignedRequest",
  },
  listTriggerRuns: {
    method: "get",
    path: "/triggers/{id}/runs/",
    summary: "List a trigger's runs, newest first",
    query: listQuery,
    success: 200,
    page: "Run",
  },
  listTriggerLog: {
    method: "get",
    path: "/triggers/{id}/log/",
    summary: "List a trigger's log, newest first",
    query: listQuery,
    success: 200,
    page: "TriggerLogEntry",
  },
  getRun: {
    method: "get",
    path: "/runs/{id}/",
    summary: "Read a run",
    success: 200,
    answer: "Run",
  },
  getRunPayload: {
    method: "get",
    path: "/runs/{id}/payload/",
    summary: "Read a run's payload",
    success: 200,
    media: ["application/octet-stream"],
    headers: ["Content-Disposition"],
  },
  replayRun: {
    method: "post",
    path: "/runs/{id}/replay/",
    summary: "Launch a run's payload again",
    success: 201,
    answer: "Run",
    headers: ["Location"],
  },
  listProjects: {
    method: "get",
    path: "/projects/",
    summary: "List the projects",
    query: listQuery,
    success: 200,
    page: "Project",
  },
  createProject: {
    method: "post",
    path: "/projects/",
    summary: "Create a project",
    body: "ProjectInput",
    success: 201,
    answer: "Project",
    headers: ["Location"],
  },
  getProject: {
    method: "get",
    path: "/projects/{name}/",
    summary: "Read a project",
    success: 200,
    answer: "Project",
  },
  putProject: {
    method: "put",
    path: "/projects/{name}/",
    summary: "Create or replace a project",
    body: "ProjectInput",
    success: 200,
    answer: "Project",
    also: { 201: "Created" },
  },
  deleteProject: {
    method: "delete",
    path: "/projects/{name}/",
    summary: "Delete a project",
    success: 204,
  },
  fetchProject: {
    method: "post",
    path: "/projects/{name}/fetch/",
    summary: "Fetch a project's repository",
    success: 201,
    answer: "FetchResult",
  },
  listExecutions: {
    method: "get",
    path: "/executions/",
    summary: "List the executions, newest first; a page may have fewer than there are",
    query: executionQuery,
    success: 200,
    page: "Execution",
  },
  getExecution: {
    method: "get",
    path: "/executions/{id}/",
    summary: "Read an execution",
    success: 200,
    answer: "Execution",
  },
  getExecutionLog: {
    method: "get",
    path: "/executions/{id}/log/",
    summary: "Read what it printed, or follow it as server-sent events",
    query: logQuery,
    header: "Last-Event-ID",
    success: 200,
    answer: "LogPage",
    also: { 204: "The end was told before" },
    media: ["application/json", "text/plain", "text/event-stream"],
    headers: ["Link"],
  },
  getExecutionOutput: {
    method: "get",
    path: "/executions/{id}/outputs/{path}",
    summary: "Read a file that it left behind",
    header: "If-None-Match",
    success: 200,
    also: { 304: "The client has it already" },
    media: ["application/octet-stream"],
    headers: ["Content-Disposition", "ETag"],
  },
  stopExecution: {
    method: "post",
    path: "/executions/{id}/stop/",
    summary: "Stop an execution",
    success: 202,
    answer: "Execution",
  },
  listPipelines: {
    method: "get",
    path: "/pipelines/",
    summary: "List the pipelines, newest first; a page may have fewer than there are",
    query: pipelineQuery,
    success: 200,
    page: "Pipeline",
  },
  getPipeline: {
    method: "get",
    path: "/pipelines/{id}/",
    summary: "Read a pipeline with its nodes, edges and parameters",
    success: 200,
    answer: "PipelineDetails",
  },
  stopPipeline: {
    method: "post",
    path: "/pipelines/{id}/stop/",
    summary: "Stop a pipeline",
    success: 202,
    answer: "Pipeline",
  },
  approvePipeline: {
    method: "post",
    path: "/pipelines/{id}/approve/",
    summary: "Let nodes go on that wait for approval",
    body: "Approval",
    isBodyOptional: true,
    success: 202,
    answer: "Pipeline",
  },
  listTokens: {
    method: "get",
    path: "/tokens/",
    summary: "List the operators' tokens",
    query: listQuery,
    success: 200,
    page: "Token",
  },
  createToken: {
    method: "post",
    path: "/tokens/",
    summary: "Make a token, which is shown this once",
    body: "TokenInput",
    success: 201,
    answer: "MadeToken",
    headers: ["Location"],
  },
  revokeToken: { method: "delete", path: "/tokens/{id}/", summary: "Revoke a token", success: 204 },
};

/** What senders and others do, likewise. */
export const OTHER_OPERATIONS: Readonly<Record<string, Operation>> = {
  launchTrigger: {
    method: "post",
    path: "/launch/{trigger_id}/",
    summary: 'Launch a trigger; what is answered is set there, or else {"status":"accepted"}',
    bodyMedia: ["*/*"],
    success: "2XX",
    media: ["application/json", "text/plain"],
    isOpen: true,
  },
  getRunInfo: {
    method: "get",
    path: "/launch/{trigger_id}/run/",
    summary: "Ask how a run went, where the trigger wants no signature",
    query: runQuestion,
    success: 200,
    answer: "RunInfo",
    isOpen: true,
  },
  askRunInfo: {
    method: "post",
    path: "/launch/{trigger_id}/run/",
    summary: "Ask how a run went",
    body: "RunQuestion",
    bodyMedia: ["application/json", "application/x-www-form-urlencoded"],
    success: 200,
    answer: "RunInfo",
    isOpen: true,
  },
  getDescription: {
    method: "get",
    path: "/openapi.json",
    summary: "Read this description",
    success: 200,
    isOpen: true,
  },
  getDocs: {
    method: "get",
    path: "/docs/",
    summary: "Read it as a page",
    success: 200,
    media: ["text/html"],
    isOpen: true,
  },
  getMetrics: {
    method: "get",
    path: "/metrics",
    summary: "Read the metrics for Prometheus",
    success: 200,
    media: ["text/plain"],
    isAtRoot: true,
  },
  getHealth: {
    method: "get",
    path: "/healthz",
    summary: "Say whether the service is alive",
    success: 200,
    media: ["text/plain"],
    isOpen: true,
    isAtRoot: true,
  },
  getReadiness: {
    method: "get",
    path: "/readyz",
    summary: "Say whether it can accept launches",
    success: 200,
    media: ["text/plain"],
    isOpen: true,
    isAtRoot: true,
  },
};
