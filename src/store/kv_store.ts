/**
 * A store on a Deno KV that is open: a file, or a remote one that several instances share.
 *
 * @module
 */
import type { ArtifactStore } from "../artifacts/store.ts";
import type { Clock } from "../platform/clock.ts";
import { ConflictError } from "../platform/errors.ts";
import { SharedRead } from "../platform/waiting/shared_read.ts";
import { within } from "../platform/waiting/timers.ts";
import { Committer, type CommitterEvents, type Intake } from "./commit/committer.ts";
import { removeInstanceWrites } from "./commit/lane_records.ts";
import type { Ownership } from "./commit/ownership.ts";
import { WakeUpQueue } from "./commit/wake_up_queue.ts";
import type { DatabaseGuard } from "./file/database_guard.ts";
import { FORMAT_VERSION, keys, NEWER_FORMAT } from "./keys.ts";
import { migrate } from "./migrations.ts";
import { Reads } from "./read/batched_get.ts";
import type { Shared } from "./shared_store.ts";
import type { Store } from "./store.ts";

/** Time limit for writes to a remote database when the store is closed. */
const DRAIN_MS = 5_000;

/** The parts of a store on a database that is open. */
interface StoreParts {
  clock: Clock;
  artifacts?: ArtifactStore;
  events: CommitterEvents | undefined;
  ownership: Ownership | undefined;
  shared?: Shared | undefined;
  guard: DatabaseGuard | undefined;
  /** Resources that are closed with the store. */
  opened: AsyncDisposableStack;
}

/**
 * Makes a store on a database that is open, and brings what is stored up to this version's format. Closes the
 * store if that fails.
 */
export async function assembleStore(
  kv: Deno.Kv,
  parts: StoreParts,
  { where, keepFormat = false }: { where: string; keepFormat?: boolean },
): Promise<Store> {
  const store = new OpenStore(kv, parts);
  try {
    // Otherwise the leader does it.
    if (parts.shared === undefined) await prepareFormat(store, { where, keepFormat });
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The pause between two looks at the other instances, where each look has its price. */
const LOOK_MS = 1_000;

/** Options of {@linkcode openSharedStore}. */
interface SharedStoreOptions {
  /** The id of this instance. */
  id: string;
  clock: Clock;
  events?: CommitterEvents;
  artifacts?: ArtifactStore;
}

/** Opens a store on a remote Deno KV that instances without data folders share. Closing it closes the Deno KV. */
export async function openSharedStore(
  kv: Deno.Kv,
  { id, clock, events, artifacts }: SharedStoreOptions,
): Promise<Store> {
  await using opened = new AsyncDisposableStack();
  opened.use(kv);
  const { Shared } = await import("./shared_store.ts");
  const shared = await Shared.join({ kv, clock, events, id, look_ms: LOOK_MS });
  opened.defer(() => shared.leave());
  const none = { ownership: undefined, guard: undefined };
  const parts = { clock, events, shared, ...none, ...(artifacts && { artifacts }) };
  return await assembleStore(kv, { ...parts, opened: opened.move() }, { where: "this database" });
}

class OpenStore implements Store {
  readonly reads: Reads;
  readonly committer: Committer;
  readonly intake: Intake;
  readonly shared: Shared | undefined;
  readonly queue: WakeUpQueue | undefined;
  readonly lost: AbortSignal;
  readonly guard: DatabaseGuard | undefined;
  readonly artifacts?: ArtifactStore;
  readonly #clock: Clock;
  readonly #isRemote: boolean;
  readonly #opened: AsyncDisposableStack;
  readonly #probe: SharedRead<boolean>;
  #trial: Promise<boolean> | undefined;

  constructor(readonly kv: Deno.Kv, parts: StoreParts) {
    const { clock, events, ownership, shared, guard, opened, artifacts } = parts;
    if (artifacts) this.artifacts = artifacts;
    this.reads = new Reads(kv);
    this.queue = ownership === undefined && shared === undefined
      ? new WakeUpQueue(kv, clock)
      : undefined;
    this.#clock = clock;
    this.#probe = new SharedRead(() => this.#look(), clock);
    this.committer = new Committer(kv, {
      clock,
      events: events ?? {},
      fence: shared ?? ownership,
      guard,
      queue: this.queue,
    });
    this.intake = shared?.lanes ?? this.committer;
    this.shared = shared;
    this.guard = guard;
    this.#isRemote = ownership !== undefined || shared !== undefined;
    this.lost = shared?.lost ?? ownership?.lost ?? guard?.lost ?? new AbortController().signal;
    this.#opened = opened;
    ownership?.showAlive(this.committer);
  }

  probe(): Promise<boolean> {
    return this.#probe.run();
  }

  async #look(): Promise<boolean> {
    if (this.guard?.isIntact() === false) return false;
    if ((await this.kv.get(keys.format())).value !== FORMAT_VERSION) return false;
    if (this.shared) return this.shared.instances.obstacle === undefined;
    return await this.committer.isStoring() || await this.#tryStoring();
  }

  /** Tries a write: a database that cannot store may still be read, and idle services write nothing else. */
  #tryStoring(): Promise<boolean> {
    return this.#trial ??= this.committer.write([{ key: keys.format(), value: FORMAT_VERSION }])
      .then(() => true, () => false)
      .finally(() => this.#trial = undefined);
  }

  async close(): Promise<void> {
    const drained = Promise.all([this.committer.drain(), this.shared?.lanes.drain()]);
    // A remote database may not answer, and is asked again for ever.
    await (this.#isRemote ? within(this.#clock, DRAIN_MS, drained) : drained);
    this.queue?.close();
    this.guard?.close();
    await this.#opened.disposeAsync();
    await this.queue?.ended();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Waits until this instance leads the others, and brings what is stored up to this version's format.
 *
 * @throws {ConflictError} when this version cannot read its format
 */
export async function lead(store: Store, where: string): Promise<void> {
  const { shared, kv, committer } = store;
  if (shared === undefined) return;
  const ownership = await shared.lead();
  ownership.showAlive(committer);
  const { value } = await kv.get<number>(keys.format());
  if (value !== null && value < FORMAT_VERSION) {
    // Instances of an earlier version must store nothing in their format any more.
    for await (const { key } of kv.list({ prefix: ["instance"] })) {
      const id = String(key[1]);
      if (id !== shared.id) await committer.write(removeInstanceWrites(id));
    }
  }
  await prepareFormat(store, { where, keepFormat: false });
  // Instances without machines are never noted as gone, and each read has its price there.
  if (shared.machineId !== shared.id) await shared.instances.gone.load(kv);
  shared.instances.remove = (writes) => committer.write(writes);
  // It accepts no launch before it has seen the format. From this look on it counts what others accept. Pending runs are
  // listed later, so some of these count twice until all were looked at.
  await shared.instances.look();
}

async function prepareFormat(
  { kv, committer }: Store,
  { where, keepFormat }: { where: string; keepFormat: boolean },
): Promise<void> {
  const { value } = await kv.get<number>(keys.format());
  if (value === null) {
    await committer.write([{ key: keys.format(), value: FORMAT_VERSION }]);
  } else if (!Number.isInteger(value) || value < 1 || value > FORMAT_VERSION) {
    const hint = value > FORMAT_VERSION ? `; ${NEWER_FORMAT}` : "";
    throw new ConflictError(
      `Cannot open the data in ${where}: its format is ${value}, ` +
        `and this version reads format ${FORMAT_VERSION}${hint}`,
    );
  } else if (!keepFormat) {
    await migrate({ kv, committer }, { where, from: value });
  }
}
