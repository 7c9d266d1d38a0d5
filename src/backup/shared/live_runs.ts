/**
 * The runs of a shared database, as a backup reads them: those that were under way are read at the end, each with all
 * of its records.
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../../store/keys.ts";
import { type ActionOutcome, PENDING_KINDS } from "../../store/records/runs.ts";
import { callbackId } from "../../triggers/callback_id.ts";
import { inGroups, type LiveDatabase, readTogether, recordsOf } from "./live_database.ts";
import type { StoredRecord } from "./record_chunks.ts";

/** The facts of a run's record that its other records are found by. */
interface RunFacts {
  trigger_id: string;
  delivery_id?: string;
  replay_of?: string;
  callback?: true;
  actions?: ActionOutcome[];
}

/** Records that belong to a run, by what is known before it is read. */
interface Moving {
  triggerId?: string | undefined;
  /** The burst that it takes the place of. */
  burst?: Deno.KvKey;
}

/** Reads the runs. */
export class LiveRuns {
  static readonly KINDS = [
    "pending",
    "held",
    "run",
    "callback_due",
    "status_due",
    "turn",
    "burst",
    "upload",
  ];
  /** The ids of the work that runs under way have launched, by its kind. */
  readonly launched = {
    pipeline: new Set<string>(),
    http_request: new Set<string>(),
    execution: new Set<string>(),
  };
  readonly #database: LiveDatabase;
  readonly #moving = new Map<string, Moving>();
  /** The answers of {@linkcode isLeftOut}. */
  readonly #leftOut = new Map<string, boolean>();

  constructor(database: LiveDatabase) {
    this.#database = database;
  }

  /** Returns true for a run that was under way, or was changed, since the mark. */
  isMoving(id: string): boolean {
    return this.#moving.has(id);
  }

  /** Returns true for a run that was accepted since the mark, and is not in the copy. */
  async isLeftOut(id: string, triggerId: string): Promise<boolean> {
    if (this.#moving.has(id)) return false;
    const known = this.#leftOut.get(id);
    if (known !== undefined) return known;
    const looked = [keys.pending(id, triggerId), keys.held(id, triggerId), keys.run(id)];
    const found = await readTogether(this.#database, looked);
    const isLeftOut = found.some(({ versionstamp }) => versionstamp > this.#database.since);
    this.#leftOut.set(id, isLeftOut);
    return isLeftOut;
  }

  /** Reads all of them. */
  async *read(): AsyncGenerator<StoredRecord> {
    await this.#findMoving();
    const uploads = await Array.fromAsync(recordsOf(this.#database, ["upload"]));
    for await (const record of recordsOf(this.#database, ["run"])) {
      const id = String(record.key[1]);
      if (this.#moving.has(id)) continue;
      if (record.versionstamp <= this.#database.since) yield record;
      else this.#moving.set(id, {});
    }
    yield* inGroups(this.#moving, ([id, facts]) => this.#readOne(id, facts));
    // The payload of a run that is not accepted yet: its chunks are found by it, and removed.
    for (const record of uploads) if (!this.#moving.has(String(record.key[1]))) yield record;
  }

  /** Finds the runs that have something before them. */
  async #findMoving(): Promise<void> {
    const note = (id: unknown, facts: Moving = {}) => {
      this.#moving.set(String(id), { ...this.#moving.get(String(id)), ...facts });
    };
    for (const kind of PENDING_KINDS) {
      for await (const { key } of recordsOf(this.#database, [kind])) {
        note(key[1], { triggerId: String(key[2]) });
      }
    }
    for (const kind of ["callback_due", "status_due", "turn"]) {
      for await (const { key, value } of recordsOf(this.#database, [kind])) {
        const triggerId = kind === "turn" ? Object(value).trigger_id : value;
        note(key[1], kind === "status_due" ? {} : { triggerId });
      }
    }
    for await (const { key, value } of recordsOf(this.#database, ["burst"])) {
      note(Object(value).run_id, { burst: key, triggerId: String(key[1]) });
    }
  }

  /** Reads the records of a run, of one moment; none where it was withdrawn. */
  async #readOne(id: string, { triggerId, burst }: Moving): Promise<StoredRecord[]> {
    this.#database.signal.throwIfAborted();
    const trigger = triggerId ?? await this.#triggerOf(id);
    if (typeof trigger !== "string") return [];
    const found = await readTogether(this.#database, [
      keys.run(id),
      keys.pending(id, trigger),
      keys.held(id, trigger),
      keys.triggerRun(trigger, id),
      keys.callbackDue(id),
      keys.statusDue(id),
      keys.turn(id),
      ...burst ? [burst] : [],
    ]);
    const [first] = found;
    const [kind] = first?.key ?? [];
    if (first === undefined || !(kind === "run" || kind === "pending" || kind === "held")) {
      return [];
    }
    const facts: RunFacts = kind === "run" ? Object(first.value) : Object(first.value).run;
    this.#noteLaunched(id, facts);
    const { delivery_id, replay_of } = facts;
    const lists = await readTogether(this.#database, [
      ...delivery_id === undefined ? [] : [keys.sentId(hash("sha256", delivery_id), id)],
      ...replay_of === undefined ? [] : [keys.replayOf(replay_of, id)],
    ]);
    const payload = await Array.fromAsync(recordsOf(this.#database, ["payload", id]));
    // The burst may have closed, and another one begun.
    const own = found.filter(({ key, value }) => key[0] !== "burst" || Object(value).run_id === id);
    return [...own, ...lists, ...payload];
  }

  async #triggerOf(id: string): Promise<unknown> {
    const [run] = await readTogether(this.#database, [keys.run(id)]);
    return Object(run?.value).trigger_id;
  }

  #noteLaunched(id: string, { actions = [], callback }: RunFacts): void {
    for (const { created } of actions) {
      if (created === undefined) continue;
      if ("execution_id" in created) this.launched.execution.add(created.execution_id);
      else if ("pipeline_id" in created) this.launched.pipeline.add(created.pipeline_id);
      else this.launched.http_request.add(created.http_request_id);
    }
    if (callback) this.launched.http_request.add(callbackId(id));
  }
}
