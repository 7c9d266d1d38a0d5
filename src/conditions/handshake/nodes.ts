/**
 * The nodes of a handshake's expressions that mean its secret.
 *
 * @module
 */
import { childrenOf, type Expr } from "../cel/syntax.ts";

/** The functions that sign with the secret. */
export const SIGNS: readonly string[] = ["hmac_sha256_hex", "hmac_sha256_base64"];

/** Tells whether a node is the secret. */
export function isSecretNode({ exprKind }: Expr): boolean {
  return exprKind.case === "identExpr" && /^\.?secret$/.test(exprKind.value.name);
}

/** Tells whether an expression signs with the secret. */
export function isSigning(expr: Expr): boolean {
  const { case: kind, value } = expr.exprKind;
  return kind === "callExpr" && SIGNS.includes(value.function) || childrenOf(expr).some(isSigning);
}
