/**
 * The part of a store that is there where several instances share its database.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { UnavailableError } from "../platform/errors.ts";
import { within } from "../platform/waiting/timers.ts";
import { ClaimMark } from "./commit/claims.ts";
import type { Fence } from "./commit/committer.ts";
import { Instances } from "./commit/instances.ts";
import { Lanes, type LanesParts } from "./commit/lanes.ts";
import { Ledgers } from "./commit/ledgers.ts";
import { Ownership, type OwnershipOptions } from "./commit/ownership.ts";
import { TriggerVersion } from "./commit/trigger_version.ts";

/** Time limit to learn whether an instance that leaves has just become the leader. */
const LEAVE_MS = 1_000;

const NOT_LEADING = new UnavailableError(
  "Cannot store: this instance does not lead. Ask the leader",
  1,
);

/** An instance's part in a database that several share. */
export interface SharedOptions {
  kv: Deno.Kv;
  clock: Clock;
  id: string;
  /** The machine that it runs on, by its data folder. Default: one of its own. */
  machineId?: string;
  events?: LanesParts["events"] | undefined;
  look_ms?: number;
  ownership?: OwnershipOptions | undefined;
}

/** The part of one instance in a database that several share. */
export class Shared implements Fence {
  readonly id: string;
  readonly machineId: string;
  readonly instances: Instances;
  readonly triggers: TriggerVersion;
  readonly ledgers = new Ledgers();
  /** Up to where the leader has claimed the runs that this instance has accepted. */
  readonly claimed: ClaimMark;
  readonly lanes: Lanes;
  readonly #options: SharedOptions;
  readonly #lost = new AbortController();
  readonly #leaving = new AbortController();
  #taking: Promise<unknown> = Promise.resolve();
  #ownership: Ownership | undefined;

  private constructor(
    options: SharedOptions,
    { instances, triggers, versionstamp }: {
      instances: Instances;
      triggers: TriggerVersion;
      versionstamp: string;
    },
  ) {
    const { kv, clock, id, events, ownership } = options;
    this.id = id;
    this.machineId = instances.machineId;
    this.instances = instances;
    this.triggers = triggers;
    this.claimed = new ClaimMark(kv, id, { value: "", versionstamp });
    this.#options = options;
    const onFenced = () => this.#lost.abort();
    const answer_ms = ownership?.answer_ms;
    const parts = { kv, clock, instanceId: id, triggers, answer_ms, onFenced };
    this.lanes = new Lanes({ ...parts, ...(events && { events }) }, versionstamp);
  }

  /** Joins the instances of a database. */
  static async join(options: SharedOptions): Promise<Shared> {
    const { kv, clock, id, machineId = id, look_ms, ownership } = options;
    const triggers = new TriggerVersion(kv);
    await triggers.sync();
    let shared: Shared | undefined;
    const instances = new Instances({
      kv,
      clock,
      id,
      machineId,
      answer_ms: ownership?.answer_ms,
      ...(look_ms === undefined ? {} : { look_ms }),
      onFenced: () => shared?.lanes.fence(),
    });
    const versionstamp = await instances.join();
    return shared = new Shared(options, { instances, triggers, versionstamp });
  }

  /** Aborted once this instance may store nothing any more, or does not lead any more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The right to lead; undefined while this instance follows. */
  get ownership(): Ownership | undefined {
    return this.#ownership;
  }

  /**
   * Waits until this instance leads.
   *
   * @throws {UnavailableError} when it leaves before
   */
  async lead(): Promise<Ownership> {
    const { kv, clock, id, ownership } = this.#options;
    const { signal } = this.#leaving;
    const taking = Ownership.take(kv, { clock, ...ownership, id, shares: true, signal });
    this.#taking = taking.then((taken) => this.#ownership = taken, () => {});
    const taken = await taking;
    taken.lost.addEventListener("abort", () => this.lanes.fence());
    return taken;
  }

  async commit(operation: Deno.AtomicOperation): Promise<boolean> {
    if (this.#ownership === undefined) throw NOT_LEADING;
    return await this.#ownership.commit(operation);
  }

  /** Leaves the other instances. What is under way is stored before, or never. */
  async leave(): Promise<void> {
    this.lanes.close();
    this.#leaving.abort();
    await this.instances.leave();
    // It may take the database at this moment.
    await within(this.#options.clock, LEAVE_MS, this.#taking);
    await this.#ownership?.release();
  }
}
