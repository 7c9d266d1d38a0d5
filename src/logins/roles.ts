/**
 * The role of a person: the first whose condition holds for the claims of the login.
 *
 * @module
 */
import { compile, ExpressionError } from "../conditions/cel/expression.ts";
import { beginEvaluation } from "../conditions/cel/functions.ts";
import { fromJson } from "../conditions/cel/json.ts";
import type { Role } from "../store/records/login_providers.ts";

/** The claims of a login, by their names. */
export type Claims = Readonly<Record<string, unknown>>;

const VARIABLES = { claims: "map" } as const;
/** An expression and one macro in it: each goes through the claims once at most. */
const ROUNDS_MAX = 2;

/**
 * Checks the condition of a role.
 *
 * @throws {ExpressionError} when it cannot be used
 */
export function checkRole(when: string): void {
  const { cost } = compile(when, VARIABLES);
  if (cost.isUnbounded || cost.rounds.length > ROUNDS_MAX) {
    throw new ExpressionError("Goes through the claims more than once inside itself");
  }
}

/** Returns the first role whose condition is true. A condition that fails, such as over a missing claim, is not. */
export function roleOf(roles: readonly Role[], claims: Claims): Role | undefined {
  return roles.find(({ when }) => isTrue(when, claims));
}

function isTrue(when: string, claims: Claims): boolean {
  try {
    beginEvaluation();
    const bindings = { claims: fromJson(claims) };
    return compile(when, VARIABLES).clauses.every(({ evaluate }) => evaluate(bindings) === true);
  } catch {
    // Fails closed: whatever cannot be evaluated gives no access.
    return false;
  }
}
