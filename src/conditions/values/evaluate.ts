/**
 * The evaluation of an action's condition and values over a stored request: at once where that is sure to be
 * short, else in the Worker for heavy work.
 *
 * @module
 */
import { keepNewest } from "../../platform/evict_oldest.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import { mapValues } from "../../platform/objects.ts";
import { PartPending, whenPartsRead } from "../../platform/waiting/pending.ts";
import { SHORT_BYTES_MAX, SHORT_NAMES_MAX } from "../body_limits.ts";
import { isShortWork, sumOf } from "../cel/cost.ts";
import { type Bindings, compile, conversion, type Expression } from "../cel/expression.ts";
import { beginEvaluation } from "../cel/functions.ts";
import { readsCredential } from "../cel/credential_paths.ts";
import { censorOf, NOT_SHOWN } from "../cel/reason.ts";
import { fromJson } from "../cel/json.ts";
import { bind, whyBodyUnread } from "../cel/variables.ts";
import type { CredentialField } from "../field.ts";
import { judgeRequest } from "../filter/filter.ts";
import type { LaunchRequest } from "../request.ts";
import { type RequestInput, requestInput, requestInWorker } from "../worker_request.ts";
import { compileValue, httpRequestVariables, type ValueExpression } from "./compile.ts";
import { type JsonOrProblem, toJson } from "./json.ts";

/** Compiled expressions that are kept: to compile one takes 0.3 ms, ten times as long as to evaluate it. */
const KEPT_MAX = 2_000;
const TIME_MS_MAX = 2_000;
/** The characters of all values of one action together. */
const CHARACTERS_MAX = 4 * 1024 * 1024;

const toTimestamp = conversion("timestamp");

/** The run that values are evaluated for. */
interface ValuesOf {
  run_id: string;
  /** The name of its trigger. */
  trigger: string;
}

/** The work that one evaluation may be. */
interface ValuesContext {
  heavyWork: ValuesWork;
  /** The id of the trigger, to which the Worker's time is counted as that of its filters is. */
  owner: string;
  /** The time in the Worker; default: 2 s. */
  timeout_ms?: number;
}

/** The expressions of one action. */
interface WantedValues {
  /** The fields that carry credentials: no reason and no problem shows their values. */
  credentials?: readonly CredentialField[];
  /** The characters of all values together; default: 4 Mi. */
  characters_max?: number;
  /** The action's condition. */
  condition?: string | undefined;
  sources: readonly string[];
  /** The values of further variables, as JSON. */
  more?: Readonly<Record<string, unknown>>;
  /** The length of their longest text. */
  more_length?: number;
}

/** The values of one action's expressions. */
interface FoundValues {
  /** The reason for which the action is skipped: its condition is false. */
  skipped?: string;
  /** The reason for which the condition has no value. */
  problem?: string;
  /** In the order of the sources; none when the action is skipped. */
  values: JsonOrProblem[];
  /** Those of the sources that read credentials and have values. */
  credentials?: string[];
}

/** Evaluates expressions over the request of a run. */
export type EvaluateValues = (wanted: WantedValues) => Promise<FoundValues>;

interface ValuesInput extends RequestInput, WantedValues, ValuesOf {}

/** Heavy work that evaluates values. */
export type ValuesWork = Pick<HeavyWork<{ values: () => Promise<typeof valuesJob> }>, "run">;

const conditions = new Map<string, Expression>();
const values = new Map<string, ValueExpression>();

/** Evaluates the expressions of an action over a request, in the Worker. */
export function valuesJob(input: ValuesInput): FoundValues {
  const { run_id, trigger } = input;
  return evaluateOver(requestInWorker(input), { run_id, trigger }, input);
}

/**
 * Evaluates the expressions of an action over the request that launched a run.
 *
 * @throws what heavy work throws: the time limit, a lost Worker; or that bodies hold too many values
 */
export async function evaluateValues(
  request: LaunchRequest,
  of: ValuesOf,
  wanted: WantedValues,
  { heavyWork, owner, timeout_ms = TIME_MS_MAX }: ValuesContext,
): Promise<FoundValues> {
  if (isShort(request, wanted)) return await whenPartsRead(() => evaluateOver(request, of, wanted));
  const { signal } = request;
  const input = { ...of, ...wanted, ...requestInput(request) };
  return await heavyWork.run("values", input, {
    key: owner,
    timeout_ms,
    ...(signal && { signal }),
  });
}

