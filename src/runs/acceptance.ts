/**
 * The change that accepts one launch: its quotas, its delivery, its payload and its pending run, stored
 * together or not at all.
 *
 * @module
 */
import type { Change, Guard, Write } from "../store/commit/change.ts";
import type { ClaimMark } from "../store/commit/claims.ts";
import type { Store } from "../store/store.ts";
import type { Pace } from "../store/records/pace.ts";
import type { PaceProblem } from "../store/records/trigger_log_entries.ts";
import {
  acceptWrites,
  type ActionSettings,
  type LaunchFacts,
  type PendingRun,
  withdrawWrites,
} from "../store/records/runs.ts";
import type { Launcher } from "../store/records/launchers.ts";
import type { Claim, Delivery } from "./delivery_ids.ts";
import type { Admission, Quotas } from "./quotas.ts";
import type { Quota } from "./rate_window.ts";

/** A launch that has passed every condition but the quotas. */
export interface Launch {
  triggerId: string;
  project: string;
  actions: readonly ActionSettings[];
  quotas: readonly Quota[];
  body: Uint8Array;
  /** The Content-Type header as sent. */
  contentType?: string | undefined;
  remoteIp: string;
  /** The part of the request that the run's record keeps; absent in a replay. */
  facts?: LaunchFacts;
  /** The sender's id of the delivery, for its owner to find it by. */
  deliveryId?: string | undefined;
  /** The delivery's id, by which a repeat is found; absent where repeats launch too. */
  delivery?: Delivery | undefined;
  /** The delivery whose payload is launched again. */
  replayOf?: string;
  /** The bulk replay that launches it again. */
  replayId?: string | undefined;
  /** The operator who launches it again; absent for a sender. */
  launchedBy?: Launcher | undefined;
  /** Set where it is of a schedule: the time of the occurrence, in milliseconds, unless an operator launches it. */
  schedule?: { time_ms?: number };
  /** The right to accept it, in place of the one by its delivery's id. */
  claim?: Claim;
  /** Set where its trigger has a callback. */
  callback?: true;
  /** Its turn; absent where it is performed as soon as there is a place. */
  pace?: Pace | undefined;
  /** The values of its pace that the request did not have. */
  paceProblems?: readonly PaceProblem[] | undefined;
  /** Returns true when the sender no longer waits: the launch is not stored then, or withdrawn. */
  isAbandoned?(): boolean;
  /** Returns true while its trigger is unchanged since it let this in. Asked when the launch is stored. */
  isCurrent?(): boolean;
}

/** The reason not to accept a launch that could be stored. */
export type Refusal = { exhausted: Quota } | { outdated: true };

/** Accepts a launch, unless its trigger has changed or a quota is used up. */
export class AcceptanceChange implements Change {
  /** False where no leader has to claim the run. */
  readonly wakes: boolean;
  readonly guards?: readonly Guard[];
  /** Set when the launch was not accepted. */
  refusal: Refusal | { repeatOf: string } | undefined;
  readonly #launch: Launch;
  readonly #pending: PendingRun;
  readonly #quotas: Quotas;
  readonly #claim: Claim | undefined;
  readonly #shared: Store["shared"];
  #admission: Admission | undefined;
  #versionstamp = "";
  #isKept = false;

  constructor(
    launch: Launch,
    { pending, quotas, claim, shared }: {
      pending: PendingRun;
      quotas: Quotas;
      claim: Claim | undefined;
      shared: Store["shared"];
    },
  ) {
    this.#launch = launch;
    this.#pending = pending;
    this.wakes = pending.own !== true;
    this.#quotas = quotas;
    this.#claim = claim;
    this.#shared = shared;
    if (shared && (claim || launch.quotas.length > 0)) {
      this.guards = [shared.ledgers.of(launch.triggerId)];
    }
  }

  refresh(): Promise<void> | undefined {
    if (this.guards === undefined) return undefined;
    const { triggerId, quotas } = this.#launch;
    if (this.#quotas.isLoaded(triggerId, quotas)) return this.#claim?.refresh();
    return this.#quotas.load(triggerId, quotas).then(() => this.#claim?.refresh());
  }

  /** True when the launch was to be withdrawn, and stays since its run was named to another sender. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Of the commit that has stored it. */
  get versionstamp(): string {
    return this.#versionstamp;
  }

  stored(versionstamp: string): void {
    this.#versionstamp = versionstamp;
  }

  isAbandoned(): boolean {
    return this.#launch.isAbandoned?.() === true;
  }

  writes(): readonly Write[] {
    const { isCurrent, triggerId, quotas, body } = this.#launch;
    this.refusal = isCurrent?.() === false ? { outdated: true } : undefined;
    if (this.refusal) return [];
    if (this.#claim?.madeBy !== undefined) {
      this.refusal = { repeatOf: this.#claim.madeBy };
      return [];
    }
    const admission = this.#quotas.admit(triggerId, quotas);
    if ("quota" in admission) {
      this.refusal = { exhausted: admission };
      return [];
    }
    this.#admission = admission;
    const claimed = this.#claim?.writes(this.#pending.run.id) ?? [];
    return [...admission.writes, ...claimed, ...acceptWrites(this.#pending, body)];
  }

  undo(): void {
    this.#admission?.undo();
    this.#admission = undefined;
  }

  get withdrawal(): NonNullable<Change["withdrawal"]> {
    let undo: (() => void) | undefined;
    const shared = this.#shared;
    return {
      ...shared && this.#withdrawalGuards(shared.claimed),
      writes: () => {
        undo = undefined;
        // The leader performs it, or another sender knows of it: then it stays.
        this.#isKept = shared !== undefined && shared.claimed.value >= this.#versionstamp;
        if (this.#isKept) return [];
        const givenBack = this.#admission?.giveBack();
        undo = givenBack?.undo;
        const counts = givenBack?.writes ?? [];
        const forgotten = this.#claim?.withdrawWrites(this.#pending.run.id) ?? [];
        return [...counts, ...forgotten, ...withdrawWrites(this.#pending, this.#launch.body)];
      },
      undo: () => undo?.(),
    };
  }

  /** A withdrawal also checks that nobody has claimed the run. */
  #withdrawalGuards(claimed: ClaimMark): Pick<Change, "guards" | "refresh"> {
    return {
      guards: [...this.guards ?? [], claimed],
      refresh: () => claimed.isLoaded ? this.refresh() : claimed.load().then(() => this.refresh()),
    };
  }
}
