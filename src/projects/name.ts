/**
 * The names of projects and triggers.
 *
 * @module
 */

/** A name that is safe in paths, URLs and logs. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The problem with a text that is no name. */
export const EXPECTED_NAME =
  "Expected 1 to 64 letters, digits, dots, underscores or hyphens, a letter or digit first";
