/**
 * Checking the syntax tree of an expression when it is saved: its size, its names, and whether it
 * can be a bool.
 *
 * @module
 */
import { type CelEnv, isCelError } from "@bufbuild/cel";
import type { Expr, ParsedExpression, VariableType } from "./expression.ts";

const DEPTH_MAX = 32;
const NODES_MAX = 1000;
/** Macros cost the length of a list each, to the power of how deep they stand in one another. */
const MACRO_DEPTH_MAX = 2;

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
/** Operators that are no functions of the environment. */
const OPERATORS = new Set(["_&&_", "_||_", "_?_:_", "_[_]", "@not_strictly_false"]);
/** Operators whose operands are bools when they give one. */
const LOGIC = new Set(["_&&_", "_||_", "!_", "_?_:_"]);
const LIST_MACROS = new Set(["map", "filter"]);

type Functions = CelEnv["funcs"];

/** What a check finds. */
export interface CheckResult {
  /** The first thing that is wrong. */
  problem: string | undefined;
  /** The variables that are read. */
  used: Set<string>;
}

/** Checks a parsed expression. */
export function checkExpression(
  parsed: ParsedExpression,
  variables: Readonly<Record<string, VariableType>>,
  functions: Functions,
): CheckResult {
  const walk = new Walk(variables, functions);
  walk.visit(parsed.expr, 1, 0, []);
  const problem = walk.problem ?? whyNotBool(parsed.expr, parsed, variables, functions);
  return { problem, used: walk.used };
}

/** One walk over a tree; it stops at the first problem, so that a limit bounds the walk too. */
class Walk {
  readonly used = new Set<string>();
  problem: string | undefined;
  #nodes = 0;

  constructor(
    readonly variables: Readonly<Record<string, VariableType>>,
    readonly functions: Functions,
  ) {}

  visit(expr: Expr | undefined, depth: number, macros: number, scope: readonly string[]): void {
    if (expr === undefined || this.problem !== undefined) return;
    this.#nodes += 1;
    if (this.#nodes > NODES_MAX) return this.#fail(`Has more than ${NODES_MAX} parts`);
    if (depth > DEPTH_MAX) return this.#fail(`Is nested deeper than ${DEPTH_MAX} levels`);
    const next = (child: Expr | undefined) => this.visit(child, depth + 1, macros, scope);
    const { exprKind } = expr;
    switch (exprKind.case) {
      case "identExpr":
        return this.#visitName(exprKind.value.name, scope);
      case "selectExpr":
        return next(exprKind.value.operand);
      case "listExpr":
        return exprKind.value.elements.forEach(next);
      case "structExpr":
        if (exprKind.value.messageName !== "") {
          return this.#fail(`Makes a message, '${exprKind.value.messageName}': maps can be made`);
        }
        return exprKind.value.entries.forEach(({ keyKind, value }) => {
          if (keyKind.case === "mapKey") next(keyKind.value);
          next(value);
        });
      case "callExpr": {
        const { function: name, target, args } = exprKind.value;
        if (!OPERATORS.has(name) && this.functions.find(name) === undefined) {
          return this.#fail(`Unknown function '${name}'`);
        }
        if (name === "matches") this.#checkPattern(args.at(-1));
        return [target, ...args].forEach(next);
      }
      case "comprehensionExpr": {
        if (macros === MACRO_DEPTH_MAX) {
          return this.#fail(`Has macros nested deeper than ${MACRO_DEPTH_MAX} levels`);
        }
        const { iterRange, iterVar, accuVar, accuInit, ...loop } = exprKind.value;
        [iterRange, accuInit].forEach(next);
        const inner = [...scope, iterVar, accuVar];
        for (const part of [loop.loopCondition, loop.loopStep, loop.result]) {
          this.visit(part, depth + 1, macros + 1, inner);
        }
      }
    }
  }

  #visitName(written: string, scope: readonly string[]): void {
    const name = written.replace(/^\./, "");
    if (scope.includes(name) || TYPES.has(name)) return;
    if (Object.hasOwn(this.variables, name)) this.used.add(name);
    else {
      const known = Object.keys(this.variables).join(", ");
      this.#fail(`Unknown variable '${name}': there are ${known}`);
    }
  }

  #checkPattern(pattern: Expr | undefined): void {
    const kind = pattern?.exprKind.case === "constExpr" && pattern.exprKind.value.constantKind;
    if (!kind || kind.case !== "stringValue") return;
    const result = this.functions.find("matches")?.call(0, "", [kind.value]);
    if (isCelError(result)) this.#fail(result.message);
  }

  #fail(problem: string): void {
    this.problem = problem;
  }
}

/** Why a tree can never be true or false; undefined where it may be. */
function whyNotBool(
  expr: Expr,
  parsed: ParsedExpression,
  variables: Readonly<Record<string, VariableType>>,
  functions: Functions,
): string | undefined {
  const again = (child: Expr) => whyNotBool(child, parsed, variables, functions);
  const not = (type: string) => `Must be true or false: this is of type ${type}`;
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
