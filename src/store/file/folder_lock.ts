/**
 * The lock of a data folder: one process at a time uses it.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { join } from "node:path";
import { ConflictError } from "../../platform/errors.ts";
import { unusable } from "./unusable.ts";

/** Another process uses the data folder. */
export class FolderTakenError extends ConflictError {}

/** The file in the data folder that the process locks which uses the folder. */
export const LOCK_FILE = "lock";
/** A process that was killed may leave a child that holds the lock for the moment before its exec. */
const LOCK_TIMEOUT_MS = 1_000;
const LOCK_RETRY_MS = 20;

/**
 * Locks a data folder that is there, until what is returned is disposed of.
 *
 * @throws {FolderTakenError} when another process has it
 * @throws {InvalidInputError} when nothing can be written to it
 */
export async function lockDataFolder(folder: string): Promise<Disposable> {
  const until_ms = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const locks = await tryToLock(folder);
    if (locks !== undefined) return locks;
    if (performance.now() > until_ms) break;
    await delay(LOCK_RETRY_MS);
  }
  throw new FolderTakenError(
    `Cannot open the data folder ${folder}: another Hooklaunch process is using it. ` +
      "Stop that one, or name another folder with --data",
  );
}

/**
 * Locks a data folder by the file that is there for that, and by itself: somebody may take the file for a
 * leftover and remove it, and the next process would make another one.
 */
async function tryToLock(folder: string): Promise<Disposable | undefined> {
  const path = join(folder, LOCK_FILE);
  using locks = new DisposableStack();
  const file = await Deno.open(path, { create: true, write: true, mode: 0o600 })
    .catch(unusable(folder));
  locks.use(file);
  if (!await file.tryLock(true) || !await isAt(path, file)) return undefined;
  const itself = locks.use(await Deno.open(folder).catch(unusable(folder)));
  // Some network disks lock no folders: there it is the file alone.
  if (!await itself.tryLock(true).catch(() => true)) return undefined;
  return locks.move();
}

/** Returns true when a file is still the one at its path. A process that gave up its lock may have removed it. */
async function isAt(path: string, file: Deno.FsFile): Promise<boolean> {
  const { dev, ino } = await file.stat();
  const there = await Deno.stat(path).catch(() => undefined);
  return there?.dev === dev && there.ino === ino;
}
