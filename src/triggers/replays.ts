/**
 * Bulk replays. Each goes through its deliveries one after the other, oldest first, at a bounded rate. Its
 * record says how far it is, so a restart goes on with it. A delivery is launched once by one replay: the new
 * launch is stored with an id by which a repeat is found.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { ConflictError, messageOf, UnavailableError } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { pause } from "../platform/waiting/timers.ts";
import { asUnavailable } from "../store/commit/committer.ts";
import { getExecution } from "../store/records/executions.ts";
import { getHttpRequest } from "../store/records/http_requests.ts";
import { getPipeline } from "../store/records/pipelines.ts";
import { keys } from "../store/keys.ts";
import {
  getReplay,
  listReplays,
  markedReplays,
  newReplayWrites,
  type Replay,
  replayedDeliveries,
  replayWrites,
} from "../store/records/replays.ts";
import { type FoundDelivery, readDelivery } from "../store/records/deliveries.ts";
import { listReplaysOf } from "../store/records/run_lists.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import { replay, type Replayed, replayKept, type ReplayParts } from "./replay.ts";

/** Limit of the deliveries of one replay. */
export const REPLAY_DELIVERIES_MAX = 100_000;
/** Limit of the replays that run at once. */
export const REPLAYS_RUNNING_MAX = 10;
/** A repeat of a launch by the same replay is found for so long. */
const REPEAT_WINDOW_S = 30 * 24 * 60 * 60;
/** Earlier replays of one delivery among which a successful one is looked for. */
const REPLAYS_LOOKED_AT_MAX = 20;
/** Least time between two writes of how far a replay is. */
const PROGRESS_MS = 500;
/** Delay before a launch that was turned away is tried again. */
const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "replay"]);

/** The settings of a bulk replay. */
type ReplaySettings = Pick<
  Replay,
  "created_by" | "filter" | "rate" | "only_without_success" | "commit" | "body"
>;

/** The bulk replays of a service. */
export class Replays {
  readonly #parts: ReplayParts & { clock: Clock };
  readonly #running = new Map<string, { abort: AbortController; end: Promise<void> }>();
  readonly #closing = new AbortController();
  #starting: Promise<void> | undefined;

  constructor(parts: ReplayParts & { clock: Clock }) {
    this.#parts = parts;
  }

  /** True while a replay runs. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Goes on with the replays that a stop interrupted. */
  start(): Promise<void> {
    return this.#starting = this.#goOn();
  }

