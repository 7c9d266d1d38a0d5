/**
 * Encrypting the secrets of notifiers with a new key.
 *
 * @module
 */
import { listNotifiers, notifierWrites } from "../store/records/notifiers.ts";
import type { Store } from "../store/store.ts";
import type { SecretBox } from "../triggers/secrets.ts";
import { NotifierSecrets } from "./secrets.ts";

/**
 * Encrypts the secrets of all notifiers with the current key. No service may use the database meanwhile.
 *
 * @throws {LockedSecretError} when a secret cannot be decrypted with any of the keys
 */
export async function sealNotifiersAgain(store: Store, box: SecretBox): Promise<void> {
  const secrets = new NotifierSecrets({ box, env: () => undefined });
  for (const notifier of await listNotifiers(store)) {
    await store.committer.write(notifierWrites(secrets.sealedAgain(notifier)));
  }
}
