/**
 * Secrets at rest. In a trigger, every list named `secrets` holds secrets. A literal is encrypted
 * before it is stored and shown as a mask afterwards; `{env:NAME}` only names where the secret is,
 * so it is stored and shown as it is.
 *
 * @module
 */
import { InvalidInputError, type Problem } from "../errors.ts";
import { pointer } from "../schema.ts";
import { readSecretKeys } from "./secret_key.ts";

/** What the API shows in place of a stored secret. Writing it back keeps what is stored. */
export const SECRET_MASK = "********";

const NONCE_BYTES = 12;
const CIPHERTEXT_PREFIX = "aes-256-gcm:";
const ENV_REFERENCE = /^\{env:[^}]*\}$/;

/** Encrypts and decrypts secrets with AES-256-GCM (NIST SP 800-38D). */
export interface SecretBox {
  /** @param owner the id of what the secret belongs to; it decrypts for this owner alone */
  seal(secret: string, owner: string): Promise<string>;
  /** @throws {Error} when the key is another one, or the text was changed or moved */
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
      throw new Error("Cannot decrypt a secret: was it stored with another key?");
    },
  };
}

function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Undefined when the key is another one, or the text was changed or moved. */
async function decrypt(sealed: string, owner: string, key: CryptoKey): Promise<string | undefined> {
  const bytes = Uint8Array.fromBase64(sealed.slice(CIPHERTEXT_PREFIX.length));
  const iv = bytes.subarray(0, NONCE_BYTES);
  const parameters = { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) };
  try {
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

/** Decrypts what {@linkcode sealSecrets} encrypted. */
export function openSecrets<T>(value: T, box: SecretBox, owner: string): Promise<T> {
  return mapSecrets(value, (secret) => isReference(secret) ? secret : box.open(secret, owner));
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
 * @throws {InvalidInputError} where the mask stands for nothing
 */
export async function unmaskSecrets<T>(value: T, stored: unknown, what: string): Promise<T> {
  const bySettings = new Map<string, string>();
  const byPlace = new Map<string, string>();
  await mapSecrets(stored, (secret, at) => {
    const { settings, type } = holderOf(stored, at);
    bySettings.set(`${settings} ${at.slice(at.lastIndexOf("/secrets/"))}`, secret);
    byPlace.set(`${type} ${at}`, secret);
    return secret;
  });
  const problems: Problem[] = [];
  const unmasked = await mapSecrets(value, (secret, at) => {
    if (secret !== SECRET_MASK) return secret;
    const { settings, type } = holderOf(value, at);
    const kept = bySettings.get(`${settings} ${at.slice(at.lastIndexOf("/secrets/"))}`) ??
      byPlace.get(`${type} ${at}`);
    if (kept === undefined) {
      problems.push({
        pointer: at,
        detail: `Expected a secret, found ${SECRET_MASK}, which stands for a stored one, ` +
          "and none is stored at this place",
      });
    }
    return kept ?? secret;
  });
  if (problems.length > 0) throw new InvalidInputError(what, problems);
  return unmasked;
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
