/**
 * Snapshots of plain folders: what a folder held at one moment, under a name that stands for exactly
 * that.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, sep } from "node:path";
import { settleAll } from "../../platform/waiting/promises.ts";
import { ActionError, HooklaunchError, messageOf, type Problem } from "../../platform/errors.ts";
import { syncFolders } from "../../platform/files/durable.ts";
import { writeAll } from "../../platform/files/bytes.ts";
import {
  checkLinks,
  copyTree,
  type FileEntry,
  fileEntry,
  listTree,
  NotUtf8Error,
  type TreeEntry,
  type TreeLimits,
} from "./tree.ts";
import type { TreeCache } from "./tree_cache.ts";

const ATTEMPTS = 5;
const READ_AT_ONCE = 16;
const READ_BYTES = 1024 * 1024;
/** A file that was changed no longer ago may change again without a new time: those are of seconds. */
const SETTLED_AFTER_MS = 2_000;

/** What {@linkcode Snapshots} is told. */
export interface SnapshotsOptions {
  /** The folder, absolute. */
  directory: string;
  /** Where snapshots are kept. */
  trees: TreeCache;
  /** The service's own data folder, which is left out. */
  dataFolder: string;
  limits: TreeLimits;
}

/** What a file held when it was read. */
interface Content {
  /** The file's {@linkcode stampOf}. */
  stamp: string;
  hash: string;
  /** Whether the stamp is another one after any change that is still to come. */
  isSettled: boolean;
}

/** The snapshots of one folder. */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  /** What was read of the folder's files, by path, so that it is read once. */
  #contents = new Map<string, Content>();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Takes a snapshot, unless there is one of the same content already. `.git` is left out, and so is
   * the service's own data folder. Do not call it again before it is done.
   *
   * @returns the snapshot's commit: `~` and a hash of the paths, modes and contents of its files
   * @throws {ActionError} when the folder is missing, too large, or has links that lead outside of it
   */
  async take(): Promise<string> {
    const { directory, trees, dataFolder, limits } = this.#options;
    const root = await realFolder(directory);
    const hidden = await Deno.realPath(dataFolder).catch(() => dataFolder);
    const skip = (path: string) => path === ".git" || join(root, path) === hidden;
    const look = () => listTree(root, { skip, ...limits });
    // A tree that changes while it is copied is copied again.
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        const entries = await look();
        await checkLinks(root, entries);
        const commit = await this.#commitOf(root, entries);
        await trees.ensure(commit, {
          make: async (folder) => {
            await copyTree(root, entries, folder, (file, target) => copyListed(root, file, target));
            await syncFolders(folder);
            if (await this.#commitOf(root, await look()) !== commit) throw new ChangedError(root);
          },
          isWhole: (folder) => isSnapshot(folder, commit),
        });
        return commit;
      } catch (error) {
        const { NotFound, NotADirectory } = Deno.errors;
        const isGone = error instanceof NotFound || error instanceof NotADirectory;
        if (isGone || error instanceof ChangedError) continue;
        if (error instanceof ActionError) throw error;
        if (error instanceof NotUtf8Error) throw new ActionError(error.message, { cause: error });
        const why = messageOf(error);
        throw new ActionError(`Cannot take a snapshot of ${directory}: ${why}`, { cause: error });
      }
    }
    throw new ActionError(`Cannot take a snapshot of ${directory}: its files keep changing`);
  }

  async #commitOf(root: string, entries: readonly TreeEntry[]): Promise<string> {
    const contents = new Map<string, Content>();
    const commit = await commitOf(entries, async (file) => {
      const content = await this.#contentOf(root, file);
      contents.set(file.path, content);
      return content.hash;
    });
    this.#contents = contents;
    return commit;
  }

  async #contentOf(root: string, file: FileEntry): Promise<Content> {
    const stamp = stampOf(file);
    const known = this.#contents.get(file.path);
    if (known?.isSettled && known.stamp === stamp) return known;
    // The file system's time is the machine's, whatever clock the service is given.
    const isSettled = Date.now() - file.ctime_ms >= SETTLED_AFTER_MS;
    return { stamp, hash: await hashOf(root, file), isSettled };
  }
}

