/**
 * Optional fields: `body.?a.orValue(1)` is 1 where `body` has no `a` (cel-spec, wiki/proposal-246). The package
 * does not know them, so they become `has(body.a) ? body.a : 1`. A constant key or place behind one is optional as
 * well: `'b' in body.a`, `0 < size(body.a)`.
 *
 * @module
 */
import { STRING_LITERAL } from "./string_literal.ts";
import { childrenOf, constantOf, type Expr, type ParsedExpression } from "./syntax.ts";

/** Strings, comments, and the sign of an optional field. */
const TOKENS = new RegExp(String.raw`${STRING_LITERAL}|\/\/.*|\.\?(?=\s*[A-Za-z_])`, "g");

/** Thrown for an optional field without a default. */
export class MissingDefaultError extends Error {}

/**
 * Writes optional fields as usual ones of the same length.
 *
 * @returns the new source, and the places of the dots of optional fields
 */
export function markOptionals(source: string): { source: string; places: ReadonlySet<number> } {
  const places = new Set<number>();
  const marked = source.replace(TOKENS, (sign, place) => {
    if (sign !== ".?") return sign;
    places.add(place);
    return ". ";
  });
  return { source: marked, places };
}

/**
 * Puts conditions in the place of optional fields with their defaults.
 *
 * @param places the places of the dots of optional fields
 * @throws {MissingDefaultError} when one has no `orValue(…)`
 */
export function resolveOptionals(
  parsed: ParsedExpression,
  source: string,
  places: ReadonlySet<number>,
): void {
  if (places.size === 0) return;
  const optional = new Set<bigint>();
  for (const [id, offset] of Object.entries(parsed.sourceInfo?.positions ?? {})) {
    // The package counts the spaces before some signs to them.
    if (places.has(offset + source.slice(offset).search(/\S|$/))) optional.add(BigInt(id));
  }
  new Resolver(optional).resolve(parsed.expr);
}

class Resolver {
  constructor(readonly optional: ReadonlySet<bigint>) {}

  resolve(expr: Expr, hasDefault = false): void {
    const { exprKind } = expr;
    if (exprKind.case === "callExpr" && exprKind.value.function === "orValue") {
      const { target, args: [fallback, ...others] } = exprKind.value;
      const tests = target ? this.#tests(target) : [];
      const [first, ...rest] = tests;
      if (target && fallback && first && others.length === 0) {
        this.resolve(target, true);
        this.resolve(fallback);
        const condition = rest.reduce((all, test) => call(expr, "_&&_", [all, test]), first);
        expr.exprKind = call(expr, "_?_:_", [condition, target, fallback]).exprKind;
        return;
      }
    }
    if (exprKind.case === "selectExpr" && this.optional.has(expr.id) && !hasDefault) {
      throw new MissingDefaultError(
        `An optional field needs a default: write .?${exprKind.value.field}.orValue(…)`,
      );
    }
    const operand = operandOf(expr);
    if (operand) this.resolve(operand, hasDefault);
    for (const child of childrenOf(expr)) if (child !== operand) this.resolve(child);
  }

  /** The tests of a chain of fields from its first optional one on, the first one first. */
  #tests(expr: Expr): Expr[] {
    const operand = operandOf(expr);
    const before = operand ? this.#tests(operand) : [];
    const { exprKind } = expr;
    if (exprKind.case === "callExpr") return [...before, ...before.length > 0 ? testsOf(expr) : []];
    if (exprKind.case !== "selectExpr") return before;
    if (before.length === 0 && !this.optional.has(expr.id)) return [];
    const test: Expr = {
      ...expr,
      exprKind: { case: "selectExpr", value: { ...exprKind.value, testOnly: true } },
    };
    return [...before, test];
  }
}

/** Returns the test that a list or a map has what `_[_]` reads by a constant. */
function testsOf(expr: Expr): Expr[] {
  const [container, key] = expr.exprKind.case === "callExpr" ? expr.exprKind.value.args : [];
  const kind = constantOf(key)?.case;
  if (container === undefined || key === undefined) return [];
  if (kind === "stringValue") return [call(expr, "@in", [key, container])];
  return kind === "int64Value" ? [call(expr, "_<_", [key, call(expr, "size", [container])])] : [];
}

function operandOf({ exprKind: { case: kind, value } }: Expr): Expr | undefined {
  if (kind === "selectExpr") return value.operand;
  return kind === "callExpr" && value.function === "_[_]" ? value.args[0] : undefined;
}

function call(like: Expr, name: string, args: Expr[]): Expr {
  return {
    ...like,
    exprKind: {
      case: "callExpr",
      value: { $typeName: "cel.expr.Expr.Call", function: name, args },
    },
  };
}
