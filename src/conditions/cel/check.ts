/**
 * The check of an expression when it is saved: its size, its names, and that it can be a bool.
 *
 * @module
 */
import { type CelEnv, isCelError } from "@bufbuild/cel";
import { childrenOf, type Expr, type ParsedExpression, stringOf } from "./syntax.ts";

/** The types that variables can have; `dyn` can be anything. */
export type VariableType = "dyn" | "string" | "map" | "timestamp";

export const DEPTH_MAX = 32;
export const NODES_MAX = 1000;
/** Each level multiplies the time by the length of a list. */
export const MACRO_DEPTH_MAX = 2;

/** The names of types, which are values too. */
const TYPES = new Set([
  "bool",
  "bytes",
  "double",
  "google",
  "int",
  "list",
  "map",
  "null_type",
  "string",
  "type",
  "uint",
]);
/** Operators that the evaluator knows by itself. */
const OPERATORS = new Set(["_&&_", "_||_", "_?_:_", "_[_]", "@not_strictly_false"]);
/** Operators that return a bool when their operands are bools. */
const LOGIC = new Set(["_&&_", "_||_", "!_", "_?_:_"]);
const LIST_MACROS = new Set(["map", "filter"]);

type Functions = CelEnv["funcs"];

/** A problem of an expression, and the node that it is about. */
interface ExpressionProblem {
  detail: string;
  expr: Expr;
}

/** The result of a check. */
interface CheckResult {
  /** The first problem. */
  problem: ExpressionProblem | undefined;
  /** The variables that are read. */
  used: Set<string>;
}

/** Checks a parsed expression whose value is a bool. */
export function checkExpression(
  parsed: ParsedExpression,
  variables: Readonly<Record<string, VariableType>>,
  functions: Functions,
): CheckResult {
  const { problem, used } = checkNames(parsed, variables, functions);
  return { problem: problem ?? boolProblem(parsed.expr, parsed, variables, functions), used };
}

/** Checks the size and the names of a parsed expression of any value. */
export function checkNames(
  parsed: ParsedExpression,
  variables: Readonly<Record<string, VariableType>>,
  functions: Functions,
): CheckResult {
  const walk = new Walk(variables, functions);
  walk.visit(parsed.expr, 1, 0, []);
  return { problem: walk.problem, used: walk.used };
}

/** A walk over a tree. It stops at the first problem, so that a limit bounds the walk too. */
class Walk {
  readonly used = new Set<string>();
  problem: ExpressionProblem | undefined;
  #nodes = 0;

  constructor(
    readonly variables: Readonly<Record<string, VariableType>>,
    readonly functions: Functions,
  ) {}

  visit(expr: Expr, depth: number, macros: number, scope: readonly string[]): void {
    this.#nodes += 1;
    if (this.#nodes > NODES_MAX) this.#fail(`Has more than ${NODES_MAX} parts`, expr);
    if (depth > DEPTH_MAX) this.#fail(`Is nested deeper than ${DEPTH_MAX} levels`, expr);
    const { case: kind, value } = expr.exprKind;
    const isMacro = kind === "comprehensionExpr";
    if (kind === "identExpr") this.#visitName(value.name, expr, scope);
    if (kind === "callExpr") this.#visitCall(value.function, expr, value.args);
    if (kind === "structExpr" && value.messageName !== "") {
      this.#fail(`Makes a message, '${value.messageName}': maps can be made`, expr);
    }
    if (isMacro && macros === MACRO_DEPTH_MAX) {
      this.#fail(`Has macros nested deeper than ${MACRO_DEPTH_MAX} levels`, expr);
    }
    for (const child of childrenOf(expr)) {
      if (this.problem !== undefined) return;
      const isOutside = !isMacro || child === value.iterRange || child === value.accuInit;
      if (isOutside) this.visit(child, depth + 1, macros, scope);
      else this.visit(child, depth + 1, macros + 1, [...scope, value.iterVar, value.accuVar]);
    }
  }

  #visitName(written: string, expr: Expr, scope: readonly string[]): void {
    const name = written.replace(/^\./, "");
    if (scope.includes(name) || TYPES.has(name)) return;
    if (Object.hasOwn(this.variables, name)) this.used.add(name);
    else {
      const known = Object.keys(this.variables).join(", ");
      this.#fail(`Unknown variable '${name}': there are ${known}`, expr);
    }
  }

  #visitCall(name: string, expr: Expr, args: readonly Expr[]): void {
    if (!OPERATORS.has(name) && this.functions.find(name) === undefined) {
      this.#fail(`Unknown function '${name}'`, expr);
    }
    const pattern = name === "matches" ? stringOf(args.at(-1)) : undefined;
    if (pattern === undefined) return;
    const result = this.functions.find("matches")?.call(0, "", [pattern]);
    if (isCelError(result)) this.#fail(result.message, expr);
  }

  #fail(detail: string, expr: Expr): void {
    this.problem ??= { detail, expr };
  }
}

/** Returns why an expression can never be a bool. */
function boolProblem(
  expr: Expr,
  parsed: ParsedExpression,
  variables: Readonly<Record<string, VariableType>>,
  functions: Functions,
): ExpressionProblem | undefined {
  const again = (child: Expr) => boolProblem(child, parsed, variables, functions);
  const not = (type: string) => ({
    detail: `Must be true or false: this is of type ${type}`,
    expr,
  });
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr": {
      const kind = exprKind.value.constantKind.case;
      return kind === "boolValue" ? undefined : not(kind?.replace(/(64)?Value$/, "") ?? "constant");
    }
    case "listExpr":
      return not("list");
    case "structExpr":
      return not("map");
    case "identExpr": {
      const { name } = exprKind.value;
      const type = Object.hasOwn(variables, name) ? variables[name] : "type";
      return type === "dyn" ? undefined : not(type ?? "type");
    }
    case "comprehensionExpr": {
      const macro = parsed.sourceInfo?.macroCalls[String(expr.id)]?.exprKind;
      const isList = macro?.case === "callExpr" && LIST_MACROS.has(macro.value.function);
      return isList ? not("list") : undefined;
    }
    case "callExpr": {
      const { function: name, args } = exprKind.value;
      if (LOGIC.has(name)) return args.map(again).find((problem) => problem !== undefined);
      const results = [...functions.find(name) ?? []].map(({ result }) => result.name);
      return results.length === 0 || results.some((type) => type === "bool" || type === "dyn")
        ? undefined
        : not(results[0] ?? "value");
    }
  }
}
