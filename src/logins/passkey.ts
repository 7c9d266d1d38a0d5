/**
 * Facts about passkeys for which no library is loaded.
 *
 * @module
 */
import { isIP } from "node:net";
import { HooklaunchError } from "../platform/errors.ts";
import type { Grant } from "../store/records/passkeys.ts";

/** A passkey cannot be added, or opens nothing. */
export class PasskeyError extends HooklaunchError {
  override readonly code = "passkey_refused";

  /** @param detail what the library said; for the log alone */
  constructor(message: string, readonly detail = "") {
    super(message);
  }
}

/** Returns what passkeys are bound to: the host of the service's address; undefined where it is no name. */
export function relyingParty(baseUrl: string): { id: string; origin: string } | undefined {
  const { hostname, origin } = new URL(baseUrl);
  return isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? { id: hostname, origin } : undefined;
}

/** Tells whether two rest on the same token or person. */
export function hasSameGrounds(one: Grant, other: Grant): boolean {
  return one.token_hash === undefined
    ? one.person !== undefined && one.person === other.person
    : one.token_hash === other.token_hash;
}