/** Tells whether all expressions together are sure to take a few milliseconds at most. */
function isShort(
  request: LaunchRequest,
  { condition, sources, more_length = 0 }: WantedValues,
): boolean {
  const { body, headers, query } = request;
  if (body.length + more_length > SHORT_BYTES_MAX) return false;
  if ((request.bodySize()?.names ?? 0) > SHORT_NAMES_MAX) return false;
  const costs = sources.map((source) => valueOf(source).cost);
  if (condition !== undefined) costs.push(conditionOf(condition).cost);
  let characters = body.length + more_length;
  for (const [name, value] of [...headers, ...query]) characters += name.length + value.length;
  return isShortWork(sumOf(costs), { values: characters, text: characters });
}

function evaluateOver(
  request: LaunchRequest,
  of: ValuesOf,
  { condition, sources, credentials = [], characters_max = CHARACTERS_MAX, more }: WantedValues,
): FoundValues {
  const own = { ...ownBindings(request, of), ...bindingsOf(more) };
  const verdict = condition === undefined
    ? undefined
    : judge(request, { source: condition, credentials }, own);
  if (verdict !== undefined) return { ...verdict, values: [] };
  let left = characters_max;
  const bounded = (value: JsonOrProblem): JsonOrProblem => {
    if ("problem" in value) return value;
    left -= charactersIn(value.json);
    if (left >= 0) return value;
    return { problem: `the values are longer than ${characters_max} characters together` };
  };
  // To collect credentials takes long: most runs have no problem.
  let censor: ReturnType<typeof censorOf> | undefined;
  const censored = (value: JsonOrProblem, source: string): JsonOrProblem => {
    if ("json" in value) return value;
    if (readsCredential(valueOf(source).reads, credentials)) return { problem: NOT_SHOWN };
    censor ??= censorOf(request, credentials);
    return { problem: censor(value.problem) };
  };
  const values = sources.map((source) =>
    censored(bounded(evaluateOne(request, source, own)), source)
  );
  const telling = credentials.length === 0
    ? []
    : sources.filter((source, index) =>
      "json" in Object(values[index]) && readsCredential(valueOf(source).reads, credentials)
    );
  return { values, ...(telling.length > 0 && { credentials: telling }) };
}

/** Counts the characters of a value of JSON, roughly. */
function charactersIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce(
    (sum, [key, inner]) => sum + key.length + charactersIn(inner),
    2,
  );
}

function judge(
  request: LaunchRequest,
  { source, credentials }: { source: string; credentials: readonly CredentialField[] },
  own: Bindings,
): Omit<FoundValues, "values"> | undefined {
  const judgement = judgeRequest(conditionOf(source), request, credentials, own);
  if (judgement === undefined) return undefined;
  const { refusal: { reason, found }, isError } = judgement;
  const text = `${reason.replace(/^Payload filter/, "The condition")}: ${source}` +
    (found === undefined ? "" : `; ${found}`);
  return isError ? { problem: text } : { skipped: text };
}

function evaluateOne(request: LaunchRequest, source: string, own: Bindings): JsonOrProblem {
  const { variables, evaluate } = valueOf(source);
  try {
    const unread = whyBodyUnread(variables, request);
    if (unread !== undefined) return { problem: `the body cannot be read: ${unread}` };
    beginEvaluation();
    return toJson(evaluate(Object.assign(bind(variables, request), own)));
  } catch (error) {
    if (error instanceof PartPending || error instanceof UnavailableError) throw error;
    return { problem: messageOf(error) };
  }
}

function ownBindings({ receivedAt_ms }: LaunchRequest, { run_id, trigger }: ValuesOf): Bindings {
  return { run_id, trigger, received_at: toTimestamp(new Date(receivedAt_ms).toISOString()) };
}

function bindingsOf(more: WantedValues["more"] = {}): Bindings {
  return mapValues(more, (value) => fromJson(value));
}

function conditionOf(source: string): Expression {
  return keep(conditions, source, (text) => compile(text, httpRequestVariables));
}

function valueOf(source: string): ValueExpression {
  return keep(values, source, (text) => compileValue(text, httpRequestVariables));
}

/** Returns what was compiled of a source, and keeps it as the newest. */
function keep<T>(kept: Map<string, T>, source: string, compile: (source: string) => T): T {
  return keepNewest(kept, source, { size_max: KEPT_MAX, make: () => compile(source) });
}
