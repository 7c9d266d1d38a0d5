/**
 * Expressions of the Common Expression Language (github.com/google/cel-spec).
 *
 * @module
 */
import {
  type CelInput,
  type CelResult,
  type CelValue,
  isCelError,
  parse,
  plan,
  unparse,
} from "@bufbuild/cel";
import { HooklaunchError, messageOf } from "../../platform/errors.ts";
import { checkExpression, type VariableType } from "./check.ts";
import { type Cost, costOf } from "./cost.ts";
import { nameQualified } from "./extensions.ts";
import { environment } from "./functions.ts";
import { markOptionals, MissingDefaultError, resolveOptionals } from "./optional.ts";
import { type Key, pathsIn } from "./paths.ts";
import { type Expr, keysOf, type ParsedExpression, type Position, positionOf } from "./syntax.ts";

const EXPRESSION_BYTES_MAX = 4096;
const DETAIL_CHARACTERS_MAX = 80;

/** An expression cannot be used. */
export class ExpressionError extends HooklaunchError {
  override readonly code = "invalid_expression";

  /** @param position the place of the mistake, where the message does not say it */
  constructor(message: string, readonly position?: Position) {
    super(message);
  }
}

/** Returns why an expression cannot be used, with the place of the mistake. */
export function locatedMessage(error: unknown): string {
  const position = error instanceof ExpressionError ? error.position : undefined;
  return position === undefined
    ? messageOf(error)
    : `${messageOf(error)} (line ${position.line}, column ${position.column})`;
}

/** The values of an expression's variables. */
export type Bindings = Record<string, CelInput>;

/** A part of an expression that has a value. */
interface Term {
  /** The part as CEL writes it. */
  readonly text: string;
  /** Returns its value; an error of CEL, never a throw, when it has none. */
  evaluate(bindings: Bindings): CelResult;
}

/** An operand of a clause, and the paths by which it reads the request. */
interface Operand extends Term {
  readonly reads?: readonly (readonly Key[])[];
}

/** One of the parts that `&&` joins. */
export interface Clause extends Term {
  /** Its operands without constants: its value follows from theirs. */
  readonly operands: readonly Operand[];
  /** The paths by which it reads the request; absent where it is made of a list's clause, which names a field. */
  readonly reads?: Operand["reads"];
  /**
   * Explains why the clause does not hold, given the first operand's value. A clause that has this is
   * false where an operand is an error, and the operand is then called missing.
   */
  explain?(value: CelResult): string | undefined;
  /** Returns the place of the clause, or of the part that has failed with an error. */
  locate?(value: CelResult): Position;
}

/** An expression that can be evaluated: it is true when all clauses are. */
export interface Expression {
  readonly clauses: readonly Clause[];
  /** The variables that it reads. */
  readonly variables: ReadonlySet<string>;
  /** The constant keys by which it reads the headers. */
  readonly headers: readonly string[];
  readonly cost: Cost;
}

/**
 * Compiles an expression whose value is a bool.
 *
 * @param variables the variables that it can read
 * @throws {ExpressionError} when it is too large, cannot be parsed, names an unknown variable or function,
 * or can never be a bool
 */
export function compile(
  source: string,
  variables: Readonly<Record<string, VariableType>>,
): Expression {
  const parsed = parseExpression(source);
  const { problem, used } = checkExpression(parsed, variables, environment.funcs);
  if (problem !== undefined) {
    throw new ExpressionError(problem.detail, positionOf(problem.expr.id, parsed, source));
  }
  const clauses = flatten(parsed.expr, ["_&&_"]).map((expr, index): Clause => ({
    ...term(parsed, expr),
    reads: pathsIn(expr),
    operands: operandsOf(expr).map((operand) => ({
      ...term(parsed, operand),
      reads: pathsIn(operand),
    })),
    locate: (value) => locate(source, index, value),
  }));
  const headers = keysOf(parsed.expr, "headers");
  return { clauses, variables: used, headers, cost: costOf(parsed.expr) };
}

/**
 * Compiles an expression of any value.
 *
 * @throws {ExpressionError} when it is too large or cannot be parsed
 */
export function compileTerm(source: string): Term {
  const parsed = parseExpression(source);
  return term(parsed, parsed.expr);
}

/**
 * Returns one of the language's own conversions, such as `timestamp("…")`, as a function. The function
 * throws where the conversion is an error.
 */
export function conversion(functionName: string): (given: CelInput) => CelValue {
  const convert = plan(environment, parse(`${functionName}(given)`));
  return (given) => {
    const value = convert({ given });
    if (isCelError(value)) throw value;
    return value;
  };
}

/**
 * Parses an expression.
 *
 * @throws {ExpressionError} when it is too large or cannot be parsed
 */
export function parseExpression(source: string): ParsedExpression {
  if (new TextEncoder().encode(source).length > EXPRESSION_BYTES_MAX) {
    throw new ExpressionError(`Must have at most ${EXPRESSION_BYTES_MAX} bytes`);
  }
  const marked = markOptionals(source);
  try {
    // The package's parser needs the end of a comment's line.
    const parsed = parse(/\/\/.*$/.test(source) ? `${marked.source}\n` : marked.source);
    resolveOptionals(parsed, source, marked.places);
    nameQualified(parsed.expr);
    return parsed;
  } catch (error) {
    if (error instanceof MissingDefaultError) throw new ExpressionError(error.message);
    if (error instanceof RangeError) throw new ExpressionError("Is nested too deep");
    const message = messageOf(error);
    const [, line, column, detail = ""] = /^<input>:(\d+):(\d+): (.*)$/s.exec(message) ?? [];
    if (line === undefined) throw new ExpressionError(message);
    // A list of what could stand there instead is often most of the language.
    const short = detail.length > DETAIL_CHARACTERS_MAX
      ? detail.split(" but expecting ")[0]
      : detail;
    throw new ExpressionError(`Syntax error at line ${line}, column ${column}: ${short}`);
  }
}

function term(parsed: ParsedExpression, expr: Expr): Term {
  return { text: unparse({ ...parsed, expr }), evaluate: plan(environment, expr) };
}

/** Parses the expression again: its positions are not kept for the few that are asked for one. */
function locate(source: string, clause: number, value: CelResult): Position {
  const parsed = parseExpression(source);
  const expr = flatten(parsed.expr, ["_&&_"])[clause] ?? parsed.expr;
  const failed = isCelError(value) ? value.exprId : undefined;
  return positionOf(failed ?? expr.id, parsed, source);
}

/** Lists the operands of nested calls of some functions, in order. */
function flatten(expr: Expr, functions: readonly string[]): Expr[] {
  const { exprKind } = expr;
  return exprKind.case === "callExpr" && functions.includes(exprKind.value.function)
    ? exprKind.value.args.flatMap((arg) => flatten(arg, functions))
    : [expr];
}

function operandsOf(clause: Expr): Expr[] {
  return flatten(clause, ["_&&_", "_||_", "!_"]).flatMap((expr) => {
    const { exprKind: { case: kind, value } } = expr;
    if (kind === "callExpr") return value.target ? [value.target, ...value.args] : value.args;
    // A macro such as `exists`: the list that it goes through.
    if (kind === "comprehensionExpr") return value.iterRange ?? [];
    return expr === clause ? [] : [expr];
  }).filter((expr) => expr.exprKind.case !== "constExpr");
}
