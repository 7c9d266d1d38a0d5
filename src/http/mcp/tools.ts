/**
 * The tools that agents have: each is an operation of the operators' API, in the words of the command line.
 *
 * @module
 */
import { z } from "zod";
import { DELIVERY_OUTCOMES } from "../../store/records/deliveries.ts";
import { RUN_STATUSES } from "../../store/records/runs.ts";
import { EXECUTION_STATUSES } from "../../store/records/executions.ts";
import { PIPELINE_STATUSES } from "../../store/records/pipelines.ts";
import type { Scope } from "../../store/records/tokens.ts";
import { idSchema } from "../api/queries.ts";

/** A request to the operators' API. */
export interface ApiRequest {
  method: "GET" | "POST" | "PATCH";
  /** Relative to `/api/v0/`. */
  path: string;
  query?: Record<string, unknown>;
  body?: unknown;
}

/** A tool. */
export interface Tool {
  name: string;
  description: string;
  /** The least scope of a token that may use it. */
  scope: Scope;
  /** It launches, stops or changes something. */
  changes?: true;
  input: z.ZodObject;
  /** Returns the request that the tool is. */
  request(args: Record<string, unknown>): ApiRequest;
  /** It sends the request that its operation has signed to the launch URL of the trigger. */
  launches?: true;
  /** The page of the console that shows the same. */
  page?(args: Record<string, unknown>): string;
}

const PAGE_SIZE_MAX = 50;
const id = idSchema.describe("A full id");
const trigger = z.string().max(256).optional().describe("Only those of this trigger, name or id");
const project = z.string().max(256).optional().describe("Only those of this project");
const limit = z.int().min(1).max(PAGE_SIZE_MAX).default(10).describe("How many at most");
const cursor = z.string().max(256).optional().describe(
  "The cursor in the `next` of the page before",
);
const time = z.string().max(64).optional();
const page = { limit, cursor };

