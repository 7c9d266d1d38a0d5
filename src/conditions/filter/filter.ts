/**
 * Payload filters, compiled and evaluated. This file loads no schema, since the Worker evaluates filters
 * too.
 *
 * @module
 */
import { SHORT_BYTES_MAX, SHORT_NAMES_MAX } from "../body_limits.ts";
import type { Refusal } from "../check.ts";
import { type InputSize, isShortWork } from "../cel/cost.ts";
import { compile, type Expression } from "../cel/expression.ts";
import { beginEvaluation } from "../cel/functions.ts";
import { explain } from "../cel/reason.ts";
import { bind, filterVariables } from "../cel/variables.ts";
import type { CredentialField } from "../field.ts";
import { describeBody, type LaunchRequest } from "../request.ts";
import { compileList } from "./compile.ts";
import type { FilterClause } from "./list.ts";

/** A filter: an expression of CEL, or a list of clauses. */
export interface FilterSettings extends Pick<FilterClause, "all" | "any" | "not"> {
  expression?: string | undefined;
}

/** No request with a short body is larger. */
const LARGEST: InputSize = { values: SHORT_BYTES_MAX, text: SHORT_BYTES_MAX };

/**
 * Compiles a filter.
 *
 * @throws {ExpressionError} when it makes no expression that can be evaluated
 */
export function compileFilter({ expression, ...list }: FilterSettings): Expression {
  return expression === undefined ? compileList(list) : compile(expression, filterVariables);
}

/**
 * Evaluates a filter over a request.
 *
 * @param credentials the fields that carry credentials: no log shows their values
 * @returns the refusal; undefined when the request passes
 */
export function evaluateFilter(
  { clauses, variables }: Expression,
  request: LaunchRequest,
  credentials: readonly CredentialField[],
): Refusal | undefined {
  const body = variables.has("body") ? request.parsedBody() : undefined;
  if (body?.kind === "other" && body.refused !== undefined) {
    return { reason: `Payload filter cannot read the body: ${body.refused}` };
  }
  beginEvaluation();
  const bindings = bind(variables, request);
  for (const clause of clauses) {
    const value = clause.evaluate(bindings);
    if (value === true) continue;
    const refusal = explain(clause, value, { request, bindings, credentials });
    if (body?.kind !== "other") return refusal;
    const isNone = `the body is neither JSON nor a form: ${describeBody(request)}`;
    return { ...refusal, reason: `${refusal.reason}; ${isNone}` };
  }
  return undefined;
}

/** Tells whether a filter over a request is sure to take a few milliseconds at most. */
export function isShort({ variables, cost }: Expression, request: LaunchRequest): boolean {
  const readsBody = variables.has("body") || variables.has("raw");
  if (readsBody && request.body.length > SHORT_BYTES_MAX) return false;
  const body = variables.has("body") ? request.bodySize() : undefined;
  if (body && body.names > SHORT_NAMES_MAX) return false;
  if (isShortWork(cost, LARGEST)) return true;
  let values = body?.values ?? 0;
  let text = Math.max(variables.has("raw") ? request.body.length : 0, body?.text ?? 0);
  for (const [, value] of readsHeaders(variables) ? request.headers : []) {
    values++;
    text = Math.max(text, value.length);
  }
  for (const [name, value] of variables.has("query") ? request.query : []) {
    values++;
    text = Math.max(text, name.length, value.length);
  }
  return isShortWork(cost, { values, text });
}

function readsHeaders(variables: ReadonlySet<string>): boolean {
  return variables.has("headers") || variables.has("content_type");
}
