/**
 * The expressions of handshakes: those of payload filters, over the method and a secret, too. The secret is
 * compared in constant time, and signs texts that cannot be requests. It has no other use, so that no answer
 * holds it.
 *
 * @module
 */
import {
  celEnv,
  celFunc,
  type CelResult,
  CelScalar,
  type CelValue,
  isCelError,
  plan,
} from "@bufbuild/cel";
import { createHmac, hash } from "node:crypto";
import { checkExpression, checkNames } from "../cel/check.ts";
import { costOf, type InputSize, isShortWork } from "../cel/cost.ts";
import { type Bindings, ExpressionError, parseExpression } from "../cel/expression.ts";
import { environment } from "../cel/functions.ts";
import { FilterLimitError } from "../cel/pattern.ts";
import { childrenOf, type Expr, positionOf } from "../cel/syntax.ts";
import { filterVariables } from "../cel/variables.ts";
import { isAnyOf } from "../secret.ts";
import { unnamedIn } from "./credentials.ts";
import { isSecretNode, SIGNS } from "./nodes.ts";
import { HANDSHAKE_BODY_BYTES_MAX, SIGNED_TOKEN } from "./row.ts";

const { BOOL, BYTES, DYN, STRING } = CelScalar;
const LARGEST: InputSize = { values: HANDSHAKE_BODY_BYTES_MAX / 2, text: 64 * 1024 };

/** The variables of a handshake's expressions. */
export const handshakeVariables = { ...filterVariables, method: "string", secret: "dyn" } as const;

/** Comparisons with the secret are renamed to these. */
const COMPARES: Readonly<Record<string, string>> = { "_==_": "@is_secret", "_!=_": "@no_secret" };

const handshakeEnvironment = celEnv({
  funcs: [
    ...environment.funcs,
    celFunc("@is_secret", [DYN, DYN], BOOL, isSame),
    celFunc("@no_secret", [DYN, DYN], BOOL, (one, other) => !isSame(one, other)),
    celFunc("hmac_sha256_hex", [BYTES, STRING], STRING, (key, text) => macOf(key, text, "hex")),
    celFunc(
      "hmac_sha256_base64",
      [BYTES, STRING],
      STRING,
      (key, text) => macOf(key, text, "base64"),
    ),
  ],
});

/** An expression of a handshake. */
export interface HandshakeExpression {
  readonly source: string;
  readonly expr: Expr;
  readonly variables: ReadonlySet<string>;
  evaluate(bindings: Bindings): CelResult;
}

/**
 * Compiles an expression.
 *
 * @throws {ExpressionError} when it cannot be used, or could take longer than a few milliseconds
 */
export function compileHandshake(source: string, isBool: boolean): HandshakeExpression {
  const parsed = parseExpression(source);
  const check = isBool ? checkExpression : checkNames;
  const { problem, used } = check(parsed, handshakeVariables, handshakeEnvironment.funcs);
  const fault = problem ?? secretProblem(parsed.expr) ?? unnamedProblem(parsed.expr);
  if (fault) throw new ExpressionError(fault.detail, positionOf(fault.expr.id, parsed, source));
  const { expr } = parsed;
  // Another tree is planned: the first one stays as it was written.
  const planned = parseExpression(source).expr;
  renameComparisons(planned);
  if (!isShortWork(costOf(planned), LARGEST)) {
    throw new ExpressionError("Takes too long: compare values one by one, without a macro");
  }
  return { source, expr, variables: used, evaluate: plan(handshakeEnvironment, planned) };
}

/** Returns the text of a value that an answer may hold; undefined for any other. */
export function textOf(value: CelResult): string | undefined {
  if (isCelError(value)) return undefined;
  return ["bigint", "boolean", "number", "string"].includes(typeof value)
    ? String(value)
    : undefined;
}

/** Finds a use of the secret that could tell it. */
function secretProblem(expr: Expr): { detail: string; expr: Expr } | undefined {
  const { case: kind, value } = expr.exprKind;
  const mayHold = (index: number) =>
    kind === "callExpr" &&
    (Object.hasOwn(COMPARES, value.function) || SIGNS.includes(value.function) && index === 0);
  for (const [index, child] of childrenOf(expr).entries()) {
    if (isSecretNode(child) && mayHold(index)) continue;
    const problem = secretProblem(child);
    if (problem) return problem;
  }
  if (!isSecretNode(expr)) return undefined;
  const detail = `'secret' may only be compared by == or !=, or be the key of ${SIGNS.join(", ")}`;
  return { detail, expr };
}

function unnamedProblem(expr: Expr): { detail: string; expr: Expr } | undefined {
  const other = unnamedIn(expr);
  const detail =
    "'secret' may only be compared with a field of a constant name, such as query.token";
  return other && { detail, expr: other };
}

function renameComparisons(expr: Expr): void {
  const { case: kind, value } = expr.exprKind;
  if (kind === "callExpr" && value.args.some(isSecretNode)) {
    value.function = COMPARES[value.function] ?? value.function;
  }
  childrenOf(expr).forEach(renameComparisons);
}

/** Compares digests, so that the time tells nothing of the secret's content or length. */
function isSame(one: CelValue, other: CelValue): boolean {
  const [digest, otherDigest] = [digestOf(one), digestOf(other)];
  return digest !== undefined && otherDigest !== undefined && isAnyOf(digest, [otherDigest]);
}

function digestOf(value: CelValue): Uint8Array | undefined {
  return typeof value === "string" || value instanceof Uint8Array
    ? hash("sha256", value, "buffer")
    : undefined;
}

function macOf(key: Uint8Array, text: string, encoding: "hex" | "base64"): string {
  // For another text it could be the signature of a request.
  if (!SIGNED_TOKEN.test(text)) throw new FilterLimitError("no text that a handshake signs");
  return createHmac("sha256", key).update(text).digest(encoding);
}
