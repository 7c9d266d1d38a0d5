/**
 * Encrypting stored secrets with a new key.
 *
 * @module
 */
import type { Store } from "../store/store.ts";
import {
  allStoredTriggers,
  putStoredTrigger,
  type StoredTrigger,
} from "../store/records/triggers.ts";
import { getHead, headWrite, keptRequests } from "../store/records/kept_requests.ts";
import { LockedSecretError, openSecrets, sealSecrets, type SecretBox, tryOpen } from "./secrets.ts";

/**
 * Encrypts the secrets of all triggers with the current key. No service may use the database meanwhile.
 *
 * @returns the number of triggers
 * @throws {LockedSecretError} when a secret cannot be decrypted with any of the keys
 */
export async function sealAgain(store: Store, secrets: SecretBox): Promise<number> {
  let count = 0;
  for await (const stored of allStoredTriggers(store)) {
    const settings = sealSecrets(opened(stored, secrets), secrets, stored.id);
    await putStoredTrigger(store, { ...stored, settings });
    count++;
  }
  await sealKeptAgain(store, secrets);
  return count;
}

/** Encrypts the heads of kept requests with the current key. One that cannot be decrypted stays useless. */
async function sealKeptAgain(store: Store, secrets: SecretBox): Promise<void> {
  for await (const { triggerId, entryId } of keptRequests(store)) {
    const sealed = await getHead(store, entryId);
    const head = sealed && tryOpen(sealed, secrets, triggerId);
    if (head === undefined) continue;
    await store.committer.write([headWrite(entryId, secrets.seal(head, triggerId))]);
  }
}

/** @throws {LockedSecretError} with the trigger's name, and what to do */
function opened({ id, name, settings }: StoredTrigger, secrets: SecretBox): unknown {
  try {
    return openSecrets(settings, secrets, id);
  } catch (error) {
    if (!(error instanceof LockedSecretError)) throw error;
    throw new LockedSecretError(
      `Cannot encrypt the secrets of trigger "${name}" with the new key: ${error.message} ` +
        "Name the key that encrypted them too, save the trigger with its secrets again, or delete it",
      { cause: error },
    );
  }
}
