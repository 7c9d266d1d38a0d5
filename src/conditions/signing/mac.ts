/**
 * HMAC (RFC 2104) over pieces of bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac, hash } from "node:crypto";
import type { MacAlgorithm } from "./scheme.ts";

/** The block of each hash, in bytes (FIPS 180-4 figure 1). */
const BLOCK_BYTES = { sha1: 64, sha256: 64, sha384: 128, sha512: 128 } as const;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** Longer contents are not copied into one piece. */
const SMALL_BYTES_MAX = 64 * 1024;

/** Computes the HMAC of a content. */
export type Mac = (content: readonly Uint8Array[]) => Uint8Array;

/**
 * Prepares HMACs under a secret. Small contents, and nearly all are, go through two hashes at one go: an
 * `Hmac` object costs three times as much, which is a sixth of what accepting a launch takes.
 */
export function prepareMac(algorithm: MacAlgorithm, secret: Uint8Array): Mac {
  const block = BLOCK_BYTES[algorithm];
  const key = new Uint8Array(block);
  key.set(secret.length > block ? hash(algorithm, secret, "buffer") : secret);
  const inner = key.map((byte) => byte ^ INNER_PAD);
  const outer = key.map((byte) => byte ^ OUTER_PAD);
  return (content) => {
    let size = 0;
    for (const piece of content) size += piece.length;
    if (size > SMALL_BYTES_MAX) {
      const mac = createHmac(algorithm, secret);
      for (const piece of content) mac.update(piece);
      return mac.digest();
    }
    const digest = hash(algorithm, Buffer.concat([inner, ...content], block + size), "buffer");
    return hash(algorithm, Buffer.concat([outer, digest]), "buffer");
  };
}
