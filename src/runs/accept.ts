/**
 * Acceptance: the moment at which a launch becomes a run. The run, its payload, its pending work and
 * what it counts against the quotas are one commit, shared with all launches that wait at that moment.
 * Once it is on disk, and not before, the sender is told.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Quota, QuotaLeft } from "./rate_window.ts";
import { UnavailableError } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { asUnavailable } from "../store/commit/committer.ts";
import { UndecidedError } from "../store/commit/commit_chain.ts";
import { needsUpload, removeUpload, uploadPayload } from "../store/records/payloads.ts";
import { newPending, type Run } from "../store/records/runs.ts";
import type { Space } from "../store/file/space.ts";
import type { Store } from "../store/store.ts";
import type { PaceProblem } from "../store/records/trigger_log_entries.ts";
import { activeTrace } from "../telemetry/spans.ts";
import { AcceptanceChange, type Launch, type Refusal } from "./acceptance.ts";
import { type Claim, Deliveries, type Delivery } from "./delivery_ids.ts";
import type { Quotas } from "./quotas.ts";
import type { Worker } from "./worker.ts";

export type { Launch } from "./acceptance.ts";

/**
 * Changes that may wait for the next commits before further launches wait in the request queue. A commit
 * holds some 330 launches. With twice this limit throughput is the same, each launch waits longer, and the
 * process takes 70 MiB more.
 */
const BUSY = 512;
/** And before they are turned away: those whose bodies were arriving meanwhile have room as well. */
const WAITING_MAX = 1_024;

/** The reasons to accept no launch. Each is made once, since many launches get it. */
const TOO_MANY_RUNS = new UnavailableError("Cannot accept a launch: too many runs are pending", 10);
const RUNS_BEHIND = new UnavailableError(
  "Cannot accept a launch: runs end more slowly than launches arrive",
  5,
);
const NO_SPACE = new UnavailableError(
  "Cannot accept a launch: the disk is nearly full",
  10,
);
const NOT_SERVING = new UnavailableError(
  "Cannot accept a launch: this instance does not serve now, see its log",
  1,
);
const TOO_MANY_WAIT = new UnavailableError("Cannot accept a launch: too many wait to be stored", 1);

/**
 * The result of a launch: a run, the quota that is exhausted, the run of an earlier delivery, or nothing,
 * since its trigger has been changed.
 */
export type Acceptance = { run: Run } | { repeatOf: string } | Refusal;

interface AcceptorParts {
  store: Store;
  clock: Clock;
  quotas: Quotas;
  worker: Worker;
  /** Knows when the disk has too little room left for more launches. */
  space?: Pick<Space, "isShort" | "isShortForFiles">;
  /** Returns true for a trigger whose executions keep their files on this machine. Default: each does. */
  keepsFiles?(triggerId: string): Promise<boolean>;
  /** Called for each value of a run's pace that its request did not have. */
  onPaceProblem?(run: Run, problem: PaceProblem): void;
}

/** Accepts launches. */
export class Acceptor {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #quotas: Quotas;
  readonly #worker: Worker;
  readonly #space: AcceptorParts["space"];
  readonly #keepsFiles: (triggerId: string) => Promise<boolean>;
  readonly #onPaceProblem: NonNullable<AcceptorParts["onPaceProblem"]>;
  readonly #deliveries: Deliveries;

