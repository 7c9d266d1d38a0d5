/**
 * Payload filters, compiled and evaluated. This file loads no schema, since the Worker evaluates filters
 * too.
 *
 * @module
 */
import { keepNewest } from "../../platform/evict_oldest.ts";
import { SHORT_BYTES_MAX, SHORT_NAMES_MAX } from "../body_limits.ts";
import { type CelResult, isCelError } from "@bufbuild/cel";
import type { Refusal } from "../check.ts";
import { type InputSize, isShortWork } from "../cel/cost.ts";
import { type Bindings, type Clause, compile, type Expression } from "../cel/expression.ts";
import { beginEvaluation } from "../cel/functions.ts";
import { explain } from "../cel/reason.ts";
import type { Position } from "../cel/syntax.ts";
import { bind, filterVariables, whyBodyUnread } from "../cel/variables.ts";
import type { CredentialField } from "../field.ts";
import { describeBody, type LaunchRequest, type ParsedBody } from "../request.ts";
import { mediaType } from "../../platform/network/media_type.ts";
import { firstQuoted } from "../../platform/text/display.ts";
import { compileList } from "./compile.ts";
import type { FilterClause } from "./list.ts";

/** A filter: an expression of CEL, or a list of clauses. */
export interface FilterSettings extends Pick<FilterClause, "all" | "any" | "not"> {
  expression?: string | undefined;
}

/** The refusal of a request by a filter. */
export interface Judgement {
  refusal: Refusal;
  /** The filter is not false: it has failed, or has no value that is true or false. */
  isError: boolean;
  /** The place in the expression that an error comes from, where it comes from one. */
  position?: Position;
}

/** The filters that were asked for last. */
const kept = new Map<string, Expression>();
const KEPT_MAX = 100;

/** The claims of a token are no larger. */
const TOKEN: InputSize = { values: 4_096, text: 16_384 };
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
 * Returns a filter compiled, which those who ask for the same one share: many triggers often have one filter.
 *
 * @throws {ExpressionError} when it makes no expression that can be evaluated
 */
export function compiledFilter(filter: FilterSettings): Expression {
  return keepNewest(kept, JSON.stringify(filter), {
    size_max: KEPT_MAX,
    make: () => compileFilter(filter),
  });
}

/**
 * Evaluates a filter over a request.
 *
 * @param credentials the fields that carry credentials: no log shows their values
 * @param others the values of variables that are not of the request
 * @returns undefined when the request passes
 */
export function judgeRequest(
  { clauses, variables }: Expression,
  request: LaunchRequest,
  credentials: readonly CredentialField[],
  others: Bindings = {},
): Judgement | undefined {
  const unread = whyBodyUnread(variables, request);
  if (unread !== undefined) {
    return { refusal: { reason: `Payload filter cannot read the body: ${unread}` }, isError: true };
  }
  const body = variables.has("body") ? request.parsedBody() : undefined;
  beginEvaluation();
  const bindings = Object.assign(bind(variables, request), others);
  for (const clause of clauses) {
    const value = clause.evaluate(bindings);
    if (value === true) continue;
    const refusal = explain(clause, value, { request, bindings, credentials });
    const hint = hintOf(body, value, request);
    if (hint === undefined) return { refusal, ...faultOf(clause, value) };
    const reason = `${refusal.reason}; ${hint}`;
    return { refusal: { ...refusal, reason }, ...faultOf(clause, value) };
  }
  return undefined;
}

/** Says what is unusual about a body in which a filter has not found what it looks for. */
function hintOf(
  body: ParsedBody | undefined,
  value: CelResult,
  request: LaunchRequest,
): string | undefined {
  if (body?.kind === "other" && isXml(request)) {
    return "the body is XML, which has no fields here: look into its text, as in raw.contains('<Event>')";
  }
  if (body?.kind === "other") {
    return `the body is neither JSON nor a form: ${describeBody(request)}`;
  }
  if (!isCelError(value)) return undefined;
  if (body?.kind === "multipart") {
    return `the body is a form with files, with the fields ${
      firstQuoted(new Set(body.fields.keys()))
    }`;
  }
  if (body?.kind !== "form") return undefined;
  const fields = firstQuoted(new Set(body.fields.keys()));
  return `the body is a form with the fields ${fields}: choose JSON at the sender if it can send that`;
}

function isXml({ headers, body }: LaunchRequest): boolean {
  const type = mediaType(headers.get("content-type") ?? "");
  return body.length > 0 && (type.endsWith("/xml") || type.endsWith("+xml"));
}

/** A clause of a list has an explanation for errors: they are false. */
function faultOf(clause: Clause, value: CelResult): Omit<Judgement, "refusal"> {
  if (value === false || isCelError(value) && clause.explain) return { isError: false };
  const position = clause.locate?.(value);
  return { isError: true, ...(position && { position }) };
}

/** Tells whether an expression over a request is sure to take a few milliseconds at most. */
export function isShort(
  { variables, cost }: Pick<Expression, "variables" | "cost">,
  request: LaunchRequest,
): boolean {
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
  if (variables.has("jwt")) {
    values += TOKEN.values;
    text = Math.max(text, TOKEN.text);
  }
  return isShortWork(cost, { values, text });
}

function readsHeaders(variables: ReadonlySet<string>): boolean {
  return variables.has("headers") || variables.has("content_type");
}
