/**
 * Answering with lists, a page at a time.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { listQuery, readQuery } from "./queries.ts";

/** A page of a list, as the API answers it. */
export interface AnswerPage<T> {
  results: readonly T[];
  /** The address of the next page; null when this is the last. */
  next: string | null;
}

/** The answer to a list: see {@linkcode pageOf}. */
export function pageAnswer(
  context: Context,
  baseUrl: string,
  results: readonly unknown[],
  next: string | undefined,
): Response {
  return context.json(pageOf(context, baseUrl, results, next));
}

/**
 * A page of a list: results and the address of the next page.
 *
 * @param baseUrl how the service is reached; a proxy may have taken its path off what was asked for
 */
export function pageOf<T>(
  context: Context,
  baseUrl: string,
  results: readonly T[],
  next: string | undefined,
): AnswerPage<T> {
  if (next === undefined) return { results, next: null };
  // Hono has taken the slash off its end.
  const url = new URL(`${baseUrl}${context.req.path}/`);
  for (const [name, value] of Object.entries(context.req.query())) {
    url.searchParams.set(name, value);
  }
  url.searchParams.set("cursor", next);
  return { results, next: url.href };
}

/** The answer to a list that is short enough to be read whole, in the order of its keys. */
export function wholeListAnswer<T>(
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
