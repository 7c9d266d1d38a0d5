/**
 * The snapshots of plain folders that lie in an artifact store that all instances share.
 *
 * @module
 */
import { keys } from "../keys.ts";
import { recordOf } from "../read/lists.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { recordWrite } from "./record_size.ts";

/** A snapshot in the artifact store, or one on its way there. */
export interface StoredSnapshot {
  project: string;
  /** `~` and a hash. */
  commit: string;
  /** Of the artifact. Each has its own, so that the removal of one never hits a later one. */
  id: string;
  /** False until all of it is there. */
  whole: boolean;
  /** The time when it was last needed, in milliseconds since the epoch. It may be hours late. */
  usedAt_ms: number;
}

/** Keeps which snapshots are stored. */
export interface SnapshotRecords {
  get(project: string, commit: string): Promise<StoredSnapshot | undefined>;
  /** Lists all. */
  list(): AsyncIterable<StoredSnapshot>;
  put(snapshot: StoredSnapshot): Promise<void>;
  remove(snapshot: StoredSnapshot): Promise<void>;
}

/** Returns records in a database. */
export function snapshotRecords(store: Store): SnapshotRecords {
  return {
    async get(project, commit) {
      const key = keyOf({ project, commit });
      const value = await readValue(store.kv, key);
      return value === null ? undefined : recordOf<StoredSnapshot>({ key, value });
    },
    async *list() {
      for await (const entry of scan(store.kv, ["stored_snapshot"], { ids: 2 })) {
        const snapshot = recordOf<StoredSnapshot>(entry);
        if (snapshot !== undefined) yield snapshot;
      }
    },
    put: (snapshot) => store.committer.write([recordWrite(keyOf(snapshot), snapshot)]),
    remove: (snapshot) => store.committer.write([{ key: keyOf(snapshot) }]),
  };
}

function keyOf({ project, commit }: Pick<StoredSnapshot, "project" | "commit">): Deno.KvKey {
  return keys.storedSnapshot(project, commit.slice(1));
}
