/**
 * Snapshots in an artifact store that all instances share: what was accepted on one machine goes on, on another,
 * with the same files.
 *
 * @module
 */
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { ActionError, HooklaunchError } from "../../platform/errors.ts";
import { syncFolders } from "../../platform/files/durable.ts";
import type { SnapshotRecords, StoredSnapshot } from "../../store/records/stored_snapshots.ts";
import { isSnapshot } from "./snapshot.ts";
import type { TreeSource } from "./tree_cache.ts";

/** The time after which a snapshot that is needed again is noted as such. Cleanup removes it a day later. */
const NOTED_AFTER_MS = 60 * 60_000;

/** Options of {@linkcode StoredSnapshots}. */
export interface StoredSnapshotsOptions {
  artifacts: ArtifactStore;
  records: SnapshotRecords;
  clock: Clock;
}

/** Puts snapshots into an artifact store, and gets them from there. */
export class StoredSnapshots {
  readonly #options: StoredSnapshotsOptions;
  /** The times when snapshots that are known to be stored were noted last, by project and commit. */
  readonly #notedAt_ms = new Map<string, number>();
  readonly #keeping = new Map<string, Promise<void>>();
  readonly #removing = new Map<string, Promise<void>>();

  constructor(options: StoredSnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Stores a snapshot unless it is stored.
   *
   * @param folder its files
   * @throws {UnavailableError} when the artifact store cannot be used now
   */
  async keep(project: string, commit: string, folder: string): Promise<void> {
    const key = `${project}/${commit}`;
    const notedAt_ms = this.#notedAt_ms.get(key) ?? -Infinity;
    if (this.#options.clock.now() - notedAt_ms < NOTED_AFTER_MS) return;
    for (let removing; (removing = this.#removing.get(key)) !== undefined;) await removing;
    await this.#keeping.getOrInsertComputed(
      key,
      () => this.#store(project, commit, folder).finally(() => this.#keeping.delete(key)),
    );
  }

  /**
   * Writes the files of a stored snapshot into an empty folder.
   *
   * @returns false when it is not stored
   * @throws {ActionError} when what is stored is damaged
   * @throws {UnavailableError} when the artifact store cannot be used now
   */
  async restore(project: string, commit: string, folder: string): Promise<boolean> {
    const { artifacts, records } = this.#options;
    const stored = await records.get(project, commit);
    if (stored === undefined) return false;
    const { extractTree } = await import("./extract_tree.ts");
    const artifact = await artifacts.open(artifactKeys.snapshot(stored.id));
    if (artifact === undefined) return false;
    const damaged = new ActionError(
      `Cannot check out ${commit} of project "${project}": the snapshot in ${artifacts.name} is damaged`,
    );
    await extractTree(artifact.stream, folder).catch((error) => {
      // Those of the artifact store, and of the disk, say nothing of the snapshot.
      throw error instanceof HooklaunchError || Object(error).code !== undefined ? error : damaged;
    });
    if (!await isSnapshot(folder, commit)) throw damaged;
    await syncFolders(folder);
    return true;
  }

  /**
   * Removes snapshots that nothing has needed for some time, also those of deleted projects, and returns how many.
   *
   * @param inUse `<project>/<commit>` of those that stay
   */
  async prune(inUse: ReadonlySet<string>, olderThan_ms: number): Promise<number> {
    let removed = 0;
    for await (const snapshot of this.#options.records.list()) {
      const key = keyOf(snapshot);
      const usedAt_ms = Math.max(snapshot.usedAt_ms, this.#notedAt_ms.get(key) ?? 0);
      const isOld = this.#options.clock.now() - usedAt_ms >= olderThan_ms;
      if (!isOld || inUse.has(key) || this.#keeping.has(key)) continue;
      await this.#remove(snapshot);
      removed++;
    }
    return removed;
  }

  async #store(project: string, commit: string, folder: string): Promise<void> {
    const { artifacts, records, clock } = this.#options;
    const now_ms = clock.now();
    const found = await records.get(project, commit);
    const snapshot = found ??
      { project, commit, id: crypto.randomUUID(), whole: false, usedAt_ms: now_ms };
    // The record comes first, so that whatever is in the store is found and removed one day.
    await records.put({ ...snapshot, usedAt_ms: now_ms });
    if (!snapshot.whole) {
      const { tarOf } = await import("./folder_tar.ts");
      const tar = await tarOf(folder);
      await artifacts.add(artifactKeys.snapshot(snapshot.id), tar);
      await records.put({ ...snapshot, whole: true, usedAt_ms: now_ms });
    }
    this.#notedAt_ms.set(`${project}/${commit}`, now_ms);
  }

  async #remove(snapshot: StoredSnapshot): Promise<void> {
    const { artifacts, records } = this.#options;
    const key = keyOf(snapshot);
    this.#notedAt_ms.delete(key);
    const remove = async (): Promise<void> => {
      // Whatever of this a crash leaves out, no artifact is forgotten, and none that is gone counts as stored.
      await records.put({ ...snapshot, whole: false });
      await artifacts.remove(artifactKeys.snapshot(snapshot.id));
      await records.remove(snapshot);
    };
    const removing = remove().finally(() => this.#removing.delete(key));
    this.#removing.set(key, removing);
    await removing;
  }
}

function keyOf({ project, commit }: StoredSnapshot): string {
  return `${project}/${commit}`;
}

/** Returns what makes the tree of a snapshot again on a machine that does not have it. */
export function snapshotTree(
  project: string,
  commit: string,
  stored: StoredSnapshots | undefined,
): TreeSource {
  const make = async (folder: string): Promise<void> => {
    if (await stored?.restore(project, commit, folder)) return;
    throw new ActionError(
      `Cannot check out ${commit} of project "${project}": the snapshot is not kept any more; launch it again`,
    );
  };
  return { make, isWhole: (folder) => isSnapshot(folder, commit) };
}
