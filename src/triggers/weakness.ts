/**
 * Words of warnings about triggers by which others find them in a list.
 *
 * @module
 */

/** The warning about a trigger without a condition that proves the sender. */
export const UNPROVEN_SENDER =
  "Nothing proves who the sender is: everyone who knows the URL can launch";

/** The words of each warning about a secret that is too short. */
export const GUESSABLE_SECRET = "can be guessed: expected";
