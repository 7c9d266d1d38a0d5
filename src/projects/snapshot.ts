/**
 * Snapshots of plain folders: what a folder held at one moment, under a name that stands for exactly
 * that.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, sep } from "node:path";
import { ActionError } from "../errors.ts";
import { checkLinks, copyTree, listTree, type TreeEntry } from "./tree.ts";
import type { TreeCache } from "./tree_cache.ts";

const FILES_MAX = 100_000;
const BYTES_MAX = 2 * 1024 ** 3;
const ATTEMPTS = 5;

/** How much a snapshot may hold. */
export interface SnapshotLimits {
  filesMax?: number;
  bytesMax?: number;
}

/**
 * Takes a snapshot, unless the folder is as one that is there already. `.git` is left out, and so is the
 * service's own data folder.
 *
 * @param directory the folder, absolute
 * @returns the snapshot's commit: `~` and a hash of the paths, sizes, modes and times of its files
 * @throws {ActionError} when the folder is missing, too large, or has links that lead outside of it
 */
export async function takeSnapshot(
  directory: string,
  trees: TreeCache,
  dataFolder: string,
  limits: SnapshotLimits = {},
): Promise<string> {
  const { filesMax = FILES_MAX, bytesMax = BYTES_MAX } = limits;
  const root = await realFolder(directory);
  const hidden = await Deno.realPath(dataFolder).catch(() => dataFolder);
  const skip = (path: string) => path === ".git" || join(root, path) === hidden;
  const look = () => listTree(root, { skip, filesMax, bytesMax });
  // A tree that changes while it is copied is copied again.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entries = await look();
    await checkLinks(root, entries);
    const commit = commitOf(entries);
    try {
      await trees.ensure(commit, async (folder) => {
        await copyTree(root, entries, folder);
        if (commitOf(await look()) !== commit) throw new ChangedError();
      });
      return commit;
    } catch (error) {
      const isGone = error instanceof Deno.errors.NotFound;
      if (!isGone && !(error instanceof ChangedError)) throw error;
    }
  }
  throw new ActionError(`Cannot take a snapshot of ${directory}: its files keep changing`);
}

class ChangedError extends Error {
  override readonly name = "ChangedError";
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

function commitOf(entries: readonly TreeEntry[]): string {
  const hash = createHash("sha256");
  for (const entry of entries) {
    hash.update(JSON.stringify(Object.values(entry)));
  }
  return `~${hash.digest("hex")}`;
}
