/**
 * JSON that is written as it is, such as a number with more digits than JavaScript's numbers have.
 *
 * @module
 */

/** Makes a value that `JSON.stringify` writes as this text. */
export function rawJson(text: string): unknown {
  // TypeScript 6.0's library lacks it.
  const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };
  return rawJSON(text);
}
