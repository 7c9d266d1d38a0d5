/**
 * Answering with lists, a page at a time.
 *
 * @module
 */
import type { Context } from "@hono/hono";

/** A page of a list, as the API answers it. */
export interface AnswerPage<T> {
  results: readonly T[];
  /** The address of the next page; null when this is the last. */
  next: string | null;
}

/** Answers with a page of a list: see {@linkcode pageOf}. */
export function pageAnswer(
  context: Context,
  baseUrl: string,
  results: readonly unknown[],
  next: string | undefined,
): Response {
  return context.json(pageOf(context, baseUrl, results, next));
}

/**
 * Makes a page of a list: results and the address of the next page.
 *
 * @param baseUrl the address of the service; a proxy may have removed its path from the request's
 */
export function pageOf<T>(
  context: Context,
  baseUrl: string,
  results: readonly T[],
  next: string | undefined,
): AnswerPage<T> {
  if (next === undefined) return { results, next: null };
  // Hono has removed the slash from its end.
  const url = new URL(`${baseUrl}${context.req.path}/`);
  for (const [name, value] of Object.entries(context.req.query())) {
    url.searchParams.set(name, value);
  }
  url.searchParams.set("cursor", next);
  return { results, next: url.href };
}

/** Answers with a page of a list that is short enough to be read whole, in the order of its keys. */
export function wholeListAnswer<T>(
  context: Context,
  baseUrl: string,
  all: readonly T[],
  { limit, cursor = "", keyOf }: {
    limit: number;
    cursor: string | undefined;
    keyOf(element: T): string;
  },
): Response {
  const rest = all.filter((element) => keyOf(element) > cursor);
  const results = rest.slice(0, limit);
  const last = results.at(-1);
  const next = last !== undefined && rest.length > limit ? keyOf(last) : undefined;
  return pageAnswer(context, baseUrl, results, next);
}
