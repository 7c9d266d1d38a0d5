/**
 * A condition on the content of a request: an expression of CEL (github.com/google/cel-spec), or a plain
 * list of clauses that is compiled to one.
 *
 * @module
 */
import { z } from "zod";
import { messageOf, type Problem } from "../platform/errors.ts";
import { keepNewest } from "../platform/evict_oldest.ts";
import { refuseField } from "../platform/schema/schema.ts";
import { type Expression, locatedMessage, parseExpression } from "./cel/expression.ts";
import { type Key, pathsIn } from "./cel/paths.ts";
import { filterVariables } from "./cel/variables.ts";
import type { Check } from "./check.ts";
import type { CheckedKind, ConditionContext, TriggerFacts, WarningFacts } from "./condition.ts";
import { warnOfDisabling } from "./disabling.ts";
import { compileFilter } from "./filter/filter.ts";
import { checkList, groupNames, listPaths, listShape } from "./filter/list.ts";
import { prepareFilter } from "./filter/prepare.ts";
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
    const isExpression = form === "expression";
    refuse(isExpression ? locatedMessage(error) : `As an expression: ${messageOf(error)}`, [form]);
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
  reads,
  prepare,
} satisfies CheckedKind<PayloadFilterSettings>;

function prepare(
  { type: _, ...filter }: PayloadFilterSettings,
  { heavyWork, credentials, triggerId }: ConditionContext,
): Check {
  const judge = prepareFilter(filter, { heavyWork, credentials, owner: triggerId });
  return (request) => {
    const judged = judge(request);
    return judged instanceof Promise ? judged.then((each) => each?.refusal) : judged?.refusal;
  };
}

function reads({ expression, ...list }: PayloadFilterSettings): (readonly Key[])[] {
  const sources = expression === undefined ? listPaths(list) : [expression];
  return sources.flatMap((source) => pathsIn(parseExpression(source).expr));
}

function warnings(settings: PayloadFilterSettings, facts: WarningFacts): Problem[] {
  const pointer = settings.expression === undefined ? "" : "/expression";
  const expression = namesIn(settings);
  if (typeof expression === "string") {
    return [{ pointer, detail: `Refuses every request: ${expression}` }];
  }
  return [
    ...warnOfUnsigned(expression, facts),
    ...warnOfHeaderNames(expression),
    ...warnOfDisabling(facts),
  ].map((detail) => ({ pointer, detail }));
}

/** The names in an expression, for which warnings look. */
type Names = Pick<Expression, "variables" | "headers">;

/** The names in the filters of the last lists of triggers: each would else be compiled for each list. */
const known = new Map<string, Names | string>();
const KNOWN_MAX = 1_000;

/** Returns the names in a filter, or why it cannot be compiled. */
function namesIn(settings: PayloadFilterSettings): Names | string {
  return keepNewest(known, JSON.stringify(settings), {
    size_max: KNOWN_MAX,
    make: () => namesOf(settings),
  });
}

function namesOf(settings: PayloadFilterSettings): Names | string {
  try {
    const { variables, headers } = compileFilter(settings);
    return { variables, headers };
  } catch (error) {
    return messageOf(error);
  }
}

/** A filter over what is not signed trusts what anyone who sends a request again chooses. */
function warnOfUnsigned({ variables }: Names, { schemes }: TriggerFacts): string[] {
  if (schemes.length === 0) return [];
  const isSigned: Record<string, boolean> = {
    headers: false,
    content_type: false,
    query: schemes.some(signsQuery),
  };
  const open = [...variables].filter((name) => isSigned[name] === false);
  return open.length === 0
    ? []
    : [`The filter looks at ${open.join(" and ")}, which no signature covers`];
}

/** A list may write the names of headers in any case. */
function warnOfHeaderNames({ headers }: Names): string[] {
  const wrong = headers.filter((name) => name !== name.toLowerCase());
  return [...new Set(wrong)].map((name) =>
    `The filter never finds the header ${JSON.stringify(name)}: ` +
    `write its name in lower case, ${JSON.stringify(name.toLowerCase())}`
  );
}
