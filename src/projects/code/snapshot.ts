/**
 * Snapshots of plain folders: the contents of a folder at one moment, under a name that is their
 * hash.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, sep } from "node:path";
import { settleAll } from "../../platform/waiting/promises.ts";
import { ActionError, HooklaunchError, messageOf, type Problem } from "../../platform/errors.ts";
import { partWriter, syncFolders } from "../../platform/files/durable.ts";
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
/**
 * A file that was changed later than this may change again without a new time, as times are in
 * seconds.
 */
const SETTLED_AFTER_MS = 2_000;

/** Options of {@linkcode Snapshots}. */
interface SnapshotsOptions {
  /** The folder, absolute. */
  directory: string;
  trees: TreeCache;
  /** The service's data folder, which is left out. */
  dataFolder: string;
  limits: TreeLimits;
}

/** The contents of a file when it was read. */
interface Content {
  /** The file's {@linkcode stampOf}. */
  stamp: string;
  hash: string;
  /** Every later change makes another stamp. */
  isSettled: boolean;
}

/** The snapshots of one folder. */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  /** The contents of the folder's files by path, so that each is read once. */
  #contents = new Map<string, Content>();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Takes a snapshot, unless there is one of the same contents. `.git` and the service's data
   * folder are left out. Do not call it again before it is done.
   *
   * @returns the snapshot's commit: `~` and a hash of the paths, modes and contents of its files
   * @throws {ActionError} when the folder is missing, too large, or has links that lead out of it
   */
  async take(): Promise<string> {
    const { directory, trees, dataFolder, limits } = this.#options;
    const root = await realFolder(directory);
    const hidden = await Deno.realPath(dataFolder).catch(() => dataFolder);
    const skip = (path: string) => path === ".git" || join(root, path) === hidden;
    const look = () => listTree(root, { skip, ...limits });
    // A folder that changes while it is copied is copied again.
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
    // File systems use the machine's clock.
    const isSettled = Date.now() - file.ctime_ms >= SETTLED_AFTER_MS;
    return { stamp, hash: await hashOf(root, file), isSettled };
  }
}

/** Returns false if a snapshot is damaged: its name is not the hash of its contents any more. */
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

/** A file that was changed or replaced while it was read. */
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
    // The error below tells the reason.
  }
  throw new ActionError(`Cannot use the folder ${directory}: it does not exist or is no folder`);
}

/** Returns the problems of the folder of a project, with pointers into the project. */
export async function folderProblems(directory: string): Promise<Problem[]> {
  try {
    await realFolder(directory);
    return [];
  } catch (error) {
    return [{ pointer: "/directory", detail: messageOf(error) }];
  }
}

/**
 * Returns a text that differs after each change of a file, except soon after another (see
 * {@linkcode SETTLED_AFTER_MS}).
 */
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
  const write = partWriter(copy);
  for await (const chunk of chunksOf(root, file)) await write(chunk);
  await Deno.chmod(target, file.mode);
  await copy.sync();
}

/**
 * Reads a file that was listed. Somebody may have replaced it, or a folder on its path, by a link
 * that leads out of the folder. A chunk is valid until the next one is read.
 *
 * @throws {ChangedError} when it is another file
 */
async function* chunksOf(root: string, listed: FileEntry): AsyncGenerator<Uint8Array> {
  const path = join(root, listed.path);
  using file = await Deno.open(path);
  const isListed = (info: Deno.FileInfo) => stampOf(fileEntry("", info)) === stampOf(listed);
  // It may have been listed through a link, too. This check finds it, unless the link comes and
  // goes at the right moments.
  const isInPlace = isListed(await file.stat()) && await Deno.realPath(path) === path &&
    isListed(await Deno.lstat(path));
  if (!isInPlace) throw new ChangedError(path);
  const buffer = new Uint8Array(Math.min(READ_BYTES, listed.size + 1));
  for (let left = listed.size;;) {
    const length = await file.read(buffer);
    if (length === null) return;
    left -= length;
    // It grows, maybe forever.
    if (left < 0) throw new ChangedError(path);
    yield buffer.subarray(0, length);
  }
}
