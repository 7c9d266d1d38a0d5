/**
 * Finding what the id in a route stands for.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { NotFoundError } from "../../platform/errors.ts";

/**
 * Makes what finds the one that a request is about, by the `id` of its route.
 *
 * @param kind what it is, for the error
 * @returns throws a {@linkcode NotFoundError} where there is none
 */
export function finder<T>(
  kind: string,
  get: (id: string) => Promise<T | undefined>,
): (context: Context) => Promise<T> {
  return async (context) => {
    const id = context.req.param("id") ?? "";
    const found = await get(id);
    if (found === undefined) throw new NotFoundError(`There is no ${kind} of the id ${id}`);
    return found;
  };
}
