/**
 * The evaluation of an action's condition and values over a stored request: at once where that is sure to be
 * short, else in the Worker for heavy work.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import { messageOf } from "../../platform/errors.ts";
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import { SHORT_BYTES_MAX } from "../body_limits.ts";
import { isShortWork } from "../cel/cost.ts";
import { type Bindings, conversion, type Expression } from "../cel/expression.ts";
import { beginEvaluation } from "../cel/functions.ts";
import { bind } from "../cel/variables.ts";
import { judgeRequest } from "../filter/filter.ts";
import { type LaunchRequest, launchRequest } from "../request.ts";
import { compileCondition, compileValue, type ValueExpression } from "./compile.ts";
import { type JsonOrProblem, toJson } from "./json.ts";

/** Compiled expressions that are kept. */
const KEPT_MAX = 500;
const TIME_MS_MAX = 2_000;

const toTimestamp = conversion("timestamp");

/** The run that values are evaluated for. */
interface ValuesOf {
  run_id: string;
  /** The name of its trigger. */
  trigger: string;
}

/** The expressions of one action. */
export interface WantedValues {
  /** The action's condition. */
  condition?: string | undefined;
  sources: readonly string[];
}

/** The values of one action's expressions. */
export interface FoundValues {
  /** The reason for which the action is skipped: its condition is false. */
  skipped?: string;
  /** The reason for which the condition has no value. */
  problem?: string;
  /** In the order of the sources; none when the action is skipped. */
  values: JsonOrProblem[];
}

interface ValuesInput extends JobInput, WantedValues, ValuesOf {
  headers: [name: string, value: string][];
  query: string;
  remoteIp: string;
  receivedAt_ms: number;
}

/** Heavy work that evaluates values. */
export type ValuesWork = Pick<HeavyWork<{ values: () => Promise<typeof valuesJob> }>, "run">;

const conditions = new Map<string, Expression>();
const values = new Map<string, ValueExpression>();

/** Evaluates the expressions of an action over a request, in the Worker. */
export function valuesJob(
  { bytes, headers, query, remoteIp, receivedAt_ms, run_id, trigger, ...wanted }: ValuesInput,
): FoundValues {
  const request = launchRequest({
    // No expression reads these.
    method: "POST",
    url: "",
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    body: bytes,
    remoteIp,
    receivedAt_ms,
  });
  return evaluateOver(request, { run_id, trigger }, wanted);
}

/**
 * Evaluates the expressions of an action over the request that launched a run.
 *
 * @throws what heavy work throws: the time limit, a lost Worker
 */
export async function evaluateValues(
  request: LaunchRequest,
  of: ValuesOf,
  wanted: WantedValues,
  heavyWork: ValuesWork,
): Promise<FoundValues> {
  if (isShort(request, wanted)) return evaluateOver(request, of, wanted);
  const { body: bytes, headers, query, remoteIp, receivedAt_ms } = request;
  return await heavyWork.run(
    "values",
    {
      ...of,
      ...wanted,
      bytes,
      headers: [...headers],
      query: query.toString(),
      remoteIp,
      receivedAt_ms,
    },
    { key: of.trigger, timeout_ms: TIME_MS_MAX },
  );
}

function isShort({ body }: LaunchRequest, { condition, sources }: WantedValues): boolean {
  if (body.length > SHORT_BYTES_MAX) return false;
  const largest = { values: SHORT_BYTES_MAX, text: SHORT_BYTES_MAX };
  const costs = sources.map((source) => valueOf(source).cost);
  if (condition !== undefined) costs.push(conditionOf(condition).cost);
  return costs.every((cost) => isShortWork(cost, largest));
}

function evaluateOver(
  request: LaunchRequest,
  of: ValuesOf,
  { condition, sources }: WantedValues,
): FoundValues {
  const own = ownBindings(request, of);
  const verdict = condition === undefined ? undefined : judge(request, condition, own);
  if (verdict !== undefined) return { ...verdict, values: [] };
  return { values: sources.map((source) => evaluateOne(request, source, own)) };
}

function judge(
  request: LaunchRequest,
  source: string,
  own: Bindings,
): Omit<FoundValues, "values"> | undefined {
  const judgement = judgeRequest(conditionOf(source), request, [], own);
  if (judgement === undefined) return undefined;
  const { refusal: { reason, found }, isError } = judgement;
  const text = `${reason.replace(/^Payload filter/, "The condition")}: ${source}` +
    (found === undefined ? "" : `; ${found}`);
  return isError ? { problem: text } : { skipped: text };
}

function evaluateOne(request: LaunchRequest, source: string, own: Bindings): JsonOrProblem {
  const { variables, evaluate } = valueOf(source);
  try {
    if (variables.has("body")) {
      const body = request.parsedBody();
      if (body.kind === "other" && body.refused !== undefined) {
        return { problem: `the body cannot be read: ${body.refused}` };
      }
    }
    beginEvaluation();
    return toJson(evaluate(Object.assign(bind(variables, request), own)));
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function ownBindings({ receivedAt_ms }: LaunchRequest, { run_id, trigger }: ValuesOf): Bindings {
  return { run_id, trigger, received_at: toTimestamp(new Date(receivedAt_ms).toISOString()) };
}

function conditionOf(source: string): Expression {
  return keep(conditions, source, compileCondition);
}

function valueOf(source: string): ValueExpression {
  return keep(values, source, compileValue);
}

/** Returns what was compiled of a source, and keeps it as the newest. */
function keep<T>(kept: Map<string, T>, source: string, compile: (source: string) => T): T {
  const compiled = kept.get(source) ?? compile(source);
  kept.delete(source);
  kept.set(source, compiled);
  evictOldest(kept, KEPT_MAX);
  return compiled;
}
