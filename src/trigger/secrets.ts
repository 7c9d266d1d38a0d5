/**
 * Secrets at rest. In a trigger, every list named `secrets` holds secrets. A literal is encrypted
 * before it is stored and shown as a mask afterwards; `{env:NAME}` only names where the secret is,
 * so it is stored and shown as it is.
 *
 * @module
 */
import { HooklaunchError, InvalidInputError, type Problem } from "../errors.ts";
import { pointer } from "../schema.ts";
import { readSecretKeys } from "./secret_key.ts";

/** What the API shows in place of a stored secret. Writing it back keeps what is stored. */
export const SECRET_MASK = "********";

const NONCE_BYTES = 12;
const CIPHERTEXT_PREFIX = "aes-256-gcm:";
const ENV_REFERENCE = /^\{env:[^}]*\}$/;

/** A stored secret cannot be decrypted: the key is another one, or what is stored was changed or moved. */
export class LockedSecretError extends HooklaunchError {
  override readonly code = "locked_secret";
}

/** Encrypts and decrypts secrets with AES-256-GCM (NIST SP 800-38D). */
export interface SecretBox {
  /** @param owner the id of what the secret belongs to; it decrypts for this owner alone */
  seal(secret: string, owner: string): Promise<string>;
  /** @throws {LockedSecretError} when the key is another one, or the text was changed or moved */
  open(sealed: string, owner: string): Promise<string>;
}

/**
 * Makes the box from `HOOKLAUNCH_SECRET_KEY`, or from the key file of the data folder, which is made
 * with mode 0600 when it is missing.
 *
 * @param fromEnvironment 32 bytes in base64 or hex, or undefined to use the file
 * @throws {InvalidInputError} when the key has another form
 */
export async function openSecretBox(
  folder: string,
  fromEnvironment: string | undefined,
): Promise<SecretBox> {
  const raw = await readSecretKeys(folder, fromEnvironment);
  const [current, ...previous] = await Promise.all(raw.map(importKey));
  if (current === undefined) throw new RangeError("Cannot encrypt without a key");
  return {
    async seal(secret, owner) {
      const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const sealed = new Uint8Array(
        await crypto.subtle.encrypt(
          { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) },
          current,
          new TextEncoder().encode(secret),
        ),
      );
      return CIPHERTEXT_PREFIX + new Uint8Array([...iv, ...sealed]).toBase64();
    },
    async open(sealed, owner) {
      // While a key is being changed, some secrets are still under the one before.
      for (const key of [current, ...previous]) {
        const plain = await decrypt(sealed, owner, key);
        if (plain !== undefined) return plain;
      }
      throw new LockedSecretError("Cannot decrypt a secret: was it stored with another key?");
    },
  };
}

function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Undefined when the key is another one, or the text was changed or moved. */
async function decrypt(sealed: string, owner: string, key: CryptoKey): Promise<string | undefined> {
  try {
    const bytes = Uint8Array.fromBase64(sealed.slice(CIPHERTEXT_PREFIX.length));
    const iv = bytes.subarray(0, NONCE_BYTES);
    const parameters = { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) };
    const plain = await crypto.subtle.decrypt(parameters, key, bytes.subarray(NONCE_BYTES));
    return new TextDecoder().decode(plain);
  } catch {
    // WebCrypto says no more than that the tag does not fit.
    return undefined;
  }
}

/** Changes every secret in a value by a function that gets the secret and the pointer to it. */
export async function mapSecrets<T>(
  value: T,
  change: (secret: string, at: string) => Promise<string> | string,
): Promise<T> {
  // The shape stays as it is: only strings are replaced by strings.
  return await walk(value, "", false, change) as T;
}

/** Encrypts the literal secrets of a value. */
export function sealSecrets<T>(value: T, box: SecretBox, owner: string): Promise<T> {
  return mapSecrets(value, (secret) => isReference(secret) ? secret : box.seal(secret, owner));
}

/**
 * Decrypts what {@linkcode sealSecrets} encrypted.
 *
 * @throws {LockedSecretError} when one of them cannot be decrypted
 */
export function openSecrets<T>(value: T, box: SecretBox, owner: string): Promise<T> {
  return mapSecrets(value, (secret) => isReference(secret) ? secret : box.open(secret, owner));
}

