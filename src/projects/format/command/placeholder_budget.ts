/**
 * The budget of the text that placeholders become: a short file with long values could ask for more
 * than any memory holds.
 *
 * @module
 */
import { ActionError } from "../../../platform/errors.ts";

/** Many times the size of an execution's record. */
const LENGTH_MAX = 1024 * 1024;

/** The number of characters that are left for the placeholders of one step. */
export class PlaceholderBudget {
  #left = LENGTH_MAX;

  /**
   * Spends the length of a text, and returns the text.
   *
   * @throws {ActionError} when less than that is left
   */
  spend(text: string): string {
    this.#left -= text.length;
    if (this.#left >= 0) return text;
    throw new ActionError(
      `The placeholders of the step become more than ${LENGTH_MAX} characters together`,
    );
  }
}
