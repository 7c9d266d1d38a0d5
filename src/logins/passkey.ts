/**
 * Facts about passkeys for which no library is loaded.
 *
 * @module
 */
import { isIP } from "node:net";
import { HooklaunchError } from "../platform/errors.ts";
import { type Grant, type Passkey, passkeyKey } from "../store/records/passkeys.ts";

/** A passkey cannot be added, or opens nothing. */
export class PasskeyError extends HooklaunchError {
  override readonly code = "passkey_refused";

  /** @param detail what the library said; for the log alone */
  constructor(message: string, readonly detail = "") {
    super(message);
  }
}

/** A passkey was used whose count of uses has not gone on: somebody may have copied it. */
export class CopiedPasskeyError extends PasskeyError {
  /**
   * @param passkey the passkey as it is stored
   * @param counter the number of its uses that came
   */
  constructor(readonly passkey: Passkey, readonly counter: number) {
    super(
      "This passkey has been used more often than this device knows, so it may have been copied: remove it, and " +
        "add another one",
      `counter ${counter}, expected more than ${passkey.counter}`,
    );
  }
}

/** Returns the grounds of access that a passkey stands for. */
export function grantOfPasskey({ credential, token_hash, person }: Passkey): Grant {
  const grounds = token_hash === undefined ? { person: person ?? "" } : { token_hash };
  return { ...grounds, passkey: passkeyKey(credential) };
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
