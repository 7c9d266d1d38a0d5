/**
 * Passkeys: the public keys with which people log in to the console. A passkey rests on the login of the session that
 * added it: a token, or a person at an identity provider. It opens what that opens, as long as it does.
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The grounds on which somebody has access: a token, or a login at an identity provider. */
export interface Grant {
  /** The SHA-256 of a token, in hex. */
  token_hash?: string;
  /** The key of a person. */
  person?: string;
  /** The key of the passkey that stands for either, and ends with it. */
  passkey?: string;
}

/** A passkey. All times are RFC 3339. */
export interface Passkey extends Omit<Grant, "passkey"> {
  /** The id of the credential, in base64url. */
  credential: string;
  /** The name of the device or the key. */
  name: string;
  /** The name of who uses it. */
  owner: string;
  /** The public key (COSE), in base64url. */
  public_key: string;
  /** The number of its uses as the authenticator counts them; 0 for those that do not count. */
  counter: number;
  transports: string[];
  created_at: string;
  last_used_at?: string;
  /** The challenges of the last logins, each with its end in milliseconds since the epoch: none serves twice. */
  used: [challenge: string, until_ms: number][];
}

/** A stored passkey, as operators see it. */
export interface ListedPasskey extends Passkey {
  /** The beginning of its key. */
  id: string;
}

const ID_LENGTH = 16;

/** Changes of passkeys, one after the other: what was read is what is changed. */
let latest: Promise<unknown> = Promise.resolve();

/** Runs a change of passkeys between two others: none stores again what another has removed. */
export function betweenPasskeys<T>(act: () => Promise<T>): Promise<T> {
  const result = latest.then(act);
  latest = result.catch(() => undefined);
  return result;
}

/** Returns the key of a passkey: the SHA-256 of its credential's id, in hex. */
export function passkeyKey(credential: string): string {
  return hash("sha256", credential);
}

/** Reads a passkey; undefined when there is none, or its record is damaged. */
export async function getPasskey(store: Store, key: string): Promise<Passkey | undefined> {
  const value = await readValue(store.kv, keys.passkey(key));
  return isPasskey(value) ? value : undefined;
}

/** Stores a passkey, within {@linkcode betweenPasskeys}. It resolves when the record is on disk. */
export async function putPasskey(store: Store, passkey: Passkey): Promise<void> {
  const key = keys.passkey(passkeyKey(passkey.credential));
  await store.committer.write([{ key, value: passkey }]);
}

/** Lists all passkeys. */
export async function listPasskeys(store: Store): Promise<ListedPasskey[]> {
  const found: ListedPasskey[] = [];
  for await (const { key, value } of scan(store.kv, ["passkey"])) {
    if (isPasskey(value)) found.push({ id: String(key[1]).slice(0, ID_LENGTH), ...value });
  }
  return found;
}

/**
 * Removes a passkey: it opens nothing from then on, and its sessions end.
 *
 * @returns the passkey; undefined when it does not exist
 */
export function removePasskey(store: Store, id: string): Promise<ListedPasskey | undefined> {
  return betweenPasskeys(async () => {
    const found = (await listPasskeys(store)).find((each) => each.id === id);
    if (found === undefined) return undefined;
    await store.committer.write([{ key: keys.passkey(passkeyKey(found.credential)) }]);
    return found;
  });
}

/** Removes the passkeys that rest on a token. */
export async function removePasskeysOf(store: Store, token_hash: string): Promise<void> {
  const own = (await listPasskeys(store)).filter((each) => each.token_hash === token_hash);
  for (const { id } of own) await removePasskey(store, id);
}

function isPasskey(value: unknown): value is Passkey {
  const { credential, name, owner, public_key, counter, transports, used, token_hash, person } =
    Object(value);
  return [credential, name, owner, public_key, token_hash ?? person]
    .every((each) => typeof each === "string") &&
    typeof counter === "number" && Array.isArray(transports) && Array.isArray(used);
}
