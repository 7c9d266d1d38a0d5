/**
 * What the tests of conditions share: a request made by hand, and one way to check it.
 *
 * @module
 */
import type { Clock } from "../../src/platform/clock.ts";
import type { Check, Refusal } from "../../src/conditions/check.ts";
import type {
  CheckedKind,
  ConditionContext,
  ConditionSettings,
  TriggerFacts,
} from "../../src/conditions/condition.ts";
import { factsOf } from "../../src/conditions/facts.ts";
import { conditionKinds } from "../../src/conditions/mod.ts";
import { filterJob, type FilterWork } from "../../src/conditions/filter/job.ts";
import { schemaJob } from "../../src/conditions/json_schema/job.ts";
import { type LaunchRequest, launchRequest } from "../../src/conditions/request.ts";
import { TestClock } from "../surroundings.ts";

/** The time of receipt where a test does not say: 2023-11-14T22:13:20Z. */
export const NOW_MS = 1_700_000_000_000;

/** The parts of a request that a test cares for. */
export interface RequestParts {
  /** A query string without its question mark. */
  query?: string;
  headers?: Record<string, string> | [string, string][];
  body?: string | Uint8Array;
  receivedAt_ms?: number;
  method?: string;
  /** The public URL; by default of the path and the query on `hooks.example`. */
  url?: string;
}

/** Makes a request. */
export function request(parts: RequestParts = {}): LaunchRequest {
  const { method = "POST", query = "", headers = {}, body = "", receivedAt_ms = NOW_MS } = parts;
  const path = "/api/v0/launch/0190fe82-c984-7f66-8302-69874914e1c9/";
  return launchRequest({
    method,
    url: parts.url ?? `https://hooks.example${path}${query === "" ? "" : `?${query}`}`,
    query: new URLSearchParams(query),
    headers: new Headers(headers),
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    remoteIp: "192.0.2.7",
    receivedAt_ms,
  });
}

/** Parts of a request whose body is JSON. */
export function json(value: unknown): RequestParts {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** Parts of a request whose body is a form. */
export function form(body: string): RequestParts {
  return { headers: { "content-type": "application/x-www-form-urlencoded" }, body };
}

/** What a test's conditions live in. */
export function context(parts: {
  env?: Record<string, string>;
  siblings?: readonly ConditionSettings[];
  credentials?: ConditionContext["credentials"];
  clock?: Clock;
  signal?: AbortSignal;
  heavyWork?: FilterWork;
} = {}): ConditionContext {
  return {
    clock: parts.clock ?? new TestClock(NOW_MS),
    env: (name) => parts.env?.[name],
    runSerially: (_address, check) => check(),
    ...factsOfAll(parts.siblings ?? []),
    credentials: parts.credentials ?? [],
    signal: parts.signal ?? new AbortController().signal,
    signsTokens: false,
    triggerId: "0190fe82-c984-7f66-8302-69874914e1c9",
    heavyWork: parts.heavyWork ?? atOnce,
  };
}

/** Does heavy work in this thread, with a copy of the input as a Worker has it. */
const atOnce: ConditionContext["heavyWork"] = {
  run: (kind: string, input: unknown) => {
    const job = kind === "schema" ? schemaJob : filterJob;
    // The job of this kind takes this input, and its output is what the caller waits for.
    return Promise.resolve(job(structuredClone(input) as never) as never);
  },
};

/** The facts of a trigger's conditions. */
export function factsOfAll(conditions: readonly ConditionSettings[]): TriggerFacts {
  const known = conditions.flatMap((settings) =>
    conditionKinds.filter(({ type }) => type === settings.type).map((kind) => ({ settings, kind }))
  );
  return factsOf(known);
}

/** Settings as an operator writes them, checked against the kind's schema and then one request. */
export async function checkOnce(
  kind: CheckedKind,
  settings: Record<string, unknown>,
  parts: RequestParts,
  surroundings: ConditionContext = context(),
): Promise<Refusal | undefined> {
  const check = await prepareOnce(kind, settings, surroundings);
  return await check(request(parts));
}

/** Settings as an operator writes them, checked against the kind's schema and made ready for many requests. */
export async function prepareOnce(
  kind: CheckedKind,
  settings: Record<string, unknown>,
  surroundings: ConditionContext = context(),
): Promise<Check> {
  return await kind.prepare(kind.schema.parse({ type: kind.type, ...settings }), surroundings);
}

/** The messages of a schema about settings, each with the path that it is about; none when all is well. */
export function problemsOf(kind: CheckedKind, settings: Record<string, unknown>): string[] {
  const result = kind.schema.safeParse({ type: kind.type, ...settings });
  return (result.error?.issues ?? []).map(({ path, message }) => `/${path.join("/")}: ${message}`);
}
