/**
 * Names for something new. What has a name is found by its name or its id, and has pages at addresses with its name: one
 * that looks like an id, or that is a part of another page's address, could stand for something else.
 *
 * @module
 */
import { InvalidInputError } from "./errors.ts";

/** A UUID in any spelling, or the short id of a token or a session. */
const LIKE_ID = /^(?:[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{16})$/i;
/** The parts of addresses that stand where others have a name, such as that of `/triggers/new`. */
const PARTS_OF_ADDRESSES: ReadonlySet<string> = new Set(["new"]);

/** Says what is wrong with the name of something new; undefined where nothing is. */
export function newNameProblem(name: string): string | undefined {
  if (LIKE_ID.test(name.normalize("NFKC"))) return "Expected a name that does not look like an id";
  return PARTS_OF_ADDRESSES.has(name)
    ? "Expected another name: this one is a part of the console's addresses"
    : undefined;
}

/**
 * Checks the name of something new. Earlier versions took any, which stay.
 *
 * @param what what is being saved, for the first words of the error
 * @throws {InvalidInputError} when it could stand for something else
 */
export function expectNewName(what: string, name: string): void {
  const problem = newNameProblem(name);
  if (problem === undefined) return;
  throw new InvalidInputError(what, [{ pointer: "/name", detail: `${problem}, found "${name}"` }]);
}
