/**
 * The fields that a handshake compares with its secret: they carry credentials, as those of conditions do.
 *
 * @module
 */
import { type Key, pathsIn } from "../cel/paths.ts";
import { childrenOf, type Expr } from "../cel/syntax.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import type { CredentialField } from "../field.ts";
import { isSecretNode, isSigning } from "./nodes.ts";

const PLACES = { body: "body", headers: "header", query: "query" } as const;
const COMPARISONS = new Set(["_==_", "_!=_"]);

/** Lists the fields that an expression compares with the secret, or with a signature by it. */
export function secretFieldsOf(expr: Expr): CredentialField[] {
  return comparisonsIn(expr).flat().flatMap(pathsIn).map(fieldOf)
    .filter((field) => field !== undefined);
}

/** Finds what is compared with the secret and reads no named field: no log could leave its value out. */
export function unnamedIn(expr: Expr): Expr | undefined {
  const compared = comparisonsIn(expr).filter((sides) => sides.some(isSecretNode)).flat();
  return compared.find((side) =>
    !isSecretNode(side) && pathsIn(side).some((path) => fieldOf(path) === undefined)
  );
}

/** Lists the sides of each comparison with the secret or a signature. */
function comparisonsIn(expr: Expr): Expr[][] {
  const { case: kind, value } = expr.exprKind;
  const isOne = kind === "callExpr" && COMPARISONS.has(value.function) &&
    value.args.some((side) => isSecretNode(side) || isSigning(side));
  return [...isOne ? [value.args] : [], ...childrenOf(expr).flatMap(comparisonsIn)];
}

function fieldOf([variable, ...keys]: readonly Key[]): CredentialField | undefined {
  const [name] = keys;
  if (name === undefined || !isPlace(variable)) return undefined;
  const place = PLACES[variable];
  return { in: place, name: place === "body" ? pointer(...keys) : String(name) };
}

function isPlace(variable: Key | undefined): variable is keyof typeof PLACES {
  return typeof variable === "string" && Object.hasOwn(PLACES, variable);
}
