/**
 * The credentials that filters and keys read. Each delivery that passes tells a little about them, so enough
 * deliveries would tell a limited admin a secret that it may not see.
 *
 * @module
 */
import { readsCredential } from "../../conditions/cel/credential_paths.ts";
import type { CredentialField } from "../../conditions/field.ts";
import { handshakeCredentials } from "../../conditions/handshake/settings.ts";
import { credentialsOf, readsOf, readsOfExpression } from "../../conditions/mod.ts";
import { SECRET_MASK } from "../../conditions/secret.ts";
import { ForbiddenError } from "../../platform/errors.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import { referenceHolders } from "../../triggers/secrets.ts";
import type { TriggerSettings } from "../../triggers/trigger.ts";
import { type Access, isLimited, refused } from "./access.ts";

/** The parts of a trigger that decide about deliveries. */
type Deciding = Pick<TriggerSettings, "conditions" | "handshakes">;

/**
 * Checks that a limited token brings no filter, key, schema or handshake that reads what is compared with a secret
 * which the token has not sent itself. Those that are there stay.
 *
 * @throws {ForbiddenError} when one does
 */
export function requireUnreadCredentials(
  access: Access,
  written: Deciding,
  current: Deciding | undefined,
): void {
  if (!isLimited(access)) return;
  const hidden = hiddenCredentials(written);
  if (hidden.length === 0) return;
  const known = new Set(current && readersOf(current).map(({ form }) => form));
  const found = readersOf(written).find(({ form, reads }) =>
    !known.has(form) && readsCredential(reads(), hidden)
  );
  if (found === undefined) return;
  throw new ForbiddenError(
    `${
      refused(access).message
    }: ${found.at} reads a credential whose secret it may not see, and would tell it ` +
      "bit by bit. Let it read other fields",
  );
}

/** Returns the fields that are compared with secrets of the service, or with stored ones. */
function hiddenCredentials({ conditions, handshakes = [] }: Deciding): CredentialField[] {
  const isHidden = (holder: object) =>
    JSON.stringify(holder).includes(SECRET_MASK) || referenceHolders({ holder }).length > 0;
  const holders = conditions.filter((each) => "secrets" in each && isHidden(each));
  return [
    ...holders.length === 0 ? [] : credentialsOf(holders),
    ...handshakeCredentials(handshakes.filter(isHidden)),
  ];
}

/** The parts that look at requests, each with its pointer and all that it says. */
function readersOf(
  { conditions, handshakes = [] }: Deciding,
): { at: string; form: string; reads(): ReturnType<typeof readsOf> }[] {
  const ofConditions = conditions.map((each, index) => ({
    at: pointer("conditions", String(index)),
    form: JSON.stringify(each),
    reads: () => readsOf(each),
  }));
  const ofHandshakes = handshakes.map(({ secret: _secret, ...each }, index) => ({
    at: pointer("handshakes", String(index)),
    form: JSON.stringify(each),
    reads: () => each.when === undefined ? [] : readsOfExpression(each.when),
  }));
  return [...ofConditions, ...ofHandshakes];
}
