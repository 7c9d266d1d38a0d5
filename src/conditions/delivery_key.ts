/**
 * The key of a delivery: an expression over the request whose value is the delivery's id.
 *
 * @module
 */
import { messageOf, type Problem } from "../platform/errors.ts";
import { keepNewest } from "../platform/evict_oldest.ts";
import type { HeavyWork } from "../platform/heavy_work/heavy_work.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import { ExpressionError } from "./cel/expression.ts";
import { beginEvaluation } from "./cel/functions.ts";
import { readsCredential } from "./cel/credential_paths.ts";
import { censorOf, NOT_SHOWN } from "./cel/reason.ts";
import { bind, filterVariables, whyBodyUnread } from "./cel/variables.ts";
import type { Refusal } from "./check.ts";
import type { CredentialField } from "./field.ts";
import { isShort } from "./filter/filter.ts";
import type { LaunchRequest } from "./request.ts";
import { compileValue, mistakeOf, type ValueExpression } from "./values/compile.ts";
import { toJson } from "./values/json.ts";
import { failureOf, type RequestInput, requestInput, requestInWorker } from "./worker_request.ts";

const KEY_MS_MAX = 2_000;
const KEY_CHARACTERS_MAX = 1_024;
const PARTS_MAX = 32;
const KEPT_MAX = 100;
const EXPECTED =
  `a text, a number, true, false, or a list of at most ${PARTS_MAX} of them, of 1 to ${KEY_CHARACTERS_MAX} characters`;

/** Each request has a time of its own, so a key with it tells no repeat. */
const { now: _now, ...keyVariables } = filterVariables;

/** A key, and the time for which a repeat is recognised. */
interface KeySettings {
  source: string;
  window_s: number;
}

interface KeyInput extends RequestInput {
  key: KeySettings;
  credentials: readonly CredentialField[];
}

/** Heavy work that evaluates keys of deliveries. */
export type KeyWork = Pick<
  HeavyWork<{ delivery_key: () => Promise<typeof deliveryKeyJob> }>,
  "run"
>;

/** The surroundings of a key. */
interface KeyContext {
  heavyWork: KeyWork;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
  /** The trigger, to which the Worker's time is counted. */
  triggerId: string;
}

/** The keys that were evaluated last. */
const kept = new Map<string, ValueExpression>();

/**
 * Compiles the key of a delivery.
 *
 * @throws {ExpressionError} when it cannot be evaluated
 */
export function compileKey(source: string): ValueExpression {
  return compileValue(source, keyVariables);
}

/** Finds the mistakes of a key; pointers are relative to its condition. */
export function keyMistakes(source: string): Problem[] {
  const mistake = mistakeOf(() => {
    const { variables } = compileKey(source);
    if (variables.size === 0) throw new ExpressionError("Reads nothing of the request");
  });
  if (mistake === undefined) return [];
  const hint = /^\s*\{/.test(source) ? ". A key has no braces around it" : "";
  return [{ pointer: "/key", detail: mistake + hint }];
}

/** Prepares a key for requests. One that cannot be used refuses every request. */
export function prepareKey(
  key: KeySettings,
  context: KeyContext,
): (request: LaunchRequest) => Delivery | Refusal | Promise<Delivery | Refusal> {
  let expression: ValueExpression;
  try {
    expression = compileKey(key.source);
  } catch (error) {
    const refusal = { reason: `Deduplication cannot be used: ${messageOf(error)}` };
    return () => refusal;
  }
  const { credentials } = context;
  return (request) =>
    isShort(expression, request)
      ? evaluate(expression, request, { key, credentials })
      : evaluateInWorker(key, request, context);
}

async function evaluateInWorker(
  key: KeySettings,
  request: LaunchRequest,
  { heavyWork, triggerId, credentials }: KeyContext,
): Promise<Delivery | Refusal> {
  const { signal } = request;
  const input = { key, credentials, ...requestInput(request) };
  const options = { key: triggerId, timeout_ms: KEY_MS_MAX, ...(signal && { signal }) };
  try {
    return await heavyWork.run("delivery_key", input, options);
  } catch (error) {
    return { reason: `The delivery's key has no value: ${failureOf(error)}` };
  }
}

/** Evaluates a key over a request, in the Worker. */
export function deliveryKeyJob(
  { key, credentials, ...request }: KeyInput,
): Delivery | Refusal {
  const expression = keepNewest(kept, key.source, {
    size_max: KEPT_MAX,
    make: () => compileKey(key.source),
  });
  return evaluate(expression, requestInWorker(request), { key, credentials });
}

function evaluate(
  { variables, reads, evaluate }: ValueExpression,
  request: LaunchRequest,
  { key: { source, window_s }, credentials }: Pick<KeyInput, "key" | "credentials">,
): Delivery | Refusal {
  const unread = whyBodyUnread(variables, request);
  if (unread !== undefined) {
    return { reason: `The delivery's key cannot read the body: ${unread}` };
  }
  beginEvaluation();
  const value = toJson(evaluate(bind(variables, request)));
  const censor = readsCredential(reads, credentials)
    ? () => NOT_SHOWN
    : censorOf(request, credentials);
  if ("problem" in value) {
    return {
      reason: `The delivery's key has no value: ${censor(value.problem)}`,
      expected: source,
    };
  }
  const text = textOf(value.json);
  if (text === undefined || text.length === 0 || text.length > KEY_CHARACTERS_MAX) {
    const found = text === undefined ? describe(value.json) : `${text.length} characters`;
    return { reason: "The delivery's key is no id", expected: EXPECTED, found };
  }
  const isSecret = censor(text) === NOT_SHOWN;
  return { id: text, window_s, ...(isSecret && { isSecret }) };
}

/** Returns the text of a key's value; undefined where it tells no delivery from another. */
function textOf(json: unknown): string | undefined {
  if (!Array.isArray(json)) return isPart(json) ? String(json) : undefined;
  const isKey = json.length > 0 && json.length <= PARTS_MAX && json.every(isPart);
  return isKey ? JSON.stringify(json) : undefined;
}

function isPart(json: unknown): boolean {
  if (typeof json === "number") return Math.abs(json) <= Number.MAX_SAFE_INTEGER;
  return typeof json === "string" || typeof json === "boolean";
}

function describe(json: unknown): string {
  if (Array.isArray(json)) return `a list of ${json.length}`;
  if (json === null) return "null";
  return typeof json === "number" ? "a number too large to be told from others" : "a map";
}
