/**
 * Checking the token of a request, for the condition `jwt`.
 *
 * @module
 */
import { withoutPrefix } from "../authorization.ts";
import type { Check, HeadCheck, Refusal } from "../check.ts";
import type { ConditionContext } from "../condition.ts";
import { describeField, isInHead, readHeadField, readText } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { describeMissing, resolveSecrets } from "../secret.ts";
import { checkBodyClaim, claimsIn, keepClaims } from "./claims.ts";
import { keyFinder, readTokenHeader } from "./key_finder.ts";
import type { JwtSettings } from "./settings.ts";
import { verifyToken, WRONG_SIGNATURE } from "./verify.ts";

/** Makes the check of a condition `jwt`. */
export function jwtCheck(settings: JwtSettings, context: ConditionContext): Check {
  const secrets = resolveSecrets(settings.secrets ?? [], context.env);
  const findKeys = keyFinder(settings, secrets, context);
  const expected = describeToken(settings);

  return async (request) => {
    const read = tokenOf(readText(request, settings), settings);
    if (typeof read !== "string") return { expected, ...read };
    const header = readTokenHeader(read, settings.algorithms);
    if ("reason" in header) return { expected, ...header };
    const keys = await findKeys(header);
    if (!Array.isArray(keys)) return { expected, ...keys };
    // Every key is tried, even after one that fits, so that the time does not tell which it is.
    const refusals = await Promise.all(
      keys.map((key) => verifyToken(read, key, settings, request.receivedAt_ms)),
    );
    if (refusals.includes(undefined)) return checkVerified(read, request, settings);
    // The refusal by a key that verified the signature says more than the others.
    const refusal = refusals.find((refusal) => refusal !== WRONG_SIGNATURE);
    return refusal ??
      { reason: `${WRONG_SIGNATURE.reason}${describeMissing(secrets)}`, expected };
  };
}

/** Checks what a verified token says of the body, and keeps its claims for filters. */
function checkVerified(
  token: string,
  request: LaunchRequest,
  { body_hash }: JwtSettings,
): Refusal | undefined {
  const claims = claimsIn(token);
  const refusal = body_hash ? checkBodyClaim(claims, body_hash, request.body) : undefined;
  if (refusal === undefined) keepClaims(request, claims);
  return refusal;
}

/** Makes the check of a token before the body is read; undefined where the body holds it. */
export function jwtHeadCheck(settings: JwtSettings): HeadCheck | undefined {
  if (!isInHead(settings)) return undefined;
  const expected = describeToken(settings);
  return (head) => {
    const read = tokenOf(readHeadField(head, settings), settings);
    const header = typeof read === "string" ? readTokenHeader(read, settings.algorithms) : read;
    return "reason" in header ? { expected, ...header } : undefined;
  };
}

function describeToken({ algorithms, prefix = "" }: JwtSettings): string {
  const token = `a JWT signed with ${algorithms.join(" or ")}`;
  return prefix === "" ? token : `${JSON.stringify(prefix)} and ${token}`;
}

function tokenOf(text: string | Refusal, settings: JwtSettings): string | Refusal {
  if (typeof text !== "string") return text;
  return withoutPrefix(text, settings.prefix ?? "") ??
    { reason: `${describeField(settings)} does not begin with the prefix` };
}
