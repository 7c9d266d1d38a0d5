/**
 * The headers and parameters of a request that were too long to keep.
 *
 * @module
 */

/** Returns their names, such as `header x-list`. */
export function leftOutNames(
  { headers, query }: { headers: string[]; query: string[] } = { headers: [], query: [] },
): string[] {
  return [
    ...headers.map((name) => `header ${name}`),
    ...query.map((name) => `parameter ${name}`),
  ];
}
