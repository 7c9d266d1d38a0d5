/**
 * Percent-encoding, as parts of URLs have it.
 *
 * @module
 */

/** A part of a URL without its percent-encoding; as it is written where that stands for no text. */
export function withoutPercents(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
