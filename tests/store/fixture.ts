/**
 * What the tests of everything that is stored share: a store to write to, and a database that a test
 * can look into and break.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { Committer, type CommitterEvents } from "../../src/store/commit/committer.ts";
import { Reads } from "../../src/store/read/batched_get.ts";
import { pendingEntries, type PendingRun } from "../../src/store/records/runs.ts";
import { assembleStore, lead } from "../../src/store/kv_store.ts";
import { openStore, type OpenStoreOptions } from "../../src/store/open_store.ts";
import { Shared } from "../../src/store/shared_store.ts";
import type { Store } from "../../src/store/store.ts";
import { WakeUpQueue } from "../../src/store/commit/wake_up_queue.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { temporaryFolder } from "../surroundings.ts";

/** A data folder and the store that is open on it. Both are gone at the end of its scope. */
export interface TestStore extends AsyncDisposable {
  readonly folder: string;
  /** The store that is open now. */
  readonly store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
}

/** Opens a store on a data folder of its own. */
export async function openTestStore(options: OpenStoreOptions = {}): Promise<TestStore> {
  const folder = await temporaryFolder();
  let store = await openStore(folder.path, options);
  return {
    folder: folder.path,
    get store() {
      return store;
    },
    async reopen() {
      await store.close();
      return store = await openStore(folder.path, options);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The value of records that {@linkcode damageMarked} damages. */
export const TO_DAMAGE = "this is to be damaged";

/** Overwrites the bytes of marked values in a database file, as a disk that lies would, and returns their number. */
export function damageMarked(file: string): number {
  using database = new DatabaseSync(file, { timeout: 10_000 });
  const damage = "update kv set v = x'ff0fdeadbeef' where instr(v, cast(? as blob)) > 0";
  return Number(database.prepare(damage).run(TO_DAMAGE).changes);
}

/** One commit, as a test sees it. */
export interface SeenCommit {
  /** The keys that are set or deleted, in order. */
  keys: Deno.KvKey[];
  /** The messages that are enqueued. */
  messages: unknown[];
}

/** Stands between a committer and the database: calls `store` to let a commit through. */
export type Between = (
  commit: SeenCommit,
  store: () => Promise<Deno.KvCommitResult | Deno.KvCommitError>,
) => Promise<Deno.KvCommitResult | Deno.KvCommitError>;

/** A store in memory whose commits pass a function of the test. */
export async function storeInMemory(
  between: Between = (_commit, store) => store(),
  events: CommitterEvents = {},
): Promise<Store> {
  return storeOn(watchedKv(await Deno.openKv(":memory:"), between), events);
}

/** A store on a database that a test has opened. */
export function storeOn(kv: Deno.Kv, events: CommitterEvents = {}): Store {
  const queue = new WakeUpQueue(kv);
  const committer = new Committer(kv, { events, queue });
  const close = async () => {
    await committer.drain();
    queue.close();
    kv.close();
    await queue.ended();
  };
  return {
    kv,
    lost: new AbortController().signal,
    committer,
    intake: committer,
    shared: undefined,
    queue,
    guard: undefined,
    reads: new Reads(kv),
    probe: () => Promise.resolve(true),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Opens the store of an instance that shares a database with others. */
export async function sharedStore(
  kv: Deno.Kv,
  clock: Clock,
  { leads = true, machineId = String(crypto.randomUUID()), look_ms = 250 } = {},
): Promise<Store> {
  const opened = new AsyncDisposableStack();
  const shared = await Shared.join({ kv, clock, id: crypto.randomUUID(), machineId, look_ms });
  opened.defer(() => shared.leave());
  const parts = {
    clock,
    events: undefined,
    ownership: undefined,
    shared,
    guard: undefined,
    opened,
  };
  const store = await assembleStore(kv, parts, { where: "memory" });
  if (leads) await lead(store, "memory");
  return store;
}

/** A database whose atomic operations pass a function of the test. */
export function watchedKv(kv: Deno.Kv, between: Between): Deno.Kv {
  return standIn(kv, { atomic: () => watchedOperation(kv.atomic(), between) });
}

function watchedOperation(operation: Deno.AtomicOperation, between: Between) {
  const seen: SeenCommit = { keys: [], messages: [] };
  const watched: Deno.AtomicOperation = standIn(operation, {
    check(...checks: Deno.AtomicCheck[]) {
      operation.check(...checks);
      return watched;
    },
    set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }) {
      operation.set(key, value, options);
      seen.keys.push(key);
      return watched;
    },
    delete(key: Deno.KvKey) {
      operation.delete(key);
      seen.keys.push(key);
      return watched;
    },
    enqueue(message: unknown, options?: { backoffSchedule?: number[] }) {
      operation.enqueue(message, options);
      seen.messages.push(message);
      return watched;
    },
    commit: () => between(seen, () => operation.commit()),
  });
  return watched;
}

/** An object that does what `target` does, but for the methods that are given. */
export function standIn<T extends object>(target: T, methods: Record<string, unknown>): T {
  return new Proxy(target, {
    get(_target, name) {
      const own = typeof name === "string" ? methods[name] : undefined;
      const value: unknown = own ?? Reflect.get(target, name, target);
      return typeof value === "function" && own === undefined ? value.bind(target) : value;
    },
  });
}

/** Everything that is stored, by its key as JSON. */
export async function contents(store: Store): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const { key, value } of store.kv.list({ prefix: [] })) {
    found.set(JSON.stringify(key), value);
  }
  return found;
}

/** The second parts of all keys that begin with `first`, such as the ids of all runs. */
export async function storedUnder(store: Store, first: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.kv.list({ prefix: [first] })) found.push(String(key[1]));
  return found;
}

/** The runs that have not ended, oldest first, but for those whose record is damaged. */
export async function* listPending(store: Store): AsyncGenerator<PendingRun> {
  for await (const { pending } of pendingEntries(store)) if (pending) yield pending;
}
