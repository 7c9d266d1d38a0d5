/**
 * Finding what an id in a path names.
 *
 * @module
 */
import { NotFoundError } from "../../platform/errors.ts";
import { getFormerTrigger } from "../../store/records/triggers.ts";
import type { Operator } from "./operator.ts";

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

/** Reads a trigger whose records are kept, one that was deleted among them; undefined when there was none of this id. */
export async function presentOrFormer(
  { store, triggers }: Pick<Operator, "store" | "triggers">,
  id: string,
): Promise<object | undefined> {
  return await triggers.get(id) ?? await getFormerTrigger(store, id);
}
