/**
 * The least length of a project's secret.
 *
 * @module
 */

/** A shorter text is found in every log, and cannot be masked. */
export const LENGTH_MIN = 8;

/** Says that a secret is too short. */
export function shortProblem(text: string): string {
  return `Expected ${LENGTH_MIN} characters or more, as a shorter secret cannot be masked in logs: ` +
    `found ${text.trim().length}`;
}
