/**
 * The claims of a request's token, for payload filters. They are there once the token is verified, and are kept
 * nowhere.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { parseExactJson } from "../../platform/text/exact_json.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import type { Refusal } from "../check.ts";
import { isAnyOf } from "../secret.ts";

const NO_CLAIMS = {};
const verified = new WeakMap<object, unknown>();

/** Returns the claims of a token in compact form, whose integers are exact. */
export function claimsIn(token: string): unknown {
  return parseExactJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

/** Keeps the claims of a token that was verified, as long as the request lives. The first token counts. */
export function keepClaims(request: object, claims: unknown): void {
  if (!verified.has(request)) verified.set(request, claims);
}

/** Returns the claims of a request's token; none where no token was verified. */
export function claimsOf(request: object): unknown {
  return verified.get(request) ?? NO_CLAIMS;
}

/** Refuses a token of which a claim is not the SHA-256 of the body, in hex, base64 or base64url. */
export function checkBodyClaim(
  claims: unknown,
  name: string,
  body: Uint8Array,
): Refusal | undefined {
  const text = childOf(claims, name);
  if (text === undefined) return { reason: `The token has no claim '${name}'` };
  const readings = typeof text === "string"
    ? [Buffer.from(text, "hex"), Buffer.from(text, "base64url")]
    : [];
  if (isAnyOf(hash("sha256", body, "buffer"), readings)) return undefined;
  return {
    reason: `The claim '${name}' of the token does not hold`,
    expected: "the SHA-256 of the body, in hex, base64 or base64url",
  };
}
