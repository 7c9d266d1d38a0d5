/**
 * The headers of the console's answers, and the check of where a form comes from.
 *
 * @module
 */
import { ForbiddenError } from "../../platform/errors.ts";

/** Makes a nonce for one answer. */
export function newNonce(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toBase64();
}

/** Returns the headers of a page: it loads nothing but its own script and stylesheet, and shows in no frame. */
export function pageHeaders(nonce: string): Record<string, string> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
  };
}

/**
 * Checks that a form was sent by a page of the console: a browser names the page's origin with each change.
 *
 * @param ownOrigins the origins of the service as browsers see it
 * @throws {ForbiddenError} when it names none, or another
 */
export function requireOwnOrigin(headers: Headers, ownOrigins: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin !== null && ownOrigins.includes(origin)) return;
  throw new ForbiddenError(
    `Expected a form of ${ownOrigins.join(" or ")}, found ${origin ?? "no header Origin"}. ` +
      "Open the console at this address, or set --public-url to the one that you use",
  );
}
