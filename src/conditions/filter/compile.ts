/**
 * Compiles filter lists to expressions of CEL: one evaluator, one set of limits and one wording in the log.
 *
 * @module
 */
import { type CelResult, isCelError } from "@bufbuild/cel";
import { type Clause, compile, compileTerm, type Expression } from "../cel/expression.ts";
import { TOO_LARGE } from "../cel/json.ts";
import { filterVariables } from "../cel/variables.ts";
import type { FilterClause } from "./list.ts";
import { json, type Kind, kindOf } from "./literal.ts";
import { operators, type Test } from "./operators.ts";
import { type Path, readPath } from "./path.ts";

/** A clause or a group of clauses in CEL. */
interface Part {
  /** The clause as the list writes it, for the log. */
  text: string;
  source: string;
  /** The values that it reads. */
  paths: readonly Path[];
  /** The kinds of value for which it can be true, where it is one clause. */
  kinds?: readonly Kind[] | undefined;
}

/**
 * Compiles a list that {@linkcode checkList} finds nothing wrong with.
 *
 * @throws {ExpressionError} when it makes too large an expression
 */
export function compileList(list: FilterClause): Expression {
  const whole = compile(partOf(list, false).source, filterVariables);
  return { ...whole, clauses: conjuncts(list).map((part) => clauseOf(partOf(part, false))) };
}

/** Lists the clauses that must all be true. */
function conjuncts(list: FilterClause): readonly FilterClause[] {
  return list.all ? list.all.flatMap(conjuncts) : [list];
}

function clauseOf({ text, source, paths, kinds }: Part): Clause {
  const operands = paths.map((path) => ({ ...compileTerm(path.value), text: path.text }));
  const [only, ...others] = operands;
  return {
    ...compileTerm(source),
    text,
    operands,
    explain: (value) =>
      only && others.length === 0 ? explainOne(only.text, kinds, value) : undefined,
  };
}

function explainOne(
  path: string,
  kinds: readonly Kind[] | undefined,
  value: CelResult,
): string | undefined {
  if (isCelError(value)) {
    return value.message.includes(TOO_LARGE) ? `${path} is ${TOO_LARGE}` : `${path} is missing`;
  }
  return !kinds || kinds.includes(kindOf(value))
    ? undefined
    : `${path} is no ${kinds.join(" or ")}`;
}

/**
 * @param isInNot an error must be false; outside of `not` it refuses as well, and the expression is a tenth
 * of the size
 */
function partOf(clause: FilterClause, isInNot: boolean): Part {
  const { all, any, not } = clause;
  if (not) {
    const part = partOf(not, true);
    return { text: `not(${part.text})`, source: `!(${part.source})`, paths: part.paths };
  }
  if (!all && !any) return plainPart(clause, isInNot);
  const parts = (all ?? any ?? []).map((child) => partOf(child, isInNot));
  return {
    text: `${all ? "all" : "any"}(${parts.map(({ text }) => text).join(", ")})`,
    source: parts.map(({ source }) => `(${source})`).join(all ? " && " : " || "),
    paths: parts.flatMap(({ paths }) => paths),
  };
}

function plainPart({ path: place = "", op, value }: FilterClause, isInNot: boolean): Part {
  const path = readPath(place);
  if (typeof path === "string" || op === undefined) throw new TypeError(`Not a clause: ${place}`);
  const given = value === undefined ? "" : ` ${json(value)}`;
  const part = { text: `${place} ${op}${given}`, paths: [path] };
  if (op === "exists") {
    const isWanted = value !== false;
    return { ...part, source: `size(${path.found}) == ${isWanted ? 1 : 0}` };
  }
  const test = operators[op](value);
  if (typeof test === "string") throw new TypeError(`Not a clause: ${test}`);
  return { ...part, kinds: test.kinds, source: sourceOf(path, test, isInNot) };
}

function sourceOf(path: Path, test: Test, isInNot: boolean): string {
  return isInNot ? `${path.found}.exists(v, ${test.expression("v")})` : test.expression(path.value);
}
