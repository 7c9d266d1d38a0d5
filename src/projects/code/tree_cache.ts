/**
 * The cache of the trees of commits: an execution gets its private copy without git. A tree is made
 * in a temporary folder and renamed. After a power cut its name can be there without its contents,
 * so the first use after a start verifies it, and a damaged one is made again.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import { syncFolder } from "../../platform/files/durable.ts";
import { exists } from "../../platform/files/missing_file.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { copyByShell, copyTree, listTree, NotUtf8Error, type TreeEntry } from "./tree.ts";

const LISTINGS_MAX = 64;
const TEMPORARY = "tmp-";

const log = getLogger(["hooklaunch", "projects"]);

/** The source of a commit's tree. */
export interface TreeSource {
  /** Writes the tree into an empty folder. */
  make(folder: string): Promise<void>;
  /** Returns false if a tree that an earlier process has left is damaged. */
  isWhole(folder: string): Promise<boolean>;
}

/** A cache of trees, by their commits. */
export class TreeCache {
  readonly #folder: string;
  readonly #clock: Clock;
  /** The commits whose trees this process has made or verified. */
  readonly #whole = new Set<string>();
  /** The contents of the trees that were used last. */
  readonly #listings = new Map<string, TreeEntry[]>();
  readonly #making = new Map<string, Promise<void>>();
  readonly #usedAt_ms = new Map<string, number>();

  /** @param folder where the trees are, one folder a commit */
  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** The folder of a commit's tree, whether it is there or not. */
  pathOf(commit: string): string {
    return join(this.#folder, commit);
  }

  /** Makes a commit's tree unless it is there, and whole. */
  async ensure(commit: string, source: TreeSource): Promise<void> {
    this.#usedAt_ms.set(commit, this.#clock.now());
    if (this.#listings.has(commit)) return;
    if (this.#whole.has(commit) && await exists(this.pathOf(commit))) return;
    try {
      await this.#making.getOrInsertComputed(commit, () => this.#makeOrVerify(commit, source));
    } finally {
      this.#making.delete(commit);
    }
  }

  /** Copies a commit's tree, which must be there, into a new folder. */
  async copy(commit: string, destination: string): Promise<void> {
    const entries = this.#listings.get(commit) ?? await listOrNone(this.pathOf(commit));
    if (entries === undefined) return await copyByShell(this.pathOf(commit), destination);
    this.#listings.delete(commit);
    this.#listings.set(commit, entries);
    evictOldest(this.#listings, LISTINGS_MAX);
    try {
      Deno.mkdirSync(destination, { mode: 0o700 });
      await copyTree(this.pathOf(commit), entries, destination);
    } catch (error) {
      // Somebody may have changed the cache: the next use lists it again.
      this.#listings.delete(commit);
      throw error;
    }
  }

  /**
   * Removes trees that were not used for some time, and returns how many.
   *
   * @param keep returns true for a commit whose tree stays
   */
  async prune(keep: (commit: string) => boolean, olderThan_ms: number): Promise<number> {
    let removed = 0;
    const names = await Array.fromAsync(Deno.readDir(this.#folder)).catch(() => []);
    for (const { name } of names) {
      if (this.#making.size > 0 && name.startsWith(TEMPORARY)) continue;
      const path = this.pathOf(name);
      const made_ms = await madeAt_ms(path);
      const usedAt_ms = this.#usedAt_ms.get(name) ?? made_ms;
      if (keep(name) || this.#clock.now() - usedAt_ms < olderThan_ms) continue;
      await this.#remove(name);
      removed++;
    }
    return removed;
  }

  async #makeOrVerify(commit: string, { make, isWhole }: TreeSource): Promise<void> {
    if (await exists(this.pathOf(commit)) && !await isWhole(this.pathOf(commit))) {
      log.warn("The tree of commit {commit} in {folder} is damaged and is made again", {
        commit,
        folder: this.#folder,
      });
      await this.#remove(commit);
    }
    if (!await exists(this.pathOf(commit))) await this.#make(commit, make);
    this.#whole.add(commit);
  }

  async #remove(name: string): Promise<void> {
    this.#usedAt_ms.delete(name);
    this.#listings.delete(name);
    this.#whole.delete(name);
    // Renamed first, so that nobody takes what is left of it for the whole tree.
    const trash = this.pathOf(TEMPORARY + crypto.randomUUID());
    Deno.renameSync(this.pathOf(name), trash);
    await removeTree(trash);
  }

  async #make(commit: string, make: TreeSource["make"]): Promise<void> {
    const path = this.pathOf(commit);
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const folder = await Deno.makeTempDir({ dir: dirname(path), prefix: TEMPORARY });
    try {
      await make(folder);
      await Deno.rename(folder, path);
      await syncFolder(dirname(path));
    } catch (error) {
      await removeTree(folder).catch(() => {});
      throw error;
    }
  }
}

/** Lists a tree; returns undefined if it has names that no list can have. */
async function listOrNone(path: string): Promise<TreeEntry[] | undefined> {
  try {
    return await listTree(path);
  } catch (error) {
    if (error instanceof NotUtf8Error) return undefined;
    throw error;
  }
}

async function madeAt_ms(path: string): Promise<number> {
  return await Deno.lstat(path).then((info) => info.mtime?.getTime() ?? 0, () => 0);
}
