/**
 * Fetched files, kept by the SHA-256 of what they hold so that a later execution need not fetch them
 * again.
 *
 * What a file holds is checked in full when it is written, and again when it is first used after a start
 * of the service or when its size, time or inode is not what it was: so a file that lost its end with the
 * power, or that somebody wrote into, is noticed. What a disk returns wrongly between two uses is not.
 *
 * @module
 */
import { join } from "node:path";
import { ignoreMissing } from "../../../platform/files/missing_file.ts";
import { type Copied, type CopyOptions, hashFile, writeNew } from "./checked_copy.ts";

/** How the name of a file that is not complete begins. */
const TEMPORARY = "tmp-";

/** A kept file that is not removed until it is disposed of. */
export interface Held extends Copied, Disposable {
  readonly path: string;
}

/** A folder of files, by their SHA-256. */
export class CacheFiles {
  readonly #folder: string;
  readonly #holds = new Map<string, number>();
  /** What was seen of each file when it was last found to hold what it should. */
  readonly #checked = new Map<string, string>();
  /** How much there is at most; not known before the first look. */
  #bytesAbout = Infinity;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes the folder, and removes what an earlier service has not completed. */
  async open(): Promise<void> {
    await Deno.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for await (const { name } of Deno.readDir(this.#folder)) {
      if (!name.startsWith(TEMPORARY)) continue;
      await Deno.remove(join(this.#folder, name), { recursive: true });
    }
  }

  /**
   * A file that is kept; undefined when there is none that holds what it should. One that does not is
   * removed.
   *
   * @param signal aborted when it is not wanted any more
   */
  async find(wanted: Copied, signal: AbortSignal): Promise<Held | undefined> {
    using unlessReturned = new DisposableStack();
    const held = unlessReturned.use(this.#hold(wanted));
    if (!await this.#isWhole(held, signal)) {
      await this.#remove(held.sha256);
      return undefined;
    }
    unlessReturned.move();
    return held;
  }

  /** Keeps what chunks hold. */
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
   * Removes files, those first that were not used for longest, until the others have at most so many
   * bytes together. What is held stays.
   *
   * @returns whether there was something to remove
   */
  async prune(bytesMax: number): Promise<boolean> {
    if (this.#bytesAbout <= bytesMax) return false;
    // What is added from here on counts for the next time.
    this.#bytesAbout = 0;
    const files: { name: string; size: number; used_ms: number }[] = [];
    for await (const { name, isFile } of Deno.readDir(this.#folder)) {
      if (!isFile || name.startsWith(TEMPORARY)) continue;
      const info = await Deno.lstat(join(this.#folder, name)).catch(() => undefined);
      if (info) files.push({ name, size: info.size, used_ms: info.mtime?.getTime() ?? 0 });
    }
    const all = files.reduce((sum, { size }) => sum + size, 0);
    let bytes = all;
    // One that is too large by itself would drive out all others.
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

  #hold({ size, sha256 }: Copied): Held {
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

  /** It has another name at once, so that nobody begins to use it while it goes. */
  async #remove(sha256: string): Promise<void> {
    this.#checked.delete(sha256);
    const gone = join(this.#folder, TEMPORARY + crypto.randomUUID());
    try {
      Deno.renameSync(this.#pathOf(sha256), gone);
      await Deno.remove(gone, { recursive: true });
    } catch (error) {
      ignoreMissing(error);
    }
  }
}

/** What shows that a file was changed. */
function look({ size, mtime, ino }: Deno.FileInfo): string {
  return `${size} ${mtime?.getTime()} ${ino}`;
}
