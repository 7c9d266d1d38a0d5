/**
 * Secrets at rest. `secrets` of a condition holds secrets, and so does `secret` of a handshake, and of a header or the
 * signature of an HTTP request. A literal is encrypted before it is stored, and shown as a mask afterwards.
 * `{env:NAME}` and `{file:PATH}` only name a place, so they are stored and shown as they are.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { HooklaunchError } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHERTEXT_PREFIX = `${CIPHER}:`;
const encoder = new TextEncoder();
const REFERENCE = /^\{(?:env|file):[^}]*\}$/;
/** References within a text. */
const REFERENCES = /\{(?:env|file):[^}]*\}/g;
/** The fields of an element of `secrets` that hold the secret. `secret` is the earlier name of `value`. */
const SECRET_FIELDS = ["value", "secret"];
/** The objects of a single secret in the field `secret`: elsewhere that is a field like any other. */
const SINGLE = /^\/(?:handshakes\/\d+|callback\/sign|actions\/\d+\/(?:sign|headers\/[^/]+))$/;
/** Those among the parts of an action, which are opened when it is performed, and not before. */
const OF_ACTION = /^\/actions\/\d+\/(?:sign|headers\/[^/]+)\/secret(?:\/|$)/;
/** The parts of an action in which a field named `secrets` is one like any other: it is the sender's, or a header. */
const PLAIN = /^\/actions\/\d+\/(?:body(?:\/|$)|headers$)/;
/** Fields named `secrets`, and the elements of such lists; and those of conditions, which are secrets. */
const NAMED = /\/secrets(?:\/\d+)?$/;
const OF_CONDITION = /^\/conditions\/\d+\/secrets(?:\/\d+)?$/;
const MARK_LENGTH = 12;

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
  /**
   * The fingerprint of a secret, which tells it from the owner's other secrets. It is keyed: who sees it
   * cannot try secrets, nor see that two owners have the same one.
   */
  mark(secret: string, owner: string): string;
}

/** Makes the box from its keys, the current one first. */
export function secretBox(all: readonly Uint8Array[]): SecretBox {
  const [current, ...previous] = all;
  if (current === undefined) throw new RangeError("Cannot encrypt without a key");
  const markKey = createHmac("sha256", current).update("fingerprints of secrets").digest();
  return {
    fingerprint: all.map(fingerprintOf).join(" "),
    mark: (secret, owner) =>
      createHmac("sha256", markKey).update(`${owner}\0${secret}`).digest("hex").slice(
        0,
        MARK_LENGTH,
      ),
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

/** Replaces the elements of every list named `secrets`, and the secrets of handshakes, in a value by the results of a function. */
function mapElements<T>(value: T, change: (element: unknown, at: string) => unknown): T {
  // The caller's function keeps the shape that the schema of secrets gives to elements.
  return walk(value, "", change) as T;
}

/**
 * Does the same to secrets alone. Another field that is named `secrets`, such as a parameter, is a value like any
 * other: it is encrypted with them, and shown.
 */
export function mapShownElements<T>(
  value: T,
  change: (element: unknown, at: string) => unknown,
): T {
  return mapElements(
    value,
    (element, at) => NAMED.test(at) && !OF_CONDITION.test(at) ? element : change(element, at),
  );
}

/** A part of a trigger that names a variable or a file of the service. */
export interface ReferenceHolder {
  /** The variables and files that it names, such as `{env:NAME}`. */
  references: readonly string[];
  /** All of it but its literal secrets: the same where nothing else of it was changed. */
  form: string;
}

/**
 * Finds the conditions, handshakes, actions and other fields of a trigger that name a variable or a file of the
 * service, wherever in them.
 */
export function referenceHolders(settings: object): ReferenceHolder[] {
  const bare = mapElements(settings, (element) => referenceIn(element) ?? null);
  const parts = Object.entries(bare).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]
  );
  return parts.map((part) => JSON.stringify(part, withoutNulls)).flatMap((form) => {
    const references = form.match(REFERENCES) ?? [];
    return references.length === 0 ? [] : [{ references, form }];
  });
}

/** Returns the reference that an element of secrets is. */
function referenceIn(element: unknown): string | undefined {
  const found: string[] = [];
  mapSecrets({ secrets: [element] }, (secret) => {
    if (isReference(secret)) found.push(secret);
    return secret;
  });
  return found[0];
}

/** Leaves out literal secrets, and puts the fields of objects in order. */
function withoutNulls(_key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(fields.sort(([one], [other]) => one < other ? -1 : 1));
}

/** Replaces every secret in a value by the result of a function of the secret and the pointer to it. */
export function mapSecrets<T>(value: T, change: (secret: string, at: string) => string): T {
  return mapElements(value, (element, at) => {
    if (typeof element === "string") return change(element, at);
    if (typeof element !== "object" || element === null) return element;
    return Object.fromEntries(
      Object.entries(element).map(([name, inner]) => [
        name,
        typeof inner === "string" && SECRET_FIELDS.includes(name)
          ? change(inner, at + pointer(name))
          : inner,
      ]),
    );
  });
}

/** Returns true for a text that only names the place of a secret. */
export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}

/** Replaces every literal secret likewise. References such as `{env:NAME}` stay as they are. */
export function mapLiterals<T>(value: T, change: (secret: string, at: string) => string): T {
  return mapSecrets(value, (secret, at) => isReference(secret) ? secret : change(secret, at));
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

/** Returns actions in which the secrets that are opened when an action is performed are as they are stored. */
export function withSealedActions<T>(opened: readonly T[], stored: readonly T[]): readonly T[] {
  return opened.map((action, index) => {
    let hasOwn = false;
    mapSecrets({ actions: [action] }, (secret, at) => {
      hasOwn ||= OF_ACTION.test(at);
      return secret;
    });
    return hasOwn ? stored[index] ?? action : action;
  });
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

function walk(
  value: unknown,
  at: string,
  change: (element: unknown, at: string) => unknown,
): unknown {
  if (Array.isArray(value)) {
    return value.map((element, index) => walk(element, at + pointer(index), change));
  }
  if (typeof value !== "object" || value === null) return value;
  const isSchema = "type" in value && value.type === "json_schema";
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const place = at + pointer(name);
      // A schema may have names like these. In a file, it is where a secret could be.
      if (isSchema && name === "schema") {
        return [name, typeof inner === "string" ? change(inner, place) : inner];
      }
      if (name === "secret" && SINGLE.test(at)) return [name, change(inner, place)];
      if (name !== "secrets" || PLAIN.test(at)) return [name, walk(inner, place, change)];
      return [
        name,
        Array.isArray(inner)
          ? inner.map((element, index) => change(element, place + pointer(index)))
          : change(inner, place),
      ];
    }),
  );
}
