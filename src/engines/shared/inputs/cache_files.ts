/**
 * A cache of fetched files, named by the SHA-256 of their content.
 *
 * The content is verified when it is written, at the first use after a start of the service, and when size,
 * time or inode have changed. This detects a file that a power cut has shortened and one that somebody has
 * changed. It does not detect a disk that returns wrong data between two uses.
 *
 * @module
 */
import { join } from "node:path";
import { ignoreMissing } from "../../../platform/files/missing_file.ts";
import { type HashedFile, hashFile } from "../file_hash.ts";
import { type CopyOptions, writeNew } from "./checked_copy.ts";

/** The prefix of the names of incomplete files. */
const TEMPORARY = "tmp-";

/** A cached file. It is not removed until this is disposed of. */
export interface Held extends HashedFile, Disposable {
  /** The path of the file, where it is on a disk. */
  readonly path: string;
  /** Its key in the artifact store, where it is there. */
  readonly artifact?: string;
}

/** A folder of cached files. */
export class CacheFiles {
  readonly #folder: string;
  readonly #holds = new Map<string, number>();
  /** Size, time and inode of each file when it was last verified. */
  readonly #checked = new Map<string, string>();
  /** An upper estimate of all bytes; unknown before the first count. */
  #bytesAbout = Infinity;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates the folder and removes incomplete files of an earlier service. */
  async open(): Promise<void> {
    await Deno.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for await (const { name } of Deno.readDir(this.#folder)) {
      if (!name.startsWith(TEMPORARY)) continue;
      await Deno.remove(join(this.#folder, name), { recursive: true });
    }
  }

  /**
   * Finds a file; undefined when there is none. A file with other content is removed.
   *
   * @param signal aborted when the file is not needed any more
   */
  async find(wanted: HashedFile, signal: AbortSignal): Promise<Held | undefined> {
    using unlessReturned = new DisposableStack();
    const held = unlessReturned.use(this.#hold(wanted));
    if (!await this.#isWhole(held, signal)) {
      await this.#remove(held.sha256);
      return undefined;
    }
    unlessReturned.move();
    return held;
  }

  /** Adds a file with the content of the chunks. */
  async add(chunks: AsyncIterable<Uint8Array>, options: CopyOptions): Promise<Held> {
    const path = join(this.#folder, TEMPORARY + crypto.randomUUID());
    try {
      using unlessReturned = new DisposableStack();
      const held = unlessReturned.use(this.#hold(await writeNew(path, chunks, options)));
      await Deno.rename(path, held.path);
      this.#bytesAbout += held.size;
      this.#checked.set(held.sha256, look(await Deno.lstat(held.path)));
      unlessReturned.move();
      return held;
    } catch (error) {
      await Deno.remove(path).catch(() => {});
      throw error;
    }
  }

  /**
   * Removes the least recently used files until the rest has at most so many bytes. Files in use stay.
   *
   * @returns true when files were removed
   */
  async prune(bytesMax: number): Promise<boolean> {
    if (this.#bytesAbout <= bytesMax) return false;
    // Files that are added from here on count for the next call.
    this.#bytesAbout = 0;
    const files: { name: string; size: number; used_ms: number }[] = [];
    for await (const { name, isFile } of Deno.readDir(this.#folder)) {
      if (!isFile || name.startsWith(TEMPORARY)) continue;
      const info = await Deno.lstat(join(this.#folder, name)).catch(() => undefined);
      if (info) files.push({ name, size: info.size, used_ms: info.mtime?.getTime() ?? 0 });
    }
    const all = files.reduce((sum, { size }) => sum + size, 0);
    let bytes = all;
    // A file that is too large by itself would displace all others.
    const place = ({ size, used_ms }: { size: number; used_ms: number }) =>
      size > bytesMax ? 0 : used_ms;
    for (const { name, size } of files.sort((one, other) => place(one) - place(other))) {
      if (bytes <= bytesMax) break;
      if (this.#holds.has(name)) continue;
      await this.#remove(name);
      bytes -= size;
    }
    this.#bytesAbout += bytes;
    return bytes < all;
  }

  #pathOf(sha256: string): string {
    return join(this.#folder, sha256);
  }

  #hold({ size, sha256 }: HashedFile): Held {
    this.#holds.set(sha256, (this.#holds.get(sha256) ?? 0) + 1);
    const release = () => {
      const others = (this.#holds.get(sha256) ?? 1) - 1;
      if (others > 0) this.#holds.set(sha256, others);
      else this.#holds.delete(sha256);
    };
    return { size, sha256, path: this.#pathOf(sha256), [Symbol.dispose]: release };
  }

  async #isWhole({ path, size, sha256 }: Held, signal: AbortSignal): Promise<boolean> {
    try {
      const info = await Deno.lstat(path);
      if (!info.isFile || info.size !== size) return false;
      if (this.#checked.get(sha256) !== look(info)) {
        if ((await hashFile(path, { signal })).sha256 !== sha256) return false;
      }
      const now = new Date();
      await Deno.utime(path, now, now);
      this.#checked.set(sha256, look(await Deno.lstat(path)));
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  /** Renames the file first, so that nobody begins to use it. */
  async #remove(sha256: string): Promise<void> {
    this.#checked.delete(sha256);
    const trash = join(this.#folder, TEMPORARY + crypto.randomUUID());
    try {
      Deno.renameSync(this.#pathOf(sha256), trash);
      await Deno.remove(trash, { recursive: true });
    } catch (error) {
      ignoreMissing(error);
    }
  }
}

/** Returns what shows that a file was changed. */
function look({ size, mtime, ino }: Deno.FileInfo): string {
  return `${size} ${mtime?.getTime()} ${ino}`;
}
