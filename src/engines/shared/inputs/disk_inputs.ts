/**
 * Input files in a folder of this machine.
 *
 * @module
 */
import { join } from "node:path";
import { writeAllSync } from "../../../platform/files/bytes.ts";
import { ignoreMissing } from "../../../platform/files/missing_file.ts";
import { type HashedFile, hashFile } from "../file_hash.ts";
import { type CopyOptions, writeNew } from "./checked_copy.ts";
import type { InputKeeper, StoredFile } from "./input_folder.ts";

/** Keeps input files in a folder, which exists. */
export class DiskInputs implements InputKeeper {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  makeFolder(path: string): void {
    Deno.mkdirSync(join(this.#folder, path), { recursive: true, mode: 0o700 });
  }

  async take(
    path: string,
    { open, isChecked, size, sha256 }: StoredFile,
    options: CopyOptions,
  ): Promise<HashedFile> {
    const target = join(this.#folder, path);
    if (!isChecked) {
      await Deno.remove(target).catch(ignoreMissing);
      return await writeNew(target, await open(), options);
    }
    {
      using file = Deno.openSync(target, { create: true, truncate: true, write: true });
      for await (const chunk of await open()) writeAllSync(file, chunk);
    }
    return sha256 === undefined ? await hashFile(target) : { size, sha256 };
  }

  async write(
    path: string,
    chunks: AsyncIterable<Uint8Array>,
    options: CopyOptions,
  ): Promise<HashedFile> {
    return await writeNew(join(this.#folder, path), chunks, options);
  }

  async copy(path: string, cached: { path: string }): Promise<void> {
    await Deno.copyFile(cached.path, join(this.#folder, path));
  }
}