/** A value of which some secrets may be locked. */
export interface Opened<T> {
  /** In the place of a locked secret it has an empty one, which matches nothing. */
  value: T;
  /** Pointers to the secrets that cannot be decrypted. */
  locked: readonly string[];
}

/** Decrypts what can be decrypted of what {@linkcode sealSecrets} encrypted. */
export async function openWhatOpens<T>(
  value: T,
  box: SecretBox,
  owner: string,
): Promise<Opened<T>> {
  const locked: string[] = [];
  const opened = await mapSecrets(value, async (secret, at) => {
    if (isReference(secret)) return secret;
    try {
      return await box.open(secret, owner);
    } catch (error) {
      if (!(error instanceof LockedSecretError)) throw error;
      locked.push(at);
      return "";
    }
  });
  return { value: opened, locked };
}

/** Puts the mask in place of the literal secrets of a value. */
export function maskSecrets<T>(value: T): Promise<T> {
  return mapSecrets(value, (secret) => isReference(secret) ? secret : SECRET_MASK);
}

/**
 * Puts stored secrets back where a new version of a value has the mask. A masked secret is the one at
 * its place in the list of a stored condition with the same settings, wherever that stood; else that
 * of the condition at the same place, if it is of the same type.
 *
 * @param stored the value that is stored, its secrets in clear; undefined when there is none
 * @throws {InvalidInputError} where the mask stands for nothing, or for a secret that is locked
 */
export async function unmaskSecrets<T>(
  value: T,
  stored: Opened<unknown> | undefined,
  what: string,
): Promise<T> {
  const bySettings = new Map<string, StoredSecret>();
  const byPlace = new Map<string, StoredSecret>();
  await mapSecrets(stored?.value, (secret, at) => {
    const { settings, type } = holderOf(stored?.value, at);
    const known = { secret, isLocked: stored?.locked.includes(at) ?? false };
    bySettings.set(`${settings} ${at.slice(at.lastIndexOf("/secrets/"))}`, known);
    byPlace.set(`${type} ${at}`, known);
    return secret;
  });
  const problems: Problem[] = [];
  const unmasked = await mapSecrets(value, (secret, at) => {
    if (secret !== SECRET_MASK) return secret;
    const { settings, type } = holderOf(value, at);
    const kept = bySettings.get(`${settings} ${at.slice(at.lastIndexOf("/secrets/"))}`) ??
      byPlace.get(`${type} ${at}`);
    if (kept !== undefined && !kept.isLocked) return kept.secret;
    const why = kept === undefined
      ? "none is stored at this place"
      : "the one at this place cannot be decrypted with this key: give it anew";
    problems.push({
      pointer: at,
      detail: `Expected a secret, found ${SECRET_MASK}, which stands for a stored one, and ${why}`,
    });
    return secret;
  });
  if (problems.length > 0) throw new InvalidInputError(what, problems);
  return unmasked;
}

interface StoredSecret {
  secret: string;
  isLocked: boolean;
}

/** What tells the object whose `secrets` hold a secret from others: its type, and all else it says. */
function holderOf(value: unknown, at: string): { settings: string; type: string } {
  const path = at.slice(1, at.lastIndexOf("/secrets/")).split("/");
  let holder = value;
  for (const part of path) {
    holder = Object.entries(Object(holder)).find(([name]) => name === part)?.[1];
  }
  const { secrets: _secrets, ...others } = Object(holder);
  const settings = Object.entries(others).sort(([a], [b]) => a < b ? -1 : 1);
  return { settings: JSON.stringify(settings), type: String(others.type) };
}

async function walk(
  value: unknown,
  at: string,
  secret: boolean,
  change: (secret: string, at: string) => Promise<string> | string,
): Promise<unknown> {
  if (typeof value === "string") return secret ? await change(value, at) : value;
  if (Array.isArray(value)) {
    return await Promise.all(
      value.map((element, index) => walk(element, at + pointer(index), secret, change)),
    );
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, inner]) =>
      // An element of the list may be the secret itself, or say beside it when it ends.
      [name, await walk(inner, at + pointer(name), isSecretField(name, secret), change)] as const
    ),
  );
  return Object.fromEntries(entries);
}

function isSecretField(name: string, isInSecrets: boolean): boolean {
  return name === "secrets" || (isInSecrets && name === "secret");
}

function isReference(secret: string): boolean {
  return ENV_REFERENCE.test(secret);
}
