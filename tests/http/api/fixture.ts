/**
 * What the tests of executions and pipelines share: executions of a command that a test writes, and
 * routes over real HTTP on a store and an engine that it fills itself.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { systemClock } from "../../../src/platform/clock.ts";
import { readEvents, type ServerSentEvent } from "../../../src/commands/api/server_sent_events.ts";
import type { Engine, LogLine, LogOptions } from "../../../src/engines/engine.ts";
import { type ApiOptions, operatorRoutes } from "../../../src/http/api/mod.ts";
import { BodyReader } from "../../../src/http/body.ts";
import type { Operator } from "../../../src/http/api/operator.ts";
import { problemOfError } from "../../../src/http/problem.ts";
import { newId } from "../../../src/platform/ids.ts";
import { type Execution, saveExecution } from "../../../src/store/records/executions.ts";
import {
  createHttpRequestWrites,
  type HttpRequest,
} from "../../../src/store/records/http_requests.ts";
import {
  createPipelineWrites,
  type Pipeline,
  type PipelinePlan,
} from "../../../src/store/records/pipelines.ts";
import type { Store } from "../../../src/store/store.ts";
import { ADMIN_TOKEN, endOfRun, type TestService } from "../../data.ts";
import { executionOf } from "../../store/execution.ts";
import { storeInMemory } from "../../store/fixture.ts";

/** What operators send. */
export const AUTHORIZED = { authorization: `Bearer ${ADMIN_TOKEN}` };

/** Launches a shell command as an execution, and answers its id. */
export async function launchCommand(
  service: TestService,
  command: string,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const step = { step: { name: "it", image: "debian", command, ...fields } };
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, JSON.stringify([step]));
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    actions: [{ type: "run_execution", step: "it" }],
  });
  const runId = await (await fetch(trigger.url, { method: "POST" })).text();
  const run = await endOfRun(service, runId);
  return run.actions[0].created.execution_id;
}

/** An engine that has nothing but the logs that a test writes; a position counts tens of lines. */
export class LogEngine {
  readonly lines: LogLine[] = [];
  /** How often it was read. */
  reads = 0;

  /** Adds lines. */
  print(...messages: string[]): void {
    const time = new Date().toISOString();
    this.lines.push(...messages.map((message) => ({ time, stream: "stdout" as const, message })));
  }

  watchLog() {
    return () => {};
  }

  log(_id: string, { after = "0", limit = 1_000 }: LogOptions = {}) {
    this.reads++;
    const [offset = 0, skip = 0] = after.split(".").map(Number);
    const start = offset / 10 + skip;
    const lines = this.lines.slice(start, start + limit).map((line, index) => ({
      ...line,
      next: String((start + index + 1) * 10),
    }));
    return Promise.resolve({ lines, next: lines.at(-1)?.next ?? after });
  }
}

/** Routes that are served, and what they work with. */
export interface ServedRoutes extends AsyncDisposable {
  url: string;
  store: Store;
  engine: LogEngine;
  /** Says that the service closes. */
  closing: AbortController;
}

/** Serves the routes of executions and pipelines, to everybody. */
export async function serveRoutes(
  { follow = {}, control }: {
    follow?: Partial<ApiOptions>;
    control?: Operator["pipelines"];
  } = {},
): Promise<ServedRoutes> {
  const store = await storeInMemory();
  const closing = new AbortController();
  const engine = new LogEngine();
  const bodies = new BodyReader();
  const parts = {
    store,
    settings: {},
    clock: systemClock,
    bodies,
    // These routes read logs of engines, and nothing else.
    engines: { of: () => engine as unknown as Engine },
    pipelines: control,
    // The records of these routes have no triggers.
    triggers: { labelsOf: () => Promise.resolve(undefined) },
    baseUrl: () => url,
  };
  const access = { name: "test", scope: "admin" } as const;
  // The routes below use no other part.
  const operator = parts as unknown as Operator;
  const app = new Hono({ strict: false });
  app.route(
    "/api/v0",
    operatorRoutes(operator, {
      closing: closing.signal,
      hasEnvironmentToken: false,
      checkGrant: () => Promise.resolve(access),
      ...follow,
    }),
  );
  app.onError((error) => problemOfError(error));
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) =>
      app.fetch(request, {
        access,
        remoteIp: "127.0.0.1",
        isAllowed: () => Promise.resolve(true),
      }),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  return {
    url,
    store,
    engine,
    closing,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.shutdown();
      bodies[Symbol.dispose]();
      await store.close();
    },
  };
}

