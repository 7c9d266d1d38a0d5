/**
 * Values of actions: expressions of CEL in texts, evaluated over the request that launched a run.
 *
 * @module
 */
import { type CelResult, plan } from "@bufbuild/cel";
import { checkNames, type VariableType } from "../cel/check.ts";
import { type Cost, costOf } from "../cel/cost.ts";
import { type Bindings, compile, ExpressionError, parseExpression } from "../cel/expression.ts";
import { environment } from "../cel/functions.ts";
import { type Key, pathsIn } from "../cel/paths.ts";
import { positionOf } from "../cel/syntax.ts";
import { parseTemplate } from "../cel/template.ts";

/** The variables of a value, and of an action's condition. */
export const valueVariables = {
  body: "dyn",
  headers: "map",
  query: "map",
  run_id: "string",
  trigger: "string",
  received_at: "timestamp",
} as const satisfies Record<string, VariableType>;

/** The variables that the settings of an HTTP request have as well: where its callback goes, and what came back. */
export const httpRequestVariables = {
  ...valueVariables,
  callback_url: "string",
  answer: "map",
} as const satisfies Record<string, VariableType>;

/** Variables by name. */
export type Variables = Readonly<Record<string, VariableType>>;

/** An expression whose value may be of any type. */
export interface ValueExpression {
  readonly variables: ReadonlySet<string>;
  readonly cost: Cost;
  /** The paths by which it reads the request. */
  readonly reads: readonly (readonly Key[])[];
  evaluate(bindings: Bindings): CelResult;
}

/**
 * Compiles an expression of any value.
 *
 * @throws {ExpressionError} when it is too large, cannot be parsed, or names an unknown variable or function
 */
export function compileValue(
  source: string,
  variables: Variables = valueVariables,
): ValueExpression {
  const parsed = parseExpression(source);
  const { problem, used } = checkNames(parsed, variables, environment.funcs);
  if (problem) {
    throw new ExpressionError(problem.detail, positionOf(problem.expr.id, parsed, source));
  }
  const { expr } = parsed;
  return {
    variables: used,
    cost: costOf(expr),
    reads: pathsIn(expr),
    evaluate: plan(environment, expr),
  };
}

/** Lists the expressions in the texts of a value, at any depth. Keys are left alone. */
export function sourcesIn(value: unknown): string[] {
  if (typeof value === "string") {
    return value.includes("{")
      ? parseTemplate(value).flatMap((part) => typeof part === "string" ? [] : [part.source])
      : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(sourcesIn);
}

/** A mistake in a text with expressions, and the keys that lead to it. */
interface TemplateMistake {
  path: PropertyKey[];
  message: string;
}

/** Finds the mistakes in the texts of a value, at any depth. */
export function templateMistakes(
  value: unknown,
  variables: Variables = valueVariables,
  path: PropertyKey[] = [],
): TemplateMistake[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) =>
      templateMistakes(inner, variables, [...path, key])
    );
  }
  if (typeof value !== "string") return [];
  const message = mistakeOf(() => {
    for (const source of sourcesIn(value)) compileValue(source, variables);
  });
  return message === undefined ? [] : [{ path, message: `${message}. {{ is a brace` }];
}

/** Returns the mistake in the condition of an action. */
export function conditionMistake(
  source: string,
  variables: Variables = valueVariables,
): string | undefined {
  return mistakeOf(() => compile(source, variables));
}

/** Returns the mistake of what compiles an expression, with its place. */
export function mistakeOf(compileAll: () => void): string | undefined {
  try {
    compileAll();
    return undefined;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { message, position } = error;
    return position ? `${message}, at line ${position.line}, column ${position.column}` : message;
  }
}
