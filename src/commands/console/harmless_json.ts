/**
 * JSON that is harmless for a terminal.
 *
 * @module
 */

/**
 * Escapes the characters in JSON that move the cursor or change the direction of text: JSON itself escapes
 * only the lower control characters.
 */
export function harmlessJson(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
