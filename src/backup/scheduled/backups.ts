/**
 * Scheduled backups of a service: when one is due, its proof, and which are kept. The leader makes them, one at a time.
 * Their state is in the database: every instance shows it, and a new leader goes on from there.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type Cause, newCause } from "../../attention/cause.ts";
import { isMakeDue, isOver, isProofDue, PROOF_EVERY_MS, RETRY_MS_MAX } from "./due.ts";
import type { BackupJob, JobResult } from "./job.ts";
import { backupName, timeOfName } from "./names.ts";
import { openPlace, type PlaceSettings, placeSettings } from "./place.ts";
import { keptNames } from "./retention.ts";
import type { BackupSettings } from "./settings.ts";
import { type Clock, timeText } from "../../platform/clock.ts";
import { ConflictError, messageOf } from "../../platform/errors.ts";
import { InTurn } from "../../platform/waiting/in_turn.ts";
import { within } from "../../platform/waiting/timers.ts";
import {
  type BackupFailure,
  type BackupState,
  getBackupState,
  putBackupSentinel,
  putBackupState,
} from "../../store/records/backups.ts";
import type { Store } from "../../store/store.ts";

/** The wait after the first failure; each further one doubles it. */
const RETRY_MS = 60_000;
/** A backup is overdue when one more should have been made since, and a day for a proof. */
const OVERDUE_TIMES = 2;

/** The most names of proven backups, and of damaged ones, that are remembered. */
const NAMES_MAX = 500;
/** Least time that a job gets to end when the service stops. */
const CLOSE_MS = 500;

const log = getLogger(["hooklaunch", "backup"]);

/** Runs a job. It never rejects. */
export type RunBackupJob = (job: BackupJob, signal: AbortSignal) => Promise<JobResult>;

/** The parts of a service that backups use. */
interface BackupParts {
  store: Store;
  clock: Clock;
  env(name: string): string | undefined;
  /** The data folder. */
  data: string;
  /** The URL of the shared database, where there is one. */
  kv?: string | undefined;
  runJob: RunBackupJob;
  onEnd(job: BackupJob["kind"], isGood: boolean): void;
}

/** A backup in its place. */
export interface ListedBackup {
  name: string;
  made_at: string;
  /** `proven` was restored and checked; `damaged` cannot be restored. */
  state: "made" | "proven" | "damaged";
}

/** Makes the backups of a service. */
export class Backups {
  readonly settings: BackupSettings;
  readonly #parts: BackupParts;
  readonly #closing = new AbortController();
  readonly #reading = new InTurn();
  #underWay: Promise<void> | undefined;

  constructor(settings: BackupSettings, parts: BackupParts) {
    this.settings = settings;
    this.#parts = parts;
  }

  /** True while a backup is made or proven. */
  get isWorking(): boolean {
    return this.#underWay !== undefined;
  }

  /** Does something that must not happen while a shared database is read, such as removing records. */
  whileNotRead<T>(act: () => Promise<T>): Promise<T> {
    return this.#parts.store.shared === undefined ? act() : this.#reading.run("database", act);
  }

  /** Reads how far backups are. */
  state(): Promise<BackupState> {
    const { store, clock } = this.#parts;
    return getBackupState(store, this.settings.to, clock.now());
  }

