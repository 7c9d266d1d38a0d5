/** The part of `@std/crypto/timing-safe-equal` that is used, typed for the npm build of the standard library. */

/**
 * Compares two byte sequences of one length in constant time.
 *
 * @throws when their lengths differ
 */
export function timingSafeEqual(
  a: ArrayBufferView | ArrayBufferLike,
  b: ArrayBufferView | ArrayBufferLike,
): boolean;
