/**
 * Authentication of the operators' API: `Authorization: Bearer <token>`, or `Token <token>`.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Context, MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { isAnyOf } from "../../conditions/secret.ts";
import type { Store } from "../../store/store.ts";
import { getToken } from "../../store/records/tokens.ts";
import { problem } from "../problem.ts";

const TOKEN_LENGTH_MAX = 512;

/** Checks that a token is known now: a stored token may be revoked. */
export type TokenCheck = (token: string | undefined) => Promise<boolean>;

/**
 * Makes the check of operators' tokens.
 *
 * @param environmentToken `HOOKLAUNCH_ADMIN_TOKEN`, if set
 */
export function tokenCheck(store: Store, environmentToken: string | undefined): TokenCheck {
  const expected = environmentToken === undefined
    ? []
    : [hash("sha256", environmentToken, "buffer")];
  return async (token) =>
    token !== undefined &&
    (isAnyOf(hash("sha256", token, "buffer"), expected) ||
      await getToken(store, token) !== undefined);
}

/** Passes on requests with a known token, and answers 401 to all others. */
export function requireToken(isKnown: TokenCheck): MiddlewareHandler {
  return async function requireToken(context, next) {
    if (await isKnown(tokenOf(context))) return await next();
    return problem(STATUS_CODE.Unauthorized, {
      detail: "Send an operator's token as: Authorization: Bearer <token>",
      headers: { "www-authenticate": "Bearer" },
    });
  };
}

/** Returns the token of a request; undefined when there is none. */
export function tokenOf(context: Context): string | undefined {
  const header = context.req.header("authorization") ?? "";
  const token = /^(?:bearer|token) +(\S+)$/i.exec(header)?.[1];
  return token !== undefined && token.length <= TOKEN_LENGTH_MAX ? token : undefined;
}
