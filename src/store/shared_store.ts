/**
 * What a store has where several instances share its database.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { UnavailableError } from "../platform/errors.ts";
import { ClaimMark } from "./commit/claims.ts";
import type { Fence } from "./commit/committer.ts";
import { Instances } from "./commit/instances.ts";
import { Lanes, type LanesParts } from "./commit/lanes.ts";
import { Ledgers } from "./commit/ledgers.ts";
import { Ownership, type OwnershipOptions } from "./commit/ownership.ts";
import { TriggerVersion } from "./commit/trigger_version.ts";

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
  #ownership: Ownership | undefined;

  private constructor(
    options: SharedOptions,
    { instances, triggers, versionstamp }: {
      instances: Instances;
      triggers: TriggerVersion;
      versionstamp: string;
    },
  ) {
    const { kv, clock, id, events } = options;
    this.id = id;
    this.machineId = instances.machineId;
    this.instances = instances;
    this.triggers = triggers;
    this.claimed = new ClaimMark(kv, id, { value: "", versionstamp });
    this.#options = options;
    const onFenced = () => this.#lost.abort();
    const parts = { kv, clock, instanceId: id, triggers, onFenced, ...(events && { events }) };
    this.lanes = new Lanes(parts, versionstamp);
  }

  /** Joins the instances of a database. */
  static async join(options: SharedOptions): Promise<Shared> {
    const { kv, clock, id, machineId = id, look_ms } = options;
    const triggers = new TriggerVersion(kv);
    await triggers.sync();
    let shared: Shared | undefined;
    const instances = new Instances({
      kv,
      clock,
      id,
      machineId,
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

  /** Waits until this instance leads. */
  async lead(): Promise<Ownership> {
    const { kv, clock, id, ownership } = this.#options;
    const taken = await Ownership.take(kv, { clock, ...ownership, id, shares: true });
    taken.lost.addEventListener("abort", () => this.#lost.abort());
    return this.#ownership = taken;
  }

  guard(operation: Deno.AtomicOperation): void {
    if (this.#ownership === undefined) throw NOT_LEADING;
    this.#ownership.guard(operation);
  }

  async isStored(result: Deno.KvCommitResult | Deno.KvCommitError): Promise<boolean> {
    return await this.#ownership?.isStored(result) ?? false;
  }

  /** Leaves the other instances. Nothing may be under way. */
  async leave(): Promise<void> {
    await this.instances.leave();
    await this.#ownership?.release();
  }
}