  /** Does what is due. The leader calls it each minute. */
  async tick(): Promise<void> {
    await (this.#underWay ??= this.#work(false));
  }

  /**
   * Begins a backup now.
   *
   * @throws {ConflictError} while one is under way, or the service stops
   */
  begin(): void {
    if (this.#closing.signal.aborted) throw new ConflictError("The service is stopping");
    if (this.#underWay !== undefined) {
      throw new ConflictError(
        "A backup is made or checked at this moment: wait until it has ended",
      );
    }
    this.#underWay = this.#work(true);
  }

  /**
   * Lists the backups that are in the place, the newest first.
   *
   * @throws {HooklaunchError} when it cannot be used now
   */
  async list(): Promise<ListedBackup[]> {
    const { damaged, proven } = await this.state();
    using place = openPlace(this.#place());
    const names = await place.list();
    return names.reverse().map((name) => ({
      name,
      made_at: timeText(timeOfName(name) ?? 0),
      state: damaged.includes(name) ? "damaged" : proven.includes(name) ? "proven" : "made",
    }));
  }

  /** Lists why backups need attention. */
  async causes(): Promise<Cause[]> {
    const { last, failure, proof_failure, proof, since, place } = await this.state();
    const now_ms = this.#parts.clock.now();
    const causes: Cause[] = [];
    const add = (text: string, since: string, part: string) =>
      causes.push(
        newCause("backup_failed", { kind: "service", name: "service" }, {
          text,
          since_ms: Date.parse(since),
          part,
        }),
      );
    const newest = last === undefined ? "There is none" : `The last one is of ${last.made_at}`;
    if (failure !== undefined) {
      const { detail, next_at } = failure;
      const text = `Backups to ${place} fail: ${detail}. ${newest}. The next try is at ${next_at}`;
      add(text, failure.since, "make");
    } else if (isOver(last?.made_at ?? since, OVERDUE_TIMES * this.settings.every_ms, now_ms)) {
      add(`The backup to ${place} is overdue. ${newest}`, last?.made_at ?? since, "make");
    }
    const proven_at = proof?.proven_at ?? since;
    if (proof_failure !== undefined) {
      const { name, detail, next_at } = proof_failure;
      const text =
        `The backup ${name} cannot be restored: ${detail}. The next try is at ${next_at}`;
      add(text, proof_failure.since, "prove");
    } else if (last !== undefined && isOver(proven_at, 2 * PROOF_EVERY_MS, now_ms)) {
      const when = proof === undefined ? "none" : `${proof.name}, at ${proof.proven_at}`;
      add(
        `No backup was restored and checked for two days. The last was ${when}`,
        proven_at,
        "prove",
      );
    }
    return causes;
  }

  /**
   * Ends what is under way: nothing of it is left that is taken for a backup. The end of the process ends what takes
   * longer than the deadline to stop.
   */
  async close(deadline_ms: number): Promise<void> {
    this.#closing.abort();
    const ended = this.#underWay ?? Promise.resolve();
    await within(this.#parts.clock, Math.max(CLOSE_MS, deadline_ms), ended);
  }

  #place(): PlaceSettings {
    return placeSettings(this.settings.to, this.#parts.env);
  }

  async #work(isAsked: boolean): Promise<void> {
    try {
      if (isAsked || this.#isDue(await this.state())) await this.#make();
      await this.#proveWhenDue();
    } catch (error) {
      // A stopping service closes its database.
      if (this.#closing.signal.aborted) return;
      log.error("Cannot store how far backups are: {error}", { error: messageOf(error) });
    } finally {
      this.#underWay = undefined;
    }
  }

  #isDue(state: BackupState): boolean {
    return !this.#closing.signal.aborted &&
      isMakeDue(state, this.settings.every_ms, this.#parts.clock.now());
  }

  async #make(): Promise<void> {
    const { store, clock } = this.#parts;
    const name = newName((await this.state()).last?.name, clock.now());
    const result = await this.whileNotRead(async () => {
      await putBackupSentinel(store, name);
      return await this.#run({ kind: "make", name });
    });
    if (result === undefined) return;
    const state = await this.state();
    if (!("made" in result)) {
      const detail = "failure" in result ? result.failure : "";
      state.failure = this.#failed(state.failure, detail);
      log.error("Cannot make a backup, trying again at {next_at}: {error}", {
        error: detail,
        next_at: state.failure.next_at,
      });
      return await putBackupState(store, state);
    }
    const { size, sha256, files, records, bytes, flaws } = result.made;
    const made_at = timeText(timeOfName(name) ?? clock.now());
    state.last = { name, made_at, size, sha256, files, records, bytes };
    delete state.failure;
    await putBackupState(store, state);
    log.info("Made the backup {name} of {size} bytes in {place}", {
      name,
      size,
      place: state.place,
    });
    for (const { path, detail } of flaws) {
      log.warn("The backup {name} lacks something: {path}: {detail}", { name, path, detail });
    }
    await this.#removeOld(state);
  }

  /** Removes backups that are not kept. The newest that was restored and checked stays in any case. */
  async #removeOld({ damaged, proof, last }: BackupState): Promise<void> {
    try {
      using place = openPlace(this.#place());
      const names = await place.list();
      const whole = names.filter((name) => !damaged.includes(name));
      const kept = keptNames(whole, this.settings.keep);
      for (const name of names) {
        if (kept.has(name) || name === proof?.name || name === last?.name) continue;
        // A damaged one stays to be looked at until a newer one is proven.
        if (damaged.includes(name) && name > (proof?.name ?? "")) continue;
        await place.store.remove(name);
        log.info("Removed the backup {name}, which is past its retention", { name });
      }
    } catch (error) {
      log.warn("Cannot remove old backups, trying again after the next one: {error}", {
        error: messageOf(error),
      });
    }
  }

  async #proveWhenDue(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { store, clock } = this.#parts;
    const state = await this.state();
    const { last } = state;
    if (last === undefined || !isProofDue(state, clock.now())) return;
    const { name, sha256, bytes } = last;
    const result = await this.#run({ kind: "prove", name, expected: { sha256, bytes } });
    if (result !== undefined) await this.#noteProof(name, result, store);
  }

  async #noteProof(name: string, result: JobResult, store: Store): Promise<void> {
    const state = await this.state();
    const now = timeText(this.#parts.clock.now());
    if (!("proven" in result)) {
      const { failure: detail, isDamaged } = "failure" in result
        ? result
        : { failure: "it was not checked", isDamaged: false };
      state.proof_failure = { ...this.#failed(state.proof_failure, detail), name };
      if (isDamaged) {
        state.damaged = [...state.damaged, name].slice(-NAMES_MAX);
        // Another one is made in its place.
        const isNext = state.failure ?? this.#failed(undefined, `${name} cannot be restored`);
        state.failure = isNext;
      }
      log.error("The backup {name} was not restored: {error}", { name, error: detail });
    } else {
      state.proof = {
        name,
        proven_at: now,
        ...(result.proven.isReadBack && { read_back: true as const }),
      };
      state.proven = [...state.proven.filter((each) => each !== name), name].slice(-NAMES_MAX);
      delete state.proof_failure;
      if (result.proven.isReadBack) {
        log.info("Read the backup {name} back, and checked it", { name });
      } else {log.info("Restored the backup {name} into a temporary folder, and checked it", {
          name,
        });}
    }
    await putBackupState(store, state);
  }

  /** Runs a job; undefined when the service stops before its end. */
  async #run(job: Omit<BackupJob, "data" | "kv" | "place">): Promise<JobResult | undefined> {
    const { signal } = this.#closing;
    const { data, kv, runJob, onEnd } = this.#parts;
    let result: JobResult;
    try {
      result = await runJob({ ...job, data, kv, place: this.#place() }, signal);
    } catch (error) {
      result = { failure: messageOf(error), isDamaged: false };
    }
    if (signal.aborted) return undefined;
    onEnd(job.kind, !("failure" in result));
    return result;
  }

  #failed(before: BackupFailure | undefined, detail: string): BackupFailure {
    const now_ms = this.#parts.clock.now();
    const { since = timeText(now_ms), count = 0 } = before ?? {};
    const pause_ms = Math.min(RETRY_MS * 2 ** count, RETRY_MS_MAX, this.settings.every_ms);
    return { since, count: count + 1, detail, next_at: timeText(now_ms + pause_ms) };
  }
}

/** Names a backup. A second one of the same second is of the next. */
function newName(last: string | undefined, now_ms: number): string {
  const name = backupName(now_ms);
  return name === last ? backupName(now_ms + 1_000) : name;
}
