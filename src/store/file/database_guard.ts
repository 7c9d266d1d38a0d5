/**
 * Ends the use of a database whose file can no longer be trusted: when the data folder was moved, removed
 * or replaced under the running service, and when the disk fails.
 *
 * A process goes on writing to a file that was removed, and to one that lies elsewhere now. A failed fsync
 * must not be tried again: the kernel may have dropped what it could not write, and the next fsync then
 * succeeds without it (https://wiki.postgresql.org/wiki/Fsync_Errors).
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf, UnavailableError } from "../../platform/errors.ts";

const LOOK_MS = 1_000;
/** The texts by which SQLite says that a disk failed, or that a file is damaged. */
const FATAL = /disk I\/O error|database disk image is malformed|file is not a database/i;

const log = getLogger(["hooklaunch", "store"]);

/** A file or folder, and what it was when it was opened. */
interface Known {
  path: string;
  dev: number;
  ino: number | null;
}

/** Watches the files of one open database. */
export class DatabaseGuard {
  readonly #known: readonly Known[];
  readonly #lost = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param paths what there must be, and stay: the data folder, the database and its WAL */
  constructor(paths: readonly string[]) {
    this.#known = paths.map((path) => ({ path, ...identityOf(path) }));
    this.#timer = setInterval(() => void this.isIntact(), LOOK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Aborted when nothing may be stored any more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Looks at the files. Synchronous, since three looks take some 10 microseconds and each commit waits for
   * them.
   */
  isIntact(): boolean {
    if (this.lost.aborted) return false;
    for (const known of this.#known) {
      const found = changeOf(known);
      if (found === undefined) continue;
      log.error(
        "{path} is not what this service opened: {found}. Was the data folder moved, removed or " +
          "replaced? No launch that was stored since then is answered as accepted, and the service ends",
        { path: known.path, found },
      );
      this.#lost.abort();
      return false;
    }
    return true;
  }

  /**
   * Expects that the files are those that were opened.
   *
   * @throws {UnavailableError}
   */
  expectIntact(): void {
    this.isIntact();
    this.expectUsable();
  }

  /**
   * Expects that nothing was found so far that forbids to store.
   *
   * @throws {UnavailableError}
   */
  expectUsable(): void {
    if (this.lost.aborted) throw new UnavailableError("Cannot store: the database is lost", 5);
  }

  /** Notes an error of the database. After some of them nothing may be stored any more. */
  note(error: unknown): void {
    if (this.lost.aborted || !FATAL.test(messageOf(error))) return;
    log.error(
      "The database failed: {error}. It is not known which data was stored, so the " +
        "service ends. Look at the disk, then start again: the start checks the database",
      { error: messageOf(error) },
    );
    this.#lost.abort();
  }

  /** Notes that the database must not be used any more. */
  lose(reason: Error): void {
    if (this.lost.aborted) return;
    log.error("{error}. The service ends", { error: reason.message });
    this.#lost.abort();
  }

  /** Looks no more. */
  close(): void {
    clearInterval(this.#timer);
  }
}

function identityOf(path: string): Omit<Known, "path"> {
  const { dev, ino } = Deno.statSync(path);
  return { dev, ino };
}

function changeOf({ path, dev, ino }: Known): string | undefined {
  try {
    const found = identityOf(path);
    return found.dev === dev && found.ino === ino ? undefined : "another one is in its place";
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "it is gone" : messageOf(error);
  }
}
