/**
 * Secrets at rest. In a trigger, every list named `secrets` holds secrets. A literal is encrypted
 * before it is stored and shown as a mask afterwards; `{env:NAME}` only names where the secret is,
 * so it is stored and shown as it is.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { SECRET_MASK } from "../conditions/secret.ts";
import { HooklaunchError, InvalidInputError, type Problem } from "../platform/errors.ts";
import { childOf, pointer, pointerParts } from "../platform/schema/pointer.ts";
import { readSecretKeys } from "./secret_key.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHERTEXT_PREFIX = `${CIPHER}:`;
const encoder = new TextEncoder();
const ENV_REFERENCE = /^\{env:[^}]*\}$/;
/** A pointer to a secret: to what has the field `secrets`, and from there on. */
const SECRETS_POINTER = /^(.*)\/secrets(\/.*)?$/s;
/** How a pointer to a secret ends that says beside it when it ends. */
const DATED = /(?<=\/secrets\/\d+)\/secret$/;

/** A stored secret cannot be decrypted: the key is another one, or what is stored was changed or moved. */
export class LockedSecretError extends HooklaunchError {
  override readonly code = "locked_secret";
}

/** Encrypts and decrypts secrets with AES-256-GCM (NIST SP 800-38D). */
export interface SecretBox {
  /** Tells its keys from others, and nothing else of them. */
  readonly fingerprint: string;
  /** @param owner the id of what the secret belongs to; it decrypts for this owner alone */
  seal(secret: string, owner: string): string;
  /** @throws {LockedSecretError} when the key is another one, or the text was changed or moved */
  open(sealed: string, owner: string): string;
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
  return secretBox(await readSecretKeys(folder, fromEnvironment));
}

/** Makes the box from its keys, the current one first. */
export function secretBox(all: readonly Uint8Array[]): SecretBox {
  const [current, ...previous] = all;
  if (current === undefined) throw new RangeError("Cannot encrypt without a key");
  return {
    fingerprint: all.map(fingerprintOf).join(" "),
    seal: (secret, owner) => encrypt(secret, owner, current),
    open(sealed, owner) {
      // While a key is being changed, some secrets are still under the one before.
      for (const key of [current, ...previous]) {
        const plain = decrypt(sealed, owner, key);
        if (plain !== undefined) return plain;
      }
      throw new LockedSecretError("Cannot decrypt a secret: was it stored with another key?");
    },
  };
}

function fingerprintOf(key: Uint8Array): string {
  return createHmac("sha256", key).update("fingerprint of a secret key").digest("hex");
}

function encrypt(secret: string, owner: string, key: Uint8Array): string {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(encoder.encode(owner));
  const sealed = [nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()];
  return CIPHERTEXT_PREFIX + Buffer.concat(sealed).toString("base64");
}

