/**
 * The parts of a request that an expression reads by constant names.
 *
 * @module
 */
import { childrenOf, constantOf, type Expr } from "./syntax.ts";

/** A key of a map, or a place in a list. */
export type Key = string | number;

/** Lists the longest paths in an expression, each with its variable first. */
export function pathsIn(expr: Expr): (readonly Key[])[] {
  const path = pathOf(expr);
  return path ? [path] : childrenOf(expr).flatMap(pathsIn);
}

/** Returns the path of `body.a[0]['b']`, its variable first; undefined for any other expression. */
export function pathOf(expr: Expr | undefined): readonly Key[] | undefined {
  const { case: kind, value } = expr?.exprKind ?? { case: undefined };
  if (kind === "identExpr") return [value.name.replace(/^\./, "")];
  if (kind === "selectExpr") return joined(pathOf(value.operand), value.field);
  if (kind !== "callExpr" || value.function !== "_[_]") return undefined;
  const key = constantValue(value.args[1]);
  return typeof key === "string" || typeof key === "number"
    ? joined(pathOf(value.args[0]), key)
    : undefined;
}

/** Returns the path of `'key' in map`. */
export function memberPath(
  key: Expr | undefined,
  map: Expr | undefined,
): readonly Key[] | undefined {
  const name = constantValue(key);
  return typeof name === "string" ? joined(pathOf(map), name) : undefined;
}

/** Returns the value of a constant; a whole number as a number. */
export function constantValue(expr: Expr | undefined): unknown {
  const value = constantOf(expr)?.value;
  return typeof value === "bigint" ? Number(value) : value;
}

function joined(path: readonly Key[] | undefined, key: Key): readonly Key[] | undefined {
  return path && [...path, key];
}
