/**
 * Encodings of bytes as text.
 *
 * @module
 */
/** An encoding of bytes as text (RFC 4648 sections 8, 4 and 5). */
export type Encoding = "hex" | "base64" | "base64url";

/** The decoder accepts white space; these do not. */
const ALPHABETS = {
  base64: /^[A-Za-z0-9+/]*(={0,2})$/,
  base64url: /^[A-Za-z0-9_-]*(={0,2})$/,
};

/** Writes bytes as text: hex in lower case, base64 padded, base64url not. */
export function encode(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === "hex") return bytes.toHex();
  return bytes.toBase64({ alphabet: encoding, omitPadding: encoding === "base64url" });
}

/**
 * Reads bytes from text: hex in either case, base64 padded or not.
 *
 * @returns undefined for any other text, such as one with white space, with wrong padding, or with bits behind
 *   the last byte that are not 0 (RFC 4648 section 3.5)
 */
export function decode(text: string, encoding: Encoding): Uint8Array | undefined {
  try {
    if (encoding === "hex") return Uint8Array.fromHex(text);
    const padding = ALPHABETS[encoding].exec(text)?.[1];
    if (padding === undefined) return undefined;
    const padded = padding === "" ? text.padEnd(Math.ceil(text.length / 4) * 4, "=") : text;
    return Uint8Array.fromBase64(padded, { alphabet: encoding, lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}

/** Returns the number of characters that {@linkcode encode} writes for a number of bytes. */
export function encodedLength(byteCount: number, encoding: Encoding): number {
  if (encoding === "hex") return byteCount * 2;
  return encoding === "base64" ? Math.ceil(byteCount / 3) * 4 : Math.ceil(byteCount * 4 / 3);
}