/** Returns false if the copy that a snapshot once was is damaged: its name is the hash of its contents. */
export async function isSnapshot(folder: string, commit: string): Promise<boolean> {
  try {
    const root = await Deno.realPath(folder);
    return await commitOf(await listTree(root), (file) => hashOf(root, file)) === commit;
  } catch (error) {
    const { NotFound, NotADirectory } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotADirectory) return false;
    throw error;
  }
}

/** Returns `~` and a hash of the paths, modes and contents of what a tree holds. */
async function commitOf(
  entries: readonly TreeEntry[],
  hashFile: (file: FileEntry) => Promise<string>,
): Promise<string> {
  const hashes = new Map<string, string>();
  const files = entries.filter((entry) => entry.kind === "file");
  for (let start = 0; start < files.length; start += READ_AT_ONCE) {
    await settleAll(
      files.slice(start, start + READ_AT_ONCE).map(async (file) => {
        hashes.set(file.path, await hashFile(file));
      }),
    );
  }
  const hash = createHash("sha256");
  for (const entry of entries) {
    const { kind, path } = entry;
    const of = entry.kind === "file"
      ? [entry.mode, hashes.get(path)]
      : entry.kind === "link"
      ? [entry.target]
      : [];
    hash.update(JSON.stringify([kind, path, ...of]));
  }
  return `~${hash.digest("hex")}`;
}

/** A file that was changed, or replaced, while it was read. */
class ChangedError extends HooklaunchError {
  override readonly code = "file_changed";

  constructor(path: string) {
    super(`Cannot read ${path}: it was changed meanwhile`);
  }
}

async function realFolder(directory: string): Promise<string> {
  try {
    const root = await Deno.realPath(directory);
    if ((await Deno.stat(root)).isDirectory) return root.endsWith(sep) ? root.slice(0, -1) : root;
  } catch {
    // The message below says what is wrong.
  }
  throw new ActionError(`Cannot use the folder ${directory}: it does not exist or is no folder`);
}

/** Returns what is wrong with the folder of a project, with pointers into the project. */
export async function folderProblems(directory: string): Promise<Problem[]> {
  try {
    await realFolder(directory);
    return [];
  } catch (error) {
    return [{ pointer: "/directory", detail: messageOf(error) }];
  }
}

/** Another text when a file has changed, but for what {@linkcode SETTLED_AFTER_MS} says. */
function stampOf({ size, mtime_ms, ctime_ms, inode }: FileEntry): string {
  return [size, mtime_ms, ctime_ms, inode].join(" ");
}

async function hashOf(root: string, file: FileEntry): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunksOf(root, file)) hash.update(chunk);
  return hash.digest("hex");
}

async function copyListed(root: string, file: FileEntry, target: string): Promise<void> {
  using copy = await Deno.open(target, { write: true, createNew: true });
  for await (const chunk of chunksOf(root, file)) await writeAll(copy, chunk);
  await Deno.chmod(target, file.mode);
  await copy.sync();
}

/**
 * Reads a file that was listed. Who may write to the folder may have put a link to what is outside of it
 * in the place of the file, or of a folder on the way to it. Each chunk is valid until the next is asked for.
 *
 * @throws {ChangedError} when it is another one
 */
async function* chunksOf(root: string, listed: FileEntry): AsyncGenerator<Uint8Array> {
  const path = join(root, listed.path);
  using file = await Deno.open(path);
  const isListed = (info: Deno.FileInfo) => stampOf(fileEntry("", info)) === stampOf(listed);
  // It may have been listed by way of a link as well. That is seen unless the link comes and goes at
  // just the right moments, each time.
  const isInPlace = isListed(await file.stat()) && await Deno.realPath(path) === path &&
    isListed(await Deno.lstat(path));
  if (!isInPlace) throw new ChangedError(path);
  const buffer = new Uint8Array(Math.min(READ_BYTES, listed.size + 1));
  for (let left = listed.size;;) {
    const length = await file.read(buffer);
    if (length === null) return;
    left -= length;
    // It grows, maybe for ever.
    if (left < 0) throw new ChangedError(path);
    yield buffer.subarray(0, length);
  }
}
