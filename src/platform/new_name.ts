/**
 * Names for something new. What has a name is found by its name or its id: a name that looks like an id could stand for
 * something else.
 *
 * @module
 */
import { InvalidInputError } from "./errors.ts";

/** A UUID in any spelling, or the short id of a token or a session. */
const LIKE_ID = /^(?:[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{16})$/i;

/** The problem with a name that looks like an id. */
export const EXPECTED_NO_ID = "Expected a name that does not look like an id";

/** Returns true for a text that could be taken for an id of any kind. */
export function looksLikeId(text: string): boolean {
  return LIKE_ID.test(text);
}

/**
 * Checks the name of something new. Earlier versions took names like ids, which stay.
 *
 * @param what what is being saved, for the first words of the error
 * @throws {InvalidInputError} when the name looks like an id
 */
export function expectNewName(what: string, name: string): void {
  if (!looksLikeId(name)) return;
  const detail = `${EXPECTED_NO_ID}, found "${name}"`;
  throw new InvalidInputError(what, [{ pointer: "/name", detail }]);
}
