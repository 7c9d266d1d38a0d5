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
import { PENDING_KINDS, pendingIn, pendingWrite } from "../store/records/runs.ts";
import {
  allOpenHttpRequests,
  getHttpRequest,
  getHttpRequestPlan,
  planWrites,
} from "../store/records/http_requests.ts";
import { scan } from "../store/read/scan.ts";
import {
  LockedSecretError,
  mapLiterals,
  openSecrets,
  sealSecrets,
  type SecretBox,
  tryOpen,
} from "./secrets.ts";

/**
 * Encrypts the secrets of all triggers, and of the work that they have accepted, with the current key. No service may
 * use the database meanwhile.
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
  await sealWorkAgain(store, secrets);
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

/**
 * Encrypts the secrets of accepted work with the current key: those of the actions of runs that have not ended, and of
 * HTTP requests that are still sent.
 */
async function sealWorkAgain(store: Store, secrets: SecretBox): Promise<void> {
  for (const kind of new Set(PENDING_KINDS)) {
    for await (const entry of scan(store.kv, [kind], { ids: 2 })) {
      const pending = pendingIn(entry);
      if (pending === undefined) continue;
      const actions = sealedAgain(pending.actions, secrets, pending.run.trigger_id);
      if (actions === undefined) continue;
      await store.committer.write([pendingWrite(entry.key, { ...pending, actions })]);
    }
  }
  for (const id of await allOpenHttpRequests(store)) {
    const [request, plan] = [await getHttpRequest(store, id), await getHttpRequestPlan(store, id)];
    if (request === undefined || plan === undefined) continue;
    // Its secrets are where those of its action are.
    const [sealed] = sealedAgain([plan], secrets, request.trigger_id) ?? [];
    if (sealed !== undefined) await store.committer.write(planWrites(id, sealed));
  }
}

/** Encrypts the secrets of actions again; undefined where there are none. One that cannot be decrypted stays useless. */
function sealedAgain<Action>(
  actions: readonly Action[],
  secrets: SecretBox,
  owner: string,
): readonly Action[] | undefined {
  let hasAny = false;
  const sealed = mapLiterals({ actions }, (secret) => {
    const text = tryOpen(secret, secrets, owner);
    hasAny ||= text !== undefined;
    return text === undefined ? secret : secrets.seal(text, owner);
  });
  return hasAny ? sealed.actions : undefined;
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
