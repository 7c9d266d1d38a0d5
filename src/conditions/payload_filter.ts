/**
 * A condition on what a request says, as an expression of CEL (github.com/google/cel-spec).
 *
 * @module
 */
import {
  type CelResult,
  celType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
} from "@bufbuild/cel";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { type Bindings, type Clause, compile, type Expression } from "./cel.ts";
import { bind, filterVariables, isBodyTooDeep, type Tick } from "./cel_values.ts";
import type { Check, CheckedKind, ConditionContext, Refusal } from "./condition.ts";
import { type Field, readText } from "./field.ts";
import type { LaunchRequest } from "./request.ts";
import { settingsObject } from "./settings.ts";

const EVALUATION_MS_MAX = 1000;
const SHOWN_CHARACTERS_MAX = 200;
const OPERANDS_SHOWN_MAX = 4;
const CREDENTIAL_PART_CHARACTERS_MIN = 6;

const schema = settingsObject({
  type: z.literal("payload_filter"),
  expression: z.string().superRefine((source, context) => {
    try {
      compile(source, filterVariables);
    } catch (error) {
      context.addIssue({ code: "custom", message: messageOf(error) });
    }
  }).describe(
    `An expression of CEL over ${Object.keys(filterVariables).join(", ")} that must be true`,
  ),
});

/** The settings of a payload filter. */
export type PayloadFilterSettings = z.infer<typeof schema>;

/** An expression over the request that must be true. An error is not true. */
export const payloadFilter = {
  type: "payload_filter",
  stage: "filter",
  schema,
  prepare,
} satisfies CheckedKind<PayloadFilterSettings>;

function prepare(settings: PayloadFilterSettings, context: ConditionContext): Check {
  let expression: Expression;
  try {
    expression = compile(settings.expression, filterVariables);
  } catch (error) {
    const refusal = { reason: `Payload filter cannot be used: ${messageOf(error)}` };
    return () => refusal;
  }
  const { clauses, variables } = expression;
  return (request) => {
    if (variables.has("body") && isBodyTooDeep(request)) {
      return { reason: "Payload filter cannot read the body: it is nested too deep" };
    }
    const bindings = bind(request, variables, deadline(context.clock));
    for (const clause of clauses) {
      const value = clause.evaluate(bindings);
      if (value === true) continue;
      const censor = censorOf(request, context.credentials);
      return explain(clause, value, bindings, censor);
    }
    return undefined;
  };
}

/** Ends an evaluation that takes too long: an expression can cost the square of a list's length. */
function deadline(clock: Clock): Tick {
  const end_ms = clock.steady() + EVALUATION_MS_MAX;
  return () => {
    if (clock.steady() > end_ms) {
      throw new Error(`it took longer than ${EVALUATION_MS_MAX} ms`);
    }
  };
}

/** Writes a text for the log: cut off where it is long, and not at all where it tells a credential. */
type Censor = (text: string) => string;

function explain(
  clause: Clause,
  value: CelResult,
  bindings: Bindings,
  censor: Censor,
): Refusal {
  const expected = cut(clause.text);
  if (isCelError(value)) {
    return { reason: `Payload filter failed: ${censor(value.message)}`, expected };
  }
  if (value !== false) {
    const found = censor(show(value));
    return { reason: "Payload filter is neither true nor false", expected, found };
  }
  const operands = clause.operands.flatMap(({ text, evaluate }) => {
    const operand = evaluate(bindings);
    return isCelError(operand) ? [] : [`${text} is ${censor(show(operand))}`];
  });
  const found = cut(operands.slice(0, OPERANDS_SHOWN_MAX).join("; "));
  return { reason: "Payload filter is false", expected, ...(found !== "" && { found }) };
}

function censorOf(request: LaunchRequest, fields: readonly Field[]): Censor {
  const credentials = fields.map((field) => readText(request, field))
    .filter((text) => typeof text === "string").filter((text) => text !== "");
  return (text) => {
    const shown = text.replace(/^"|"$/g, "");
    const isSecret = credentials.some((credential) =>
      text.includes(credential) || text.includes(JSON.stringify(credential).slice(1, -1)) ||
      (shown.length >= CREDENTIAL_PART_CHARACTERS_MIN && credential.includes(shown))
    );
    return isSecret ? "not shown" : cut(text);
  };
}

function show(value: CelValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (isCelList(value)) return `a list of ${value.size}`;
  if (isCelMap(value)) return `a map of ${value.size}`;
  if (typeof value !== "object" || value === null) return String(value);
  return `a ${celType(value).name}`;
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}
