/**
 * A condition on what a request says, as an expression of CEL (github.com/google/cel-spec) or as a
 * plain list of clauses that is compiled to one.
 *
 * @module
 */
import { z } from "zod";
import { messageOf, type Problem } from "../platform/errors.ts";
import { refuseField } from "../platform/schema/schema.ts";
import { compile, type Expression } from "./cel/expression.ts";
import { sharingTime } from "./cel/meter.ts";
import { explain } from "./cel/reason.ts";
import { binder, filterVariables } from "./cel/values.ts";
import type { Check } from "./check.ts";
import type { CheckedKind, ConditionContext, TriggerFacts } from "./condition.ts";
import { checkList, groupNames, listShape } from "./filter/list.ts";
import { compileList } from "./filter/compile.ts";
import { describeBody, type LaunchRequest } from "./request.ts";
import { settingsObject } from "./settings.ts";
import { signsQuery } from "./signing/coverage.ts";

const FORMS = ["expression", ...groupNames] as const;

const schema = settingsObject({
  type: z.literal("payload_filter"),
  expression: z.string().optional().describe(
    `An expression of CEL over ${Object.keys(filterVariables).join(", ")} that must be true`,
  ),
  ...listShape,
}).superRefine((settings, context) => {
  if (context.issues.length > 0) return;
  const refuse = (message: string, path: string[] = []) => refuseField(context, path, message);
  const [form, ...others] = FORMS.filter((name) => settings[name] !== undefined);
  if (form === undefined || others.length > 0) {
    const found = [form, ...others].join(", ") || "none";
    return refuse(`Must have one of ${FORMS.join(", ")}: found ${found}`);
  }
  checkList(settings, context);
  if (context.issues.length > 0) return;
  try {
    compileFilter(settings);
  } catch (error) {
    const what = form === "expression" ? "" : "As an expression: ";
    refuse(`${what}${messageOf(error)}`, [form]);
  }
});

/** The settings of a payload filter. */
export type PayloadFilterSettings = z.infer<typeof schema>;

/** An expression over the request that must be true. An error is not true. */
export const payloadFilter = {
  type: "payload_filter",
  stage: "filter",
  schema,
  warnings,
  prepare,
} satisfies CheckedKind<PayloadFilterSettings>;

function prepare(settings: PayloadFilterSettings, context: ConditionContext): Check {
  let expression: Expression;
  try {
    expression = compileFilter(settings);
  } catch (error) {
    const refusal = { reason: `Payload filter cannot be used: ${messageOf(error)}` };
    return () => refusal;
  }
  const { clauses, variables } = expression;
  const bind = binder(variables);
  const evaluate = (request: LaunchRequest) =>
    sharingTime(request, context.clock, (meter) => {
      const bindings = bind(request);
      for (const clause of clauses) {
        const value = clause.evaluate(bindings, meter);
        if (value === true) continue;
        const { credentials } = context;
        return explain(clause, value, { request, bindings, meter, credentials });
      }
      return undefined;
    });
  return (request) => {
    if (!variables.has("body")) return evaluate(request);
    // Reading it is bounded by what it refuses, and is not the expression's time.
    const body = request.parsedBody();
    if (body.kind !== "other") return evaluate(request);
    if (body.refused !== undefined) {
      return { reason: `Payload filter cannot read the body: ${body.refused}` };
    }
    const refusal = evaluate(request);
    const isNone = `the body is neither JSON nor a form: ${describeBody(request)}`;
    return refusal && { ...refusal, reason: `${refusal.reason}; ${isNone}` };
  };
}

/** A filter over what is not signed trusts what anyone who sends a request again chooses. */
function warnings(settings: PayloadFilterSettings, { schemes }: TriggerFacts): Problem[] {
  const pointer = settings.expression === undefined ? "" : "/expression";
  let variables: ReadonlySet<string>;
  try {
    ({ variables } = compileFilter(settings));
  } catch (error) {
    return [{ pointer, detail: `Refuses every request: ${messageOf(error)}` }];
  }
  if (schemes.length === 0) return [];
  const isSigned: Record<string, boolean> = {
    headers: false,
    content_type: false,
    query: schemes.some(signsQuery),
  };
  const open = [...variables].filter((name) => isSigned[name] === false);
  if (open.length === 0) return [];
  const detail = `The filter looks at ${open.join(" and ")}, which no signature covers`;
  return [{ pointer, detail }];
}

/**
 * Compiles the expression or the list of a payload filter.
 *
 * @throws {ExpressionError} when it makes no expression that can be evaluated
 */
export function compileFilter({ expression, ...list }: PayloadFilterSettings): Expression {
  return expression === undefined ? compileList(list) : compile(expression, filterVariables);
}
