/**
 * Authentication of the operators' API: `Authorization: Bearer <token>`, or `Token <token>`.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { getLogger } from "@logtape/logtape";
import { STATUS_CODE } from "@std/http/status";
import { isAnyOf } from "../../conditions/secret.ts";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Grant } from "../../store/records/passkeys.ts";
import type { Store } from "../../store/store.ts";
import {
  getToken,
  lesserScope,
  noteTokenUse,
  tokenHash,
  tokenId,
} from "../../store/records/tokens.ts";
import { problem } from "../problem.ts";
import type { Access } from "./access.ts";
import { type GrantCheck, grantCheck, isSameAccess, type TokenCheck } from "./grants.ts";
import type { WrongTokens } from "./wrong_tokens.ts";

/** The longest token that is looked up. */
export const TOKEN_LENGTH_MAX = 512;
/** Least time between two notes of a token's last use. */
const USE_NOTED_MS = 60_000;
const USES_MAX = 1_000;

const log = getLogger(["hooklaunch", "api"]);

/**
 * Makes the check of operators' tokens.
 *
 * @param environmentToken `HOOKLAUNCH_ADMIN_TOKEN`, if set
 */
export function tokenCheck(
  { store, clock }: { store: Store; clock: Clock },
  environmentToken: string | undefined,
): TokenCheck {
  const expected = environmentToken === undefined ? [] : [bytesOf(tokenHash(environmentToken))];
  const noted = new Map<string, number>();
  const noteUse = (hash: string) => {
    const now_ms = clock.now();
    if (now_ms - (noted.get(hash) ?? -Infinity) < USE_NOTED_MS) return;
    noted.delete(hash);
    noted.set(hash, now_ms);
    evictOldest(noted, USES_MAX);
    noteTokenUse(store, hash, new Date(now_ms).toISOString()).catch((error) =>
      log.warn("Cannot note the use of a token: {error}", { error: messageOf(error) })
    );
  };
  const check: TokenCheck = async (hash, { isUse = true } = {}) => {
    if (isAnyOf(bytesOf(hash), expected)) {
      return { name: "HOOKLAUNCH_ADMIN_TOKEN", scope: "admin" };
    }
    const found = await getToken(store, hash);
    if (found === undefined || Date.parse(found.expires_at ?? "") <= clock.now()) return undefined;
    if (isUse) noteUse(hash);
    const { name, scope = "admin", triggers, projects, granted_by } = found;
    if (granted_by !== undefined) {
      const access = await checkGrant(granted_by, { isUse: false });
      return access && { ...access, id: tokenId(hash), scope: lesserScope(scope, access.scope) };
    }
    return {
      id: tokenId(hash),
      name,
      scope,
      ...(triggers && { triggers }),
      ...(projects && { projects }),
    };
  };
  const checkGrant = grantCheck({ store, clock }, check);
  return check;
}

/** The values that a request carries after its token was checked. */
export interface Authenticated {
  /** Set for a page that is shown already, and loaded again because something has changed. */
  isRefresh?: boolean;
  access: Access;
  /** The grounds of the access. */
  grant: Grant;
  remoteIp: string;
  /** Checks the token again: it may have been revoked since the request came, or may allow something else. */
  isAllowed(): Promise<boolean>;
}

/** The parts that {@linkcode requireToken} uses. */
interface TokenParts {
  check: TokenCheck;
  checkGrant: GrantCheck;
  wrong: WrongTokens;
  ipOf(context: Context): string;
  /** Returns the grounds that another instance has checked for a page of the console; undefined elsewhere. */
  grantOf(context: Context): Grant | undefined;
}

/**
 * Passes on requests with a known token, and answers 401 to all others. A network that sends many wrong
 * tokens is answered 429 for a while.
 */
export function requireToken(
  { check, checkGrant, wrong, ipOf, grantOf }: TokenParts,
): MiddlewareHandler<{ Variables: Authenticated }> {
  return async function requireToken(context, next) {
    const remoteIp = ipOf(context);
    const grant = grantOf(context);
    const granted = grant && await checkGrant(grant);
    if (grant && granted) {
      context.set("access", granted);
      context.set("grant", grant);
      context.set("remoteIp", remoteIp);
      context.set("isAllowed", async () => isSameAccess(await checkGrant(grant), granted));
      return await next();
    }
    const token = tokenOf(context);
    const hash = token === undefined ? undefined : tokenHash(token);
    const { found: access, wait_s } = hash === undefined
      ? { wait_s: 0 }
      : await wrong.look(remoteIp, () => check(hash));
    if (hash !== undefined && access !== undefined) {
      context.set("access", access);
      context.set("grant", { token_hash: hash });
      context.set("remoteIp", remoteIp);
      context.set("isAllowed", async () => isSameAccess(await check(hash), access));
      return await next();
    }
    if (wait_s > 0) {
      return problem(STATUS_CODE.TooManyRequests, {
        detail: `Too many wrong tokens came from ${remoteIp}. Try again in ${wait_s} s`,
        headers: { "retry-after": String(wait_s) },
      });
    }
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

function bytesOf(hash: string): Uint8Array {
  return Uint8Array.fromHex(hash);
}