/** Stores an execution, and answers its id. */
export async function storeExecution(
  store: Store,
  parts: Partial<Execution> = {},
): Promise<string> {
  // Nobody takes it up: it is not queued.
  const execution = executionOf({ id: newId(Date.now()), status: "created", ...parts });
  await store.committer.commit(saveExecution(execution));
  return execution.id;
}

/** Stores an HTTP request that has ended. */
export async function storeHttpRequest(
  store: Store,
  owner: Pick<HttpRequest, "run_id" | "trigger_id" | "project">,
): Promise<HttpRequest> {
  const now_ms = Date.now();
  const request: HttpRequest = {
    id: newId(now_ms),
    ...owner,
    method: "POST",
    url: "https://example.com/",
    wait: "none",
    status: "complete",
    created_at: new Date(now_ms).toISOString(),
    attempts: 1,
    tried: 1,
  };
  await store.committer.write(createHttpRequestWrites(request, {
    method: "POST",
    url: request.url,
    headers: {},
    timeout_ms: 1_000,
    retry: { attempts: 1, first: 1, factor: 1 },
    private_networks: false,
    wait: { for: "none" },
  }));
  return request;
}

/** Stores a pipeline of two nodes, of which the second waits for approval. */
export async function storePipeline(
  store: Store,
  parts: Partial<Pipeline> = {},
): Promise<Pipeline> {
  const now_ms = Date.now();
  const pipeline: Pipeline = {
    id: newId(now_ms),
    run_id: newId(now_ms),
    trigger_id: newId(now_ms),
    project: "files",
    commit: "c0ffee",
    name: "retrain",
    title: "Retrain",
    status: "started",
    created_at: new Date(now_ms).toISOString(),
    nodes: [
      {
        name: "train",
        step: "train",
        status: "complete",
        attempts: 1,
        execution_id: newId(now_ms),
      },
      {
        name: "deploy",
        step: "deploy",
        status: "awaiting_approval",
        attempts: 0,
        approval: { when: "node-starting" },
      },
    ],
    ...parts,
  };
  const plan: PipelinePlan = {
    nodes: [],
    edges: [{
      source: { node: "train", type: "output", key: "*" },
      target: { node: "deploy", type: "input", key: "model" },
    }],
    reuse_executions: false,
    parameters: { epochs: 3 },
  };
  await store.committer.write(createPipelineWrites(pipeline, plan));
  return pipeline;
}

/** A log that is followed. */
export interface Followed extends AsyncDisposable {
  response: Response;
  /** The next event; undefined at the end of the connection. */
  next(): Promise<ServerSentEvent | undefined>;
  /** All events up to the end of the connection. */
  rest(): Promise<ServerSentEvent[]>;
}

/** Follows a log. */
export function follow(
  url: string,
  executionId: string,
  { query = "", headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<Followed> {
  return followPath(`${url}/api/v0/executions/${executionId}/log/?follow${query}`, headers);
}

/**
 * Follows what a URL answers as server-sent events.
 *
 * @param sent is sent by POST, as JSON
 */
export async function followPath(
  url: string,
  headers: Record<string, string> = {},
  sent?: object,
): Promise<Followed> {
  const response = await fetch(url, {
    headers: { ...AUTHORIZED, ...headers },
    ...(sent && { method: "POST", body: JSON.stringify(sent) }),
  });
  const events = readEvents(response.body ?? new ReadableStream(), { stall_timeout_ms: 20_000 });
  const waiting: ServerSentEvent[] = [];
  return {
    response,
    async next() {
      if (waiting.length === 0) waiting.push(...(await events.next()).value ?? []);
      return waiting.shift();
    },
    async rest() {
      for await (const more of events) waiting.push(...more);
      return waiting.splice(0);
    },
    async [Symbol.asyncDispose]() {
      await events.return(undefined);
      if (!response.body?.locked) await response.body?.cancel();
    },
  };
}