  constructor(parts: AcceptorParts) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#quotas = parts.quotas;
    this.#worker = parts.worker;
    this.#space = parts.space;
    this.#keepsFiles = (id) => parts.keepsFiles?.(id) ?? Promise.resolve(true);
    this.#onPaceProblem = (run, problem) => parts.onPaceProblem?.(run, problem);
    this.#deliveries = new Deliveries(parts.store, parts.clock);
  }

  /**
   * True when many launches wait to be stored, or runs have fallen behind: further launches should wait in
   * the request queue.
   */
  get isBusy(): boolean {
    return this.#store.intake.waiting >= BUSY || this.#worker.isBehind;
  }

  /** The reason for which a launch has waited long, where it is the runs. */
  get slowness(): UnavailableError | undefined {
    return this.#worker.isBehind ? RUNS_BEHIND : undefined;
  }

  /** The reason to accept no launch now; undefined when one may be accepted. */
  get fullness(): UnavailableError | undefined {
    const instances = this.#store.shared?.instances;
    if (this.#worker.isFull || instances?.isLeaderFull) return TOO_MANY_RUNS;
    if (instances?.obstacle !== undefined) return NOT_SERVING;
    if (this.#space?.isShort) return NO_SPACE;
    return this.#store.intake.waiting >= WAITING_MAX ? TOO_MANY_WAIT : undefined;
  }

  /** The quota that a launch would find used up now; nothing is counted. */
  async exhausted(triggerId: string, quotas: readonly Quota[]): Promise<Quota | undefined> {
    await this.#quotas.load(triggerId, quotas);
    return this.#quotas.exhausted(triggerId, quotas);
  }

  /** Returns what is left of each quota now; nothing is counted. */
  left(triggerId: string, quotas: readonly Quota[]): Promise<QuotaLeft[]> {
    return this.#quotas.left(triggerId, quotas);
  }

  /** The run that a delivery has made before; undefined when it would make one now. */
  madeBy(triggerId: string, delivery: Delivery): Promise<string | undefined> {
    return this.#deliveries.madeBy(triggerId, delivery);
  }

  /**
   * Accepts a launch, or refuses it because a quota is used up.
   *
   * @throws {UnavailableError} when it cannot be stored now; nothing of it remains then
   */
  accept(launch: Launch): Promise<Acceptance> {
    const { triggerId, pace } = launch;
    const obstacle = this.fullness ?? (pace && this.#worker.pacer.room.obstacle(triggerId, pace));
    if (obstacle) return Promise.reject(obstacle);
    return pace ? this.#acceptPaced(launch) : this.#acceptWithRoom(launch);
  }

  /** Accepts a launch with a pace. It counts from now on: others that come meanwhile find less room. */
  async #acceptPaced(launch: Launch): Promise<Acceptance> {
    const { untaken } = this.#worker.pacer.room;
    untaken.expect(launch.triggerId);
    let isStored = false;
    try {
      const acceptance = await this.#acceptWithRoom(launch);
      isStored = "run" in acceptance;
      if ("run" in acceptance) {
        for (const each of launch.paceProblems ?? []) this.#onPaceProblem(acceptance.run, each);
      }
      return acceptance;
    } finally {
      if (!isStored) untaken.withdraw(launch.triggerId);
    }
  }

  #acceptWithRoom(launch: Launch): Promise<Acceptance> {
    return this.#space?.isShortForFiles ? this.#acceptWithoutFiles(launch) : this.#accept(launch);
  }

  /** Accepts a launch while there is no room for the files of executions. */
  async #acceptWithoutFiles(launch: Launch): Promise<Acceptance> {
    if (await this.#keepsFiles(launch.triggerId)) throw NO_SPACE;
    return await this.#accept(launch);
  }

  #accept(launch: Launch): Promise<Acceptance> {
    const { delivery, claim } = launch;
    if (claim) return this.#acceptOnce(launch, claim);
    return delivery === undefined
      ? this.#acceptOnce(launch)
      : this.#acceptDelivery(launch, delivery);
  }

  async #acceptDelivery(launch: Launch, delivery: Delivery): Promise<Acceptance> {
    for (;;) {
      const claim = await this.#deliveries.claim(launch.triggerId, delivery);
      if ("repeatOf" in claim) return claim;
      let accepted: string | undefined;
      try {
        const acceptance = await this.#acceptOnce(launch, claim);
        if ("run" in acceptance) accepted = acceptance.run.id;
        // The next claim keeps what it repeats, or makes it the first where that was withdrawn meanwhile.
        else if ("repeatOf" in acceptance) continue;
        return acceptance;
      } finally {
        claim.settle(accepted);
      }
    }
  }

  #acceptOnce(launch: Launch, claim?: Claim): Promise<Acceptance> {
    const { triggerId, quotas, body } = launch;
    if (!this.#quotas.isLoaded(triggerId, quotas)) {
      const loading = this.#quotas.load(triggerId, quotas);
      return loading.then(() => this.#acceptOnce(launch, claim), (error) => {
        throw asUnavailable(error);
      });
    }
    const run = this.#newRun(launch);
    return needsUpload(body.length)
      ? this.#acceptUploaded(run, launch, claim)
      : this.#acceptRun(run, launch, claim);
  }

  async #acceptUploaded(run: Run, launch: Launch, claim?: Claim): Promise<Acceptance> {
    const exhausted = await this.#usedUp(launch);
    if (exhausted) return { exhausted };
    let isNeeded = false;
    try {
      await uploadPayload(this.#store, run.id, launch.body, run.payload.sha256);
      const acceptance = await this.#acceptRun(run, launch, claim);
      isNeeded = "run" in acceptance;
      return acceptance;
    } catch (error) {
      // The acceptance may be stored later: then the run needs its payload.
      isNeeded = error instanceof UndecidedError;
      throw error;
    } finally {
      // Cleanup finds it by its mark, where it cannot be removed now.
      if (!isNeeded && this.#store.artifacts?.failure === undefined) {
        await removeUpload(this.#store, run.id).catch(() => {
          // Cleanup finds by its mark what cannot be removed now.
        });
      }
    }
  }

  /** The quota that is used up by launches that are stored: those before this one may give theirs back. */
  async #usedUp({ triggerId, quotas }: Launch): Promise<Quota | undefined> {
    let exhausted = this.#quotas.exhausted(triggerId, quotas);
    if (exhausted === undefined) return undefined;
    await this.#store.intake.commit({
      writes: () => {
        exhausted = this.#quotas.exhausted(triggerId, quotas);
        return [];
      },
    });
    return exhausted;
  }

  async #acceptRun(run: Run, launch: Launch, claim?: Claim): Promise<Acceptance> {
    const { triggerId, actions, body, pace } = launch;
    const worker = this.#worker.id;
    const isOwn = this.#worker.isOwn({ run, actions, ...(pace && { pace }) });
    const whose = { worker, ...(isOwn && { own: true as const }) };
    const parts = { run, actions, ...whose, ...(pace && { pace }), ...activeTrace() };
    const pending = newPending(parts, body);
    this.#worker.expect(run.id, isOwn);
    const { shared } = this.#store;
    const change = new AcceptanceChange(launch, { pending, quotas: this.#quotas, claim, shared });
    try {
      await this.#store.intake.commit(change);
    } catch (error) {
      // It stays, though its own sender has gone.
      if (change.isKept) this.#worker.take(pending);
      else this.#worker.withdraw(run.id, isOwn);
      throw error;
    }
    if (change.refusal) {
      this.#worker.withdraw(run.id, isOwn);
      return change.refusal;
    }
    if (pace) this.#worker.pacer.room.untaken.stored(triggerId, shared && change.versionstamp);
    this.#worker.take(pending);
    return { run };
  }

  #newRun(launch: Launch): Run {
    const { triggerId, project, body, contentType, remoteIp, facts, deliveryId } = launch;
    const { replayOf, replayId, launchedBy, schedule, callback } = launch;
    const now_ms = this.#clock.now();
    return {
      id: newId(now_ms),
      trigger_id: triggerId,
      project,
      status: "pending",
      created_at: new Date(now_ms).toISOString(),
      remote_ip: remoteIp,
      ...(facts === undefined ? {} : { request: facts }),
      ...(deliveryId === undefined ? {} : { delivery_id: deliveryId }),
      payload: {
        size: body.length,
        sha256: hash("sha256", body),
        ...(contentType === undefined ? {} : { content_type: contentType }),
      },
      actions: [],
      ...(replayOf === undefined ? {} : { replay_of: replayOf }),
      ...(replayId === undefined ? {} : { replay_id: replayId }),
      ...(launchedBy === undefined ? {} : { launched_by: launchedBy }),
      ...(schedule && scheduleFields(schedule)),
      ...(callback && { callback }),
    };
  }
}

/** Returns the fields of a run that a schedule, or an operator in its place, has launched. */
function scheduleFields({ time_ms }: NonNullable<Launch["schedule"]>): Partial<Run> {
  return {
    source: "schedule",
    ...(time_ms !== undefined && { scheduled_for: new Date(time_ms).toISOString() }),
  };
}