/** Undefined when the key is another one, or the text was changed or moved. */
function decrypt(sealed: string, owner: string, key: Uint8Array): string | undefined {
  try {
    const bytes = Uint8Array.fromBase64(sealed.slice(CIPHERTEXT_PREFIX.length));
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(encoder.encode(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
    return decipher.update(text, undefined, "utf8") + decipher.final("utf8");
  } catch {
    // It says no more than that the tag does not fit.
    return undefined;
  }
}

/** Changes every secret in a value by a function that gets the secret and the pointer to it. */
export function mapSecrets<T>(value: T, change: (secret: string, at: string) => string): T {
  // The shape stays as it is: only strings are replaced by strings.
  return walk(value, "", false, change) as T;
}

/** Changes every literal likewise. What only names where the secret is stays as it is. */
export function mapLiterals<T>(value: T, change: (secret: string, at: string) => string): T {
  return mapSecrets(
    value,
    (secret, at) => ENV_REFERENCE.test(secret) ? secret : change(secret, at),
  );
}

/** Encrypts the literal secrets of a value. */
export function sealSecrets<T>(value: T, box: SecretBox, owner: string): T {
  return mapLiterals(value, (secret) => box.seal(secret, owner));
}

/**
 * Decrypts what {@linkcode sealSecrets} encrypted.
 *
 * @throws {LockedSecretError} when one of them cannot be decrypted
 */
export function openSecrets<T>(value: T, box: SecretBox, owner: string): T {
  return mapLiterals(value, (secret) => box.open(secret, owner));
}

/** A value of which some secrets may be locked. */
export interface Opened<T> {
  /** In the place of a locked secret it has an empty one, which matches nothing. */
  value: T;
  /** Pointers to the secrets that cannot be decrypted. */
  locked: readonly string[];
}

/** Decrypts what can be decrypted of what {@linkcode sealSecrets} encrypted. */
export function openWhatOpens<T>(value: T, box: SecretBox, owner: string): Opened<T> {
  const locked: string[] = [];
  const opened = mapLiterals(value, (secret, at) => {
    const open = tryOpen(secret, box, owner);
    if (open === undefined) locked.push(at);
    return open ?? "";
  });
  return { value: opened, locked };
}

/** Decrypts one secret; undefined when it cannot be decrypted. */
export function tryOpen(sealed: string, box: SecretBox, owner: string): string | undefined {
  try {
    return box.open(sealed, owner);
  } catch (error) {
    if (error instanceof LockedSecretError) return undefined;
    throw error;
  }
}

/** Puts the mask in place of the literal secrets of a value. */
export function maskSecrets<T>(value: T): T {
  return mapLiterals(value, () => SECRET_MASK);
}

/**
 * Puts stored secrets back where a new version of a value has the mask. A masked secret is one of a stored
 * condition with the same settings, of the one at the same place before one elsewhere; else of the condition
 * at the same place, if it is of the same type. It is the one at its place in the list; but in a list that
 * has become shorter, places say nothing, and it is the only one of the same end.
 *
 * @param stored the value that is stored, its secrets in clear; undefined when there is none
 * @throws {InvalidInputError} where the mask stands for nothing, for any of several, or for a locked secret
 */
export function unmaskSecrets<T>(
  value: T,
  stored: Opened<unknown> | undefined,
  what: string,
): T {
  const lists = stored === undefined ? new Map<string, StoredList>() : storedLists(stored);
  const problems: Problem[] = [];
  const unmasked = mapSecrets(value, (secret, at) => {
    if (secret !== SECRET_MASK) return secret;
    const kept = findStored(lists, placeOf(value, at));
    if (typeof kept === "object" && !kept.isLocked) return kept.secret;
    const why = typeof kept === "string"
      ? kept
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

/** A literal that is stored. */
interface StoredSecret {
  secret: string;
  isLocked: boolean;
  /** When it ends, if the settings say so. */
  until: unknown;
}

/** The secrets of one list: how many there are, and its literals by their places. */
interface StoredList {
  count: number;
  literals: Map<string, StoredSecret>;
}

function storedLists({ value, locked }: Opened<unknown>): Map<string, StoredList> {
  const lists = new Map<string, StoredList>();
  const byHolder = new Map<string, StoredList>();
  mapLiterals(value, (secret, at) => {
    const { holderAt, names, place, count, until } = placeOf(value, at);
    const list = byHolder.get(holderAt) ?? { count, literals: new Map() };
    byHolder.set(holderAt, list);
    list.literals.set(place, { secret, isLocked: locked.includes(at), until });
    for (const name of names) lists.set(name, list);
    return secret;
  });
  return lists;
}

/** The stored secret that a mask stands for, or why there is none. */
function findStored(
  lists: ReadonlyMap<string, StoredList>,
  { names, place, count, until }: SecretPlace,
): StoredSecret | string {
  let why = "none is stored at this place";
  for (const name of names) {
    const list = lists.get(name);
    if (list === undefined) continue;
    if (count >= list.count) {
      const found = list.literals.get(place);
      if (found) return found;
      continue;
    }
    const [only, ...others] = [...list.literals.values()].filter((one) => one.until === until);
    if (only && others.length === 0) return only;
    why = `nothing says which, as its list had ${list.count} and has ${count}: give it anew`;
  }
  return why;
}

/** Where a secret is. */
interface SecretPlace {
  /** The pointer to what has the field `secrets`. */
  holderAt: string;
  /** What its list is known by, best first: its place, and what its condition says beside secrets. */
  names: readonly string[];
  /** Its place in the list: the same, whether it is given an end date or loses it. */
  place: string;
  /** How many secrets are in the list, references too. */
  count: number;
  until: unknown;
}

function placeOf(value: unknown, at: string): SecretPlace {
  const [, holderAt = "", place = ""] = SECRETS_POINTER.exec(at.replace(DATED, "")) ?? [];
  const holder = pointerParts(holderAt).reduce(childOf, value);
  const { secrets, ...others } = Object(holder);
  const settings = JSON.stringify(Object.entries(others).sort(([a], [b]) => a < b ? -1 : 1));
  return {
    holderAt,
    names: [
      `same settings and place: ${holderAt} ${settings}`,
      `same settings: ${settings}`,
      `same place and type: ${holderAt} ${others.type}`,
    ],
    place,
    count: Array.isArray(secrets) ? secrets.length : 1,
    until: childOf(pointerParts(place).reduce(childOf, secrets), "until"),
  };
}

function walk(
  value: unknown,
  at: string,
  secret: boolean,
  change: (secret: string, at: string) => string,
): unknown {
  if (typeof value === "string") return secret ? change(value, at) : value;
  if (Array.isArray(value)) {
    return value.map((element, index) => walk(element, at + pointer(index), secret, change));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) =>
    // An element of the list may be the secret itself, or say beside it when it ends.
    [name, walk(inner, at + pointer(name), isSecretField(name, secret), change)] as const
  );
  return Object.fromEntries(entries);
}

function isSecretField(name: string, isInSecrets: boolean): boolean {
  return name === "secrets" || (isInSecrets && name === "secret");
}
