/**
 * The folder of one input while its files are brought.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { checkName, Names } from "./names.ts";

/** Where a file goes. */
export interface Place {
  /** Its name in the folder, which may have folders in it. */
  name: string;
  path: string;
}

/** Gives each file a place of its own. */
export class InputFolder {
  readonly #path: string;
  readonly #names = new Names();

  /** @param path the folder, which exists */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Finds the place of a file, and makes the folders that are in its name.
   *
   * @throws when the name is no path inside the folder
   */
  place(wanted: string): Place {
    checkName(wanted);
    const name = this.#names.take(wanted);
    const path = join(this.#path, name);
    if (name.includes("/")) Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return { name, path };
  }
}
