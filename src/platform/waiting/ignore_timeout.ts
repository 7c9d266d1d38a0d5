/**
 * Deadlines after which the work goes on.
 *
 * @module
 */

/** Takes the error of a deadline that has passed, and passes on all others. */
export function ignoreTimeout(error: unknown): undefined {
  if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
}
