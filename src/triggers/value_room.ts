/**
 * The room for the headers, or for the query, of a request in its run's record.
 *
 * @module
 */

/** Limit of the values with their names, in characters. */
const VALUES_LENGTH_MAX = 4_096;
/** That limit where long actions take most of the record. */
const FEW_VALUES_LENGTH_MAX = 512;
/** Overhead of a stored value. */
const BESIDE_LENGTH = 8;
/** A longer name is cut in the list of what is left out. */
const NAME_LENGTH_MAX = 100;
/** Limit of the names of the values that are left out, in characters. */
const NAMES_LENGTH_MAX = 512;
/** Stands for further names. */
export const MORE = "…";

/** Room for values. One that does not fit is left out whole, and its name is noted. */
export class ValueRoom {
  /** The names of the values that were left out, each once. The last one may stand for more. */
  readonly leftOut: string[] = [];
  #left: number;
  #namesLeft = NAMES_LENGTH_MAX;

  constructor({ hasLongActions }: { hasLongActions: boolean }) {
    this.#left = hasLongActions ? FEW_VALUES_LENGTH_MAX : VALUES_LENGTH_MAX;
  }

  /**
   * Takes the room of a value; returns false when there is not enough.
   *
   * @param length that of the name and the value as they are stored
   */
  take(name: string, length: number): boolean {
    const taken = length + BESIDE_LENGTH;
    if (taken > this.#left) {
      this.leaveOut(name);
      return false;
    }
    this.#left -= taken;
    return true;
  }

  /** Notes the name of a value that is left out. */
  leaveOut(name: string): void {
    const shown = name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}${MORE}` : name;
    if (this.#namesLeft === 0 || this.leftOut.includes(shown)) return;
    const taken = shown.length + BESIDE_LENGTH;
    const fits = taken <= this.#namesLeft;
    this.#namesLeft = fits ? this.#namesLeft - taken : 0;
    this.leftOut.push(fits ? shown : MORE);
  }
}
