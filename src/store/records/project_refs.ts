/**
 * The commits that the references of a project had at its last fetch, of repositories that no mirror keeps.
 *
 * @module
 */
import { keys } from "../keys.ts";
import { readValue } from "../read/scan.ts";
import { type Store, storesAsLeader } from "../store.ts";
import { recordWrite } from "./record_size.ts";

/** A reference, and the commit that it had. */
interface KeptRef {
  commit: string;
  /** The place that named it, and the ETag of the answer. */
  place?: string;
  etag?: string;
  /** The fetch after which it was found. */
  fetch: number;
}

/** The known references of a repository. */
export interface KeptRefs {
  /** The repository, and how it is read. */
  origin: string;
  /** The number of fetches. A reference that was found before the last one is looked up again. */
  fetch: number;
  /** By reference, the one used last at the end. */
  refs: [reference: string, found: KeptRef][];
}

/** Keeps what is known of repositories. */
export interface RefsKeeper {
  get(project: string): Promise<KeptRefs | undefined>;
  /** Stores what is known, or removes it. */
  put(project: string, refs: KeptRefs | undefined): Promise<void>;
}

/** Returns a keeper in a database. */
export function refsKeeper(store: Store): RefsKeeper {
  return {
    async get(project) {
      const value = await readValue(store.kv, keys.projectRefs(project));
      return isKeptRefs(value) ? value : undefined;
    },
    async put(project, refs) {
      // What others find beside the leader is not remembered.
      if (!storesAsLeader(store)) return;
      const key = keys.projectRefs(project);
      await store.committer.write([refs === undefined ? { key } : recordWrite(key, refs)]);
    },
  };
}

/** Returns a keeper in memory. */
export function refsInMemory(): RefsKeeper {
  const kept = new Map<string, KeptRefs | undefined>();
  return {
    get: (project) => Promise.resolve(kept.get(project)),
    put: (project, refs) => Promise.resolve(void kept.set(project, refs)),
  };
}

/** Removes what is known of a project's repository, if anything is. */
export async function forgetRefs(refs: RefsKeeper, project: string): Promise<void> {
  if (await refs.get(project) !== undefined) await refs.put(project, undefined);
}

/** Returns false for a damaged record: what it held is asked again. */
function isKeptRefs(value: unknown): value is KeptRefs {
  const { origin, fetch, refs } = Object(value);
  return typeof origin === "string" && typeof fetch === "number" && Array.isArray(refs);
}
