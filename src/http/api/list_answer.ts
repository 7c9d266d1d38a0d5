/**
 * Lists that are short enough to be read whole, in pages like all others.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { pageAnswer } from "./input.ts";
import { listQuery, readQuery } from "./queries.ts";

/** The answer to a list, in the order of its keys. */
export function listAnswer<T>(
  context: Context,
  baseUrl: string,
  all: readonly T[],
  keyOf: (element: T) => string,
): Response {
  const { limit, cursor = "" } = readQuery(context, listQuery);
  const rest = all.filter((element) => keyOf(element) > cursor);
  const results = rest.slice(0, limit);
  const last = results.at(-1);
  const next = last !== undefined && rest.length > limit ? keyOf(last) : undefined;
  return pageAnswer(context, baseUrl, results, next);
}