/** All tools. */
export const TOOLS: readonly Tool[] = [
  list(
    "deliveries",
    "deliveries/",
    "List requests at launch URLs, newest first: what came, and why it was refused",
    {
      trigger,
      outcome: z.enum(DELIVERY_OUTCOMES).optional().describe("Only those with this outcome"),
      condition: z.string().max(64).optional().describe(
        "Only those that this condition has refused",
      ),
      from: time.describe("Only those of this time (RFC 3339) or later"),
      to: time.describe("Only those before this time"),
      text: z.string().max(200).optional().describe("Only those with this text in an id or a body"),
    },
  ),
  record(
    "delivery",
    "deliveries",
    "Explain a delivery: the request, the verdict on each condition, the run and its work",
  ),
  {
    name: "diagnose",
    description:
      "Find out why the signature or the token of a kept refused delivery does not match",
    scope: "operate",
    input: z.strictObject({ trigger_id: id, delivery_id: id }),
    request: ({ trigger_id, delivery_id }) => ({
      method: "POST",
      path: `triggers/${trigger_id}/diagnose/`,
      body: { delivery_id },
    }),
    page: ({ delivery_id }) => `deliveries/${delivery_id}`,
  },
  list("trigger_list", "triggers/", "List the triggers and their settings, secrets masked", {
    name: z.string().max(256).optional().describe("Only the one with this name"),
  }),
  record("trigger_show", "triggers", "Show a trigger: conditions, actions, warnings"),
  {
    name: "trigger_log",
    description: "Read a trigger's log: refusals, failed actions, failed executions, newest first",
    scope: "read",
    input: z.strictObject({ id, ...page }),
    request: ({ id, ...query }) => ({ method: "GET", path: `triggers/${id}/log/`, query }),
    page: ({ id }) => `triggers/${id}`,
  },
  list("runs", "runs/", "List the runs of all triggers, newest first", {
    trigger,
    project,
    status: z.enum(RUN_STATUSES).optional(),
    work: z.enum(["running", "complete", "error"]).optional(),
  }),
  record("run_show", "runs", "Show a run: its actions, and the states of what they launched"),
  list("execution_list", "executions/", "List executions, newest first", {
    trigger,
    project,
    status: z.enum(EXECUTION_STATUSES).optional(),
  }),
  record(
    "execution_show",
    "executions",
    "Show an execution: step, status, reason, exit code, outputs",
  ),
  {
    name: "execution_log",
    description: "Read the log that the step of an execution has printed",
    scope: "read",
    input: z.strictObject({
      id,
      limit: z.int().min(1).max(500).default(100).describe("How many lines at most"),
      cursor,
    }),
    request: ({ id, ...query }) => ({ method: "GET", path: `executions/${id}/log/`, query }),
    page: ({ id }) => `executions/${id}`,
  },
  list("pipeline_list", "pipelines/", "List pipelines, newest first", {
    trigger,
    project,
    status: z.enum(PIPELINE_STATUSES).optional(),
  }),
  record("pipeline_show", "pipelines", "Show a pipeline: its nodes and their states"),
  list(
    "attention",
    "attention/",
    "List what fails and warnings of set-ups: what an operator should look at",
    {
      trigger,
      project,
    },
  ),
  {
    name: "trigger_plan",
    description:
      "Plan a change of a trigger: answers with the result and its warnings, and stores nothing",
    scope: "admin",
    input: z.strictObject({ id, patch: patch() }),
    request: ({ id, patch }) => ({
      method: "PATCH",
      path: `triggers/${id}/`,
      query: { dry_run: "true" },
      body: patch,
    }),
    page: ({ id }) => `triggers/${id}`,
  },
  {
    name: "trigger_change",
    description: "Change a trigger. Plan it first, and ask the operator",
    scope: "admin",
    changes: true,
    input: z.strictObject({ id, patch: patch() }),
    request: ({ id, patch }) => ({ method: "PATCH", path: `triggers/${id}/`, body: patch }),
    page: ({ id }) => `triggers/${id}`,
  },
  {
    name: "trigger_test",
    description: "Check a request against each condition of a trigger; launches nothing",
    scope: "operate",
    input: z.strictObject({
      id,
      body: z.string().max(100_000).default(""),
      headers: z.record(z.string(), z.string()).default({}),
    }),
    request: ({ id, ...body }) => ({ method: "POST", path: `triggers/${id}/test/`, body }),
    page: ({ id }) => `triggers/${id}`,
  },
  {
    name: "send",
    description:
      "Send a test to a trigger, signed as its sender would. Real work starts: ask the operator",
    scope: "operate",
    changes: true,
    launches: true,
    input: z.strictObject({
      id,
      body: z.string().max(100_000).default(""),
      headers: z.record(z.string(), z.string()).default({}).describe(
        "Headers beside those that the trigger's conditions ask for. The content type is JSON unless one says another",
      ),
    }),
    request: ({ id, body, headers }) => ({
      method: "POST",
      path: `triggers/${id}/sign/`,
      body: { body, headers: { "content-type": "application/json", ...lowerCased(headers) } },
    }),
    page: ({ id }) => `triggers/${id}`,
  },
  {
    name: "replay_delivery",
    description: "Launch a delivery again. Real work starts: ask the operator",
    scope: "operate",
    changes: true,
    input: z.strictObject({ id }),
    request: ({ id }) => ({ method: "POST", path: `deliveries/${id}/replay/` }),
    page: ({ id }) => `deliveries/${id}`,
  },
  {
    name: "execution_stop",
    description: "Stop an execution",
    scope: "operate",
    changes: true,
    input: z.strictObject({ id }),
    request: ({ id }) => ({ method: "POST", path: `executions/${id}/stop/` }),
    page: ({ id }) => `executions/${id}`,
  },
];

/** Returns headers by their names in lower case. */
function lowerCased(headers: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(Object(headers)).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function patch() {
  return z.record(z.string().max(64), z.json()).describe(
    "Fields of the trigger with their new values; null removes an optional one",
  );
}

function list(name: string, path: string, description: string, filters: z.ZodRawShape): Tool {
  return {
    name,
    description,
    scope: "read",
    input: z.strictObject({ ...filters, ...page }),
    request: (query) => ({ method: "GET", path, query }),
    page: () => path.slice(0, -1),
  };
}

function record(name: string, kind: string, description: string): Tool {
  return {
    name,
    description,
    scope: "read",
    input: z.strictObject({ id }),
    request: ({ id }) => ({ method: "GET", path: `${kind}/${id}/` }),
    page: ({ id }) => `${kind}/${id}`,
  };
}
