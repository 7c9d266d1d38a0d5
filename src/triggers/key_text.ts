/**
 * The keys that encrypt secrets, as text.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";

/** The length of a key. */
export const KEY_BYTES = 32;

/** A key that encrypts secrets. */
export type SecretKey = Uint8Array<ArrayBuffer>;

/**
 * Reads keys, each 32 bytes in base64 or hex.
 *
 * @param where the setting or the file that has them
 * @throws {InvalidInputError} when one is something else
 */
export function parseKeys(texts: readonly string[], where: string): SecretKey[] {
  return texts.map((text) => {
    const trimmed = text.trim();
    try {
      const key = /^[0-9a-f]{64}$/i.test(trimmed)
        ? Uint8Array.fromHex(trimmed)
        : Uint8Array.fromBase64(trimmed);
      if (key.length === KEY_BYTES) return key;
    } catch {
      // Neither hex nor base64: the error below says so.
    }
    throw new InvalidInputError(
      where,
      `Expected ${KEY_BYTES} bytes in base64 or hex, found another value; ` +
        "make one with: openssl rand -base64 32",
    );
  });
}
