/**
 * The error of a body whose coding cannot be undone.
 *
 * @module
 */

/** The reason why a coding cannot be undone; `too_long`: bytes follow the end of the coded body. */
export type DecodingFailure = "too_large" | "cut_off" | "too_long" | "malformed";

/** A coding of a body cannot be undone. */
export class DecodingError extends Error {
  constructor(readonly failure: DecodingFailure) {
    super(`Cannot undo the coding of a body: ${failure}`);
  }
}
