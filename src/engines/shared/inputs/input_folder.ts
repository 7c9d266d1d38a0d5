/**
 * The folder of one input while its files are staged.
 *
 * @module
 */
import { join } from "node:path";
import type { HashedFile } from "../file_hash.ts";
import type { CopyOptions } from "./checked_copy.ts";
import { checkName, Names } from "./names.ts";

/** A file that Hooklaunch stores. */
export interface StoredFile {
  size: number;
  /** Absent for payloads of before. */
  sha256?: string | undefined;
  /** True when reading it compares its bytes with size and hash. */
  isChecked: boolean;
  /** Opens it. A keeper may do so more than once, also later. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Keeps the files of an execution's inputs. Paths are relative to the folder of all inputs. */
export interface InputKeeper {
  /** Makes a folder, and those that it lies in. */
  makeFolder(path: string): void;
  /** Takes a file that is stored elsewhere; returns its content as far as it was read. */
  take(path: string, file: StoredFile, options: CopyOptions): Promise<HashedFile>;
  /** Takes bytes that come once. */
  write(path: string, chunks: AsyncIterable<Uint8Array>, options: CopyOptions): Promise<HashedFile>;
  /** Takes a fetched file from where its cache keeps it. */
  copy(path: string, cached: HashedFile & { path: string }): Promise<unknown>;
}

/** The destination of a file. */
interface Place {
  /** Its path in the input's folder. */
  name: string;
  /** Its path in the folder of all inputs. */
  path: string;
}

/** Gives each file its own path. */
export class InputFolder {
  readonly #path: string;
  readonly #keeper: InputKeeper;
  readonly #names = new Names();

  /** @param path the folder, in that of all inputs */
  constructor(path: string, keeper: InputKeeper) {
    this.#path = path;
    this.#keeper = keeper;
    keeper.makeFolder(path);
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
    if (name.includes("/")) this.#keeper.makeFolder(path.slice(0, path.lastIndexOf("/")));
    return { name, path };
  }
}
