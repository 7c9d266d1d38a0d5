/**
 * Finding what an id in a path names.
 *
 * @module
 */
import { NotFoundError } from "../../platform/errors.ts";

/**
 * Returns what was found by an id.
 *
 * @param kind what it is, for the error
 * @throws {NotFoundError} when nothing was found
 */
export async function found<T>(
  kind: string,
  id: string,
  record: T | undefined | Promise<T | undefined>,
): Promise<T> {
  const value = await record;
  if (value === undefined) throw new NotFoundError(`There is no ${kind} of the id ${id}`);
  return value;
}
