/**
 * Room for what the placeholders of a step become.
 *
 * @module
 */
import { ActionError } from "../../platform/errors.ts";

/** Many times what the record of an execution holds. */
const LENGTH_MAX = 1024 * 1024;

/** Counts what is filled in: a short file with long values could ask for more than any memory holds. */
export class Room {
  #left = LENGTH_MAX;

  /**
   * Takes room for a text.
   *
   * @throws {ActionError} when there is not as much left
   */
  take(text: string): string {
    this.#left -= text.length;
    if (this.#left >= 0) return text;
    throw new ActionError(
      `The placeholders of the step become more than ${LENGTH_MAX} characters together`,
    );
  }
}
