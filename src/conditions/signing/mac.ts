/**
 * HMAC (RFC 2104) over pieces of bytes.
 *
 * @module
 */
import { createHash, hash } from "node:crypto";
import { MAC_BYTES, type MacAlgorithm } from "./scheme.ts";

/** The block of each hash, in bytes (FIPS 180-4 figure 1). */
const BLOCK_BYTES = { sha1: 64, sha256: 64, sha384: 128, sha512: 128 } as const;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/** Computes the HMAC of a content. The next one is written over it. */
export type Mac = (content: readonly Uint8Array[]) => Uint8Array;

/**
 * Prepares HMACs under a secret: both hashes begin with a block that is the key's alone, which is hashed
 * once (RFC 2104 section 4). An `Hmac` object for each content costs more than twice as much. Digests are
 * written into bytes that are kept: the garbage of new ones costs as much as the hashing.
 */
export function prepareMac(algorithm: MacAlgorithm, secret: Uint8Array): Mac {
  const block = BLOCK_BYTES[algorithm];
  const key = new Uint8Array(block);
  key.set(secret.length > block ? hash(algorithm, secret, "buffer") : secret);
  const inner = createHash(algorithm).update(key.map((byte) => byte ^ INNER_PAD));
  const outer = createHash(algorithm).update(key.map((byte) => byte ^ OUTER_PAD));
  const innerDigest = new Uint8Array(MAC_BYTES[algorithm]);
  const mac = new Uint8Array(MAC_BYTES[algorithm]);
  return (content) => {
    const digest = inner.copy();
    for (const piece of content) digest.update(piece);
    innerDigest.setFromHex(digest.digest("hex"));
    mac.setFromHex(outer.copy().update(innerDigest).digest("hex"));
    return mac;
  };
}
