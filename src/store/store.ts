/**
 * The database as the other files of this folder see it. `open_store.ts` opens one.
 *
 * @module
 */
import type { ArtifactStore } from "../artifacts/store.ts";
import type { Reads } from "./read/batched_get.ts";
import type { Committer, Intake } from "./commit/committer.ts";
import type { Shared } from "./shared_store.ts";
import type { DatabaseGuard } from "./file/database_guard.ts";
import type { WakeUpQueue } from "./commit/wake_up_queue.ts";
import type { TellEnd, TellsStatus } from "./notice.ts";

/** An open database. Everything that is stored goes through the functions of this folder. */
export interface Store extends AsyncDisposable {
  readonly kv: Deno.Kv;
  /** Stores everything but launches. Where several instances share the database, the leader's alone. */
  readonly committer: Committer;
  /** Stores launches, and what no other instance writes. On a file it is the committer. */
  readonly intake: Intake;
  /** The part of this instance, where several share the database. */
  readonly shared: Shared | undefined;
  /** The queue that wakes the worker. A remote database has none. */
  readonly queue: WakeUpQueue | undefined;
  /** Reads single values, those together that are asked for at the same time. */
  readonly reads: Reads;
  /** Holds long payloads, for all instances; absent where the database holds them. */
  readonly artifacts?: ArtifactStore;
  /** Aborted once the database is lost: to another process, or since its files are gone or the disk fails. */
  readonly lost: AbortSignal;
  /** Checks that the database's files are those that were opened. A remote database has none. */
  readonly guard: DatabaseGuard | undefined;
  /**
   * Reads the notifiers anew where another instance may have changed them; undefined where they are known. Absent
   * where the database is this instance's alone.
   */
  refreshNotifiers?(): Promise<void> | undefined;
  /** Makes what the commit of an end of work stores for notifiers; absent while there are none. */
  tellEnd?: TellEnd | undefined;
  /** Tells whether a status is set on the commit that a run is about; absent while there is no notifier that does. */
  tellsStatus?: TellsStatus | undefined;
  /** Resolves to true when the database answers and stores. */
  probe(): Promise<boolean>;
  /** Waits for what is being written, then closes the database and frees the data folder. */
  close(): Promise<void>;
}

/** Returns true where this instance stores what the leader alone stores: it leads, or has the database alone. */
export function storesAsLeader({ shared }: Pick<Store, "shared">): boolean {
  return shared === undefined || shared.ownership !== undefined;
}
