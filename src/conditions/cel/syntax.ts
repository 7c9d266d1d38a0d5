/**
 * The syntax tree of an expression.
 *
 * @module
 */
import type { parse } from "@bufbuild/cel";

/** A parsed expression with the positions of its parts and its macros. */
export type ParsedExpression = ReturnType<typeof parse>;

/** A node of the tree. */
export type Expr = ParsedExpression["expr"];

/** A place in the text of an expression. Lines and columns count from 1. */
export interface Position {
  line: number;
  column: number;
}

/** Returns the place of the node of an id: that of an operator is its sign, that of a field its dot. */
export function positionOf(
  id: bigint,
  { sourceInfo }: ParsedExpression,
  source: string,
): Position {
  const offset = sourceInfo?.positions[String(id)] ?? 0;
  // The package counts the spaces before some signs to them.
  const start = offset + source.slice(offset).search(/\S|$/);
  const before = source.slice(0, start).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Lists the nodes below a node, those of a macro too. */
export function childrenOf({ exprKind }: Expr): Expr[] {
  return nodesIn(exprKind).filter((child) => child !== undefined);
}

function nodesIn(kind: Expr["exprKind"]): (Expr | undefined)[] {
  switch (kind.case) {
    case "selectExpr":
      return [kind.value.operand];
    case "listExpr":
      return kind.value.elements;
    case "structExpr":
      return kind.value.entries.flatMap(({ keyKind, value }) => [
        keyKind.case === "mapKey" ? keyKind.value : undefined,
        value,
      ]);
    case "callExpr":
      return [kind.value.target, ...kind.value.args];
    case "comprehensionExpr": {
      const { iterRange, accuInit, loopCondition, loopStep, result } = kind.value;
      return [iterRange, accuInit, loopCondition, loopStep, result];
    }
    default:
      return [];
  }
}

/** Returns a constant and its type. */
export function constantOf(expr: Expr | undefined) {
  return expr?.exprKind.case === "constExpr" ? expr.exprKind.value.constantKind : undefined;
}

/** Returns a constant string. */
export function stringOf(expr: Expr | undefined): string | undefined {
  const constant = constantOf(expr);
  return constant?.case === "stringValue" ? constant.value : undefined;
}

/** Lists the constant keys by which a variable is read: `key` of `v.key`, `v['key']` and `'key' in v`. */
export function keysOf(expr: Expr, variable: string): string[] {
  const isVariable = (node: Expr | undefined) =>
    node?.exprKind.case === "identExpr" && node.exprKind.value.name === variable;
  const keys = childrenOf(expr).flatMap((child) => keysOf(child, variable));
  const { case: kind, value } = expr.exprKind;
  if (kind === "selectExpr" && isVariable(value.operand)) return [...keys, value.field];
  if (kind !== "callExpr") return keys;
  const [first, second] = value.args;
  const key = value.function === "_[_]" && isVariable(first)
    ? stringOf(second)
    : value.function === "@in" && isVariable(second)
    ? stringOf(first)
    : undefined;
  return key === undefined ? keys : [...keys, key];
}