  async #goOn(): Promise<void> {
    const { store } = this.#parts;
    let before: string | undefined;
    do {
      const { records, next } = await listReplays(store, { before, limit: 100 });
      for (const each of records) if (each.state === "running") this.#run(each);
      before = next;
    } while (before !== undefined);
    // A backup may have read the mark of one before its end, and its record after that.
    const over: string[] = [];
    for (const id of await markedReplays(store)) {
      // One that was made meanwhile has its record.
      if ((await getReplay(store, id))?.state !== "running") over.push(id);
    }
    await store.committer.writeInParts(over.map((id) => ({ key: keys.runningReplay(id) })));
  }

  /**
   * Stores a new replay and begins it.
   *
   * @param ids the deliveries to launch again, oldest first
   * @throws {ConflictError} when too many replays are running
   */
  async create(settings: ReplaySettings, ids: readonly string[]): Promise<Replay> {
    await this.#starting;
    if (this.#running.size >= REPLAYS_RUNNING_MAX) {
      throw new ConflictError(
        `Cannot begin a replay: ${REPLAYS_RUNNING_MAX} are running. Stop one, or wait`,
      );
    }
    const { clock, store } = this.#parts;
    const now_ms = clock.now();
    const made: Replay = {
      id: newId(now_ms),
      state: "running",
      created_at: new Date(now_ms).toISOString(),
      ...settings,
      count: ids.length,
      done: 0,
      launched: 0,
      skipped: 0,
      failed: 0,
    };
    await store.committer.writeInParts(newReplayWrites(made, ids));
    this.#run(made);
    return made;
  }

  /** Stops a replay. Runs that it has launched go on. Returns undefined when there is none of this id. */
  async stop(id: string): Promise<Replay | undefined> {
    // It may be about to go on.
    await this.#starting;
    const running = this.#running.get(id);
    running?.abort.abort();
    await running?.end;
    return await getReplay(this.#parts.store, id);
  }

  /** Ends the work on all replays, which go on at the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { abort } of this.#running.values()) abort.abort();
    await Promise.all(Array.from(this.#running.values(), ({ end }) => end));
  }

  /** Begins with a replay. One that is made while a start looks for replays may have begun. */
  #run(begun: Replay): void {
    if (this.#running.has(begun.id)) return;
    const abort = new AbortController();
    const end = this.#untilEnd({ ...begun }, abort.signal)
      .finally(() => this.#running.delete(begun.id));
    this.#running.set(begun.id, { abort, end });
  }

  /** Launches all deliveries of a replay. What fails on the way is tried again, from where it has come. */
  async #untilEnd(progress: Replay, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.#launchAll(progress, signal);
      } catch (error) {
        const { id } = progress;
        if (this.#closing.signal.aborted) {
          return log.error("Cannot store how far replay {id} is: {error}", { id, error });
        }
        log.error("Replay {id} is interrupted, trying again: {error}", { id, error });
      }
      await pause(this.#parts.clock, RETRY_MS, this.#closing.signal);
    }
  }

  async #launchAll(progress: Replay, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts;
    let stored_ms = clock.steady();
    for await (const id of replayedDeliveries(store, { ...progress })) {
      if (signal.aborted) break;
      const started_ms = clock.steady();
      const outcome = await this.#launch(progress, id, signal);
      if (outcome === undefined) break;
      progress[outcome]++;
      progress.done++;
      if (clock.steady() - stored_ms >= PROGRESS_MS) {
        stored_ms = clock.steady();
        await store.committer.write(replayWrites(progress));
      }
      const rest_ms = 1_000 / progress.rate - (clock.steady() - started_ms);
      if (outcome === "launched" && rest_ms > 0) {
        await pause(clock, rest_ms, signal);
      }
    }
    if (!this.#closing.signal.aborted) {
      progress.state = progress.done < progress.count && signal.aborted ? "stopped" : "completed";
      progress.ended_at = new Date(clock.now()).toISOString();
    }
    await store.committer.write(replayWrites(progress));
    const { id, state, launched, skipped, failed } = progress;
    if (state === "running") return;
    log.info("Replay {id} ended: {launched} launched, {skipped} skipped, {failed} failed", {
      id,
      launched,
      skipped,
      failed,
    });
  }

  /** Launches one delivery again. Returns undefined when the signal aborted first. */
  async #launch(
    progress: Replay,
    deliveryId: string,
    signal: AbortSignal,
  ): Promise<"launched" | "skipped" | "failed" | undefined> {
    const { store } = this.#parts;
    while (!signal.aborted) {
      try {
        const delivery = await readDelivery(store, deliveryId);
        if (delivery === undefined) return "skipped";
        if (progress.only_without_success && await hasSuccess(store, delivery)) return "skipped";
        const replayed = await this.#replay(progress, delivery);
        if ("run" in replayed) return "launched";
        if ("repeatOf" in replayed) {
          // Launched before a restart, or accepted from its sender meanwhile.
          const run = await getRun(store, replayed.repeatOf).catch((error) => {
            throw asUnavailable(error);
          });
          return run?.replay_id === progress.id ? "launched" : "skipped";
        }
        // The quota comes back; an operator who does not want to wait stops the replay.
      } catch (error) {
        if (!(error instanceof UnavailableError)) {
          progress.error = messageOf(error);
          return "failed";
        }
      }
      await pause(this.#parts.clock, RETRY_MS, signal);
    }
    return undefined;
  }

  #replay(
    { id: replayId, body, commit, created_by: author }: Replay,
    found: FoundDelivery,
  ): Promise<Replayed> {
    const { id } = "run" in found ? found.run : found.entry;
    const delivery = { id: `replay/${replayId}/${id}`, window_s: REPEAT_WINDOW_S };
    const changes = { body, commit, delivery, replayId, author };
    return "run" in found
      ? replay(this.#parts, found.run, changes)
      : replayKept(this.#parts, { triggerId: found.trigger_id, entryId: id }, changes);
  }
}

/** Tells whether a delivery has a run that succeeded: its own, or that of a replay. */
export async function hasSuccess(store: Store, found: FoundDelivery): Promise<boolean> {
  if ("run" in found && await hasSucceeded(store, found.run)) return true;
  const { id } = "run" in found ? found.run : found.entry;
  for (const run of await listReplaysOf(store, id, { limit: REPLAYS_LOOKED_AT_MAX })) {
    if (await hasSucceeded(store, run)) return true;
  }
  return false;
}

/** Tells whether a run's actions and all the work that they launched have completed. */
async function hasSucceeded(store: Store, run: Run): Promise<boolean> {
  if (run.status !== "completed") return false;
  for (const { created } of run.actions) {
    if (created === undefined) continue;
    const work = "execution_id" in created
      ? await getExecution(store, created.execution_id)
      : "http_request_id" in created
      ? await getHttpRequest(store, created.http_request_id)
      : await getPipeline(store, created.pipeline_id);
    if (work?.status !== "complete") return false;
  }
  return true;
}
