/**
 * Cursors of tokens that are limited to triggers or projects. A cursor names the record that a page ends with,
 * which such a token may not be allowed to see: it gets the name encrypted.
 *
 * @module
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Longer than every id and name: the length of a sealed cursor says nothing. */
const CURSOR_LENGTH = 64;
const ENCODING = { alphabet: "base64url", omitPadding: true } as const;

/**
 * Seals cursors with a key of this process: after a restart, a client begins with the first page. Instances that share
 * a secret have one key.
 */
export class SealedCursors {
  readonly #key: Uint8Array;

  /** @param secret that of all instances; undefined where there is only one */
  constructor(secret?: string) {
    this.#key = secret === undefined
      ? crypto.getRandomValues(new Uint8Array(KEY_BYTES))
      : createHmac("sha256", secret).update("hooklaunch cursors").digest();
  }

  /** @param owner the token and the list, for which alone it is opened */
  seal(cursor: string, owner: string): string {
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(new TextEncoder().encode(owner));
    const text = cipher.update(cursor.padEnd(CURSOR_LENGTH), "utf8");
    const sealed = [...nonce, ...text, ...cipher.final(), ...cipher.getAuthTag()];
    return Uint8Array.from(sealed).toBase64(ENCODING);
  }

  /** Opens a sealed cursor. Returns undefined for the cursor of another owner, and for any other text. */
  open(sealed: string, owner: string): string | undefined {
    try {
      const bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(new TextEncoder().encode(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8");
      return (text + decipher.final("utf8")).trimEnd();
    } catch {
      // It is no base64, too short, or of another key or owner.
      return undefined;
    }
  }
}
