/**
 * Secrets at rest. Every list named `secrets` in a trigger holds secrets. A literal is encrypted before it
 * is stored, and shown as a mask afterwards. `{env:NAME}` only names a variable, so it is stored and shown
 * as it is.
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
/** A pointer to a secret: the object with the field `secrets`, and the way from there. */
const SECRETS_POINTER = /^(.*)\/secrets(\/.*)?$/s;
/** The end of a pointer to a secret that has an end date beside it. */
const DATED = /(?<=\/secrets\/\d+)\/secret$/;

/** A stored secret cannot be decrypted: the key is another one, or the stored text was changed or moved. */
export class LockedSecretError extends HooklaunchError {
  override readonly code = "locked_secret";
}

/** Encrypts and decrypts secrets with AES-256-GCM (NIST SP 800-38D). */
export interface SecretBox {
  /** Identifies the keys, and reveals nothing else of them. */
  readonly fingerprint: string;
  /** @param owner the id of the trigger that has the secret; it decrypts for this owner only */
  seal(secret: string, owner: string): string;
  /** @throws {LockedSecretError} when the key is another one, or the text was changed or moved */
  open(sealed: string, owner: string): string;
}

/**
 * Makes the box from `HOOKLAUNCH_SECRET_KEY`, or from the key file of the data folder. A missing file is
 * created with mode 0600.
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
      // While a key is changed, some secrets are still encrypted with the previous one.
      for (const key of [current, ...previous]) {
        const plain = decrypt(sealed, owner, key);
        if (plain !== undefined) return plain;
      }
      throw new LockedSecretError(
        "Cannot decrypt a secret: it was stored with another key, or changed.",
      );
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

/** Decrypts a secret; undefined when the key is another one, or the text was changed or moved. */
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
    // The only cause is a tag that does not fit.
    return undefined;
  }
}

/** Replaces every secret in a value by the result of a function of the secret and the pointer to it. */
export function mapSecrets<T>(value: T, change: (secret: string, at: string) => string): T {
  // The shape stays as it is: only strings are replaced by strings.
  return walk(value, "", false, change) as T;
}

/** Replaces every literal secret likewise. References such as `{env:NAME}` stay as they are. */
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
 * Decrypts the secrets that {@linkcode sealSecrets} encrypted.
 *
 * @throws {LockedSecretError} when one of them cannot be decrypted
 */
export function openSecrets<T>(value: T, box: SecretBox, owner: string): T {
  return mapLiterals(value, (secret) => box.open(secret, owner));
}

/** A value in which some secrets may be locked. */
export interface Opened<T> {
  /** The value; a locked secret is empty in it, which matches nothing. */
  value: T;
  /** Pointers to the secrets that cannot be decrypted. */
  locked: readonly string[];
}

/** Decrypts as many secrets as possible of those that {@linkcode sealSecrets} encrypted. */
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
 * Puts stored secrets back where a new version of a value has the mask. The mask stands for a secret of the
 * stored condition with the same settings, first of one at the same place; otherwise of the condition of the
 * same type at the same place. In the list, it stands for the secret at its place; in a list that has become
 * shorter, for the only secret with the same end date.
 *
 * @param stored the stored value, its secrets in clear; undefined when there is none
 * @throws {InvalidInputError} where the mask stands for no secret, for several, or for a locked one
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

/** A stored literal. */
interface StoredSecret {
  secret: string;
  isLocked: boolean;
  /** The end date, if the settings have one. */
  until: unknown;
}

/** The secrets of one list: their number, and the literals by their places. */
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

/** Returns the stored secret that a mask stands for, or the reason why there is none. */
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

/** The place of a secret. */
interface SecretPlace {
  /** The pointer to the object with the field `secrets`. */
  holderAt: string;
  /** The names of its list, best first: by its place, and by the other settings of its condition. */
  names: readonly string[];
  /** Its place in the list, which is the same with an end date and without. */
  place: string;
  /** The number of secrets in the list, references included. */
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
    // An element of the list is a secret, or an object with a secret and its end date.
    [name, walk(inner, at + pointer(name), isSecretField(name, secret), change)] as const
  );
  return Object.fromEntries(entries);
}

function isSecretField(name: string, isInSecrets: boolean): boolean {
  return name === "secrets" || (isInSecrets && name === "secret");
}
