/**
 * The database as the other files of this folder see it. `open_store.ts` opens one.
 *
 * @module
 */
import type { ArtifactStore } from "../artifacts/store.ts";
import type { Reads } from "./read/batched_get.ts";
import type { Committer } from "./commit/committer.ts";
import type { DatabaseGuard } from "./file/database_guard.ts";
import type { WakeUpQueue } from "./commit/wake_up_queue.ts";

/** An open database. Everything that is stored goes through the functions of this folder. */
export interface Store extends AsyncDisposable {
  readonly kv: Deno.Kv;
  readonly committer: Committer;
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
  /** Resolves to true when the database answers and stores. */
  probe(): Promise<boolean>;
  /** Waits for what is being written, then closes the database and frees the data folder. */
  close(): Promise<void>;
}
