/**
 * The folder of one input while its files are staged.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { checkName, Names } from "./names.ts";

/** The destination of a file. */
interface Place {
  /** Its path in the input's folder. */
  name: string;
  path: string;
}

/** Gives each file its own path. */
export class InputFolder {
  readonly #path: string;
  readonly #names = new Names();

  /** @param path the folder, which exists */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Chooses the path of a file and creates its parent folders.
   *
   * @throws {StagingError} when the name is no path inside the folder
   */
  place(wanted: string): Place {
    checkName(wanted);
    const name = this.#names.take(wanted);
    const path = join(this.#path, name);
    if (name.includes("/")) Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return { name, path };
  }
}
