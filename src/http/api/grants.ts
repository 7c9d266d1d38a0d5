/**
 * The access on the grounds that somebody has: a token, or a login at an identity provider. Both are looked at with
 * each request, so that access ends with its grounds.
 *
 * @module
 */
import { hasSameGrounds } from "../../logins/passkey.ts";
import type { Clock } from "../../platform/clock.ts";
import {
  loginProviders,
  providerKey,
  providerRevision,
} from "../../store/records/login_providers.ts";
import { getPerson } from "../../store/records/people.ts";
import { getPasskey, type Grant } from "../../store/records/passkeys.ts";
import type { Store } from "../../store/store.ts";
import type { Access } from "./access.ts";

/** The length of a person's id in lists and in the audit log: the beginning of the key. */
const ID_LENGTH = 16;

/**
 * Returns what the token of a hash allows now; undefined when it is unknown, revoked or expired. It notes that
 * the token was used, unless `isUse` is false.
 */
export type TokenCheck = (
  hash: string,
  options?: { isUse?: boolean },
) => Promise<Access | undefined>;

/** Returns what somebody may do on some grounds now; undefined when these have ended. */
export type GrantCheck = (
  grant: Grant,
  options?: { isUse?: boolean },
) => Promise<Access | undefined>;

/** Makes the check of grounds. */
export function grantCheck(
  { store, clock }: { store: Store; clock: Pick<Clock, "now"> },
  checkToken: TokenCheck,
): GrantCheck {
  const accessOf = async ({ token_hash, person }: Grant, options?: { isUse?: boolean }) => {
    if (token_hash !== undefined) return await checkToken(token_hash, options);
    return person === undefined ? undefined : await personAccess(store, person, clock.now());
  };
  return async (grant, options) => {
    const access = await accessOf(grant, options);
    if (access === undefined || grant.passkey === undefined) return access;
    const passkey = await getPasskey(store, grant.passkey);
    if (passkey === undefined || !hasSameGrounds(passkey, grant)) return undefined;
    // A token is that of several people: each has a name of its own, beside that of the token.
    const isOfToken = passkey.token_hash !== undefined;
    return { ...access, ...(isOfToken && { name: `${passkey.owner} (${access.name})` }) };
  };
}

/** Tells whether somebody may still do the same as before; false once there is no access any more. */
export function isSameAccess(now: Access | undefined, before: Access): boolean {
  const [one, other] = [now, before].map((each) =>
    JSON.stringify([each?.scope, each?.triggers, each?.projects])
  );
  return one === other;
}

/** Returns the access of a person; undefined when the last login at the issuer is too old, or its settings have changed. */
async function personAccess(
  store: Store,
  key: string,
  now_ms: number,
): Promise<Access | undefined> {
  const person = await getPerson(store, key);
  if (person === undefined || !(Date.parse(person.expires_at) > now_ms)) return undefined;
  const providers = await loginProviders(store);
  const provider = providers.find((each) => providerKey(each) === person.provider);
  if (provider === undefined || providerRevision(provider) !== person.revision) return undefined;
  const { name, issuer, subject, scope, triggers, projects } = person;
  return {
    id: key.slice(0, ID_LENGTH),
    name,
    issuer,
    subject,
    scope,
    ...(triggers && { triggers }),
    ...(projects && { projects }),
  };
}
