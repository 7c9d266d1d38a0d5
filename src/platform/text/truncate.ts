/**
 * Texts that are shown in part where they are long.
 *
 * @module
 */

/** A text of so many characters at most, and an ellipsis where there are more. */
export function cut(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}
