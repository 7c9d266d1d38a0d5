/**
 * The records of runs, and of the work that a run still has before it.
 *
 * @module
 */
import { idTime } from "../../platform/ids.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import type { Pace } from "./pace.ts";
import {
  bodyForRecord,
  needsUpload,
  type PayloadInfo,
  payloadWrites,
  removePayloadWrites,
  storedSize,
} from "./payloads.ts";
import type { Launched } from "./launchers.ts";
import { type FoundEntry, readFirst, scan, whole } from "../read/scan.ts";
import { RecordCaches } from "../read/record_cache.ts";
import { recordBytes } from "./record_size.ts";
import type { Store } from "../store.ts";
import { removeSentIdWrites, sentIdWrites } from "./trigger_log_entries.ts";

/** The statuses of a run. All but the first are ends. */
export const RUN_STATUSES = ["pending", "completed", "error", "complete_with_error"] as const;

/** The status of a run. */
export type RunStatus = typeof RUN_STATUSES[number];

/** The object that an action made, as run info shows it beside the action's name. */
export type CreatedObject =
  | { execution_step: string; execution_id: string }
  | { pipeline_name: string; pipeline_id: string }
  | { url: string; http_request_id: string };

/** The outcome of one action of a run. */
export interface ActionOutcome {
  action: string;
  /** The object that it made; absent when it makes none or failed. */
  created?: CreatedObject;
  /** The error of an action that failed. For the owner alone. */
  error?: string;
  /** The reason for which it was not performed. For the owner alone. */
  skipped?: string;
}

/** The part of a request that its run's record keeps. */
export interface LaunchFacts {
  /** Without credentials, which are left out, and without what the run holds elsewhere. */
  headers?: Record<string, string>;
  /** The query behind the launch URL, without its `?`, credentials masked. */
  query?: string;
  /** The names of headers and parameters that were too long to keep. */
  left_out?: { headers: string[]; query: string[] };
  /** The status of the answer; 200 where absent. */
  status?: number;
  /** JSON Pointers to the fields of the body that carry credentials; views mask them. */
  masked?: string[];
  /** The credentials were taken out of the body before it was stored. */
  redacted?: true;
}

/** One accepted launch and its outcome. All times are RFC 3339. */
export interface Run extends Launched {
  id: string;
  trigger_id: string;
  project: string;
  status: RunStatus;
  created_at: string;
  ended_at?: string;
  remote_ip: string;
  /** Absent where nothing is known of the request, and in replays. */
  request?: LaunchFacts;
  /** The sender's id of the delivery. */
  delivery_id?: string;
  payload: PayloadInfo;
  /** The outcomes of the actions, in order; empty while pending. */
  actions: ActionOutcome[];
  /** The delivery whose payload was launched again. */
  replay_of?: string;
  /** The bulk replay that launched it again. */
  replay_id?: string;
  /** Set where a schedule of its trigger has launched it, or an operator did so in its place. */
  source?: "schedule";
  /** The time of the occurrence that it is for; absent where an operator launched it. */
  scheduled_for?: string;
  /** The newer or older run of the same burst, or of the same concurrency key, that was performed in its place. */
  superseded_by?: string;
  /** The run with the same concurrency key whose work was under way, so that this one was not performed. */
  skipped_by?: string;
  /** Set where its trigger has a callback: it is sent once the run and its work have ended. */
  callback?: true;
}

/** The settings of an action, as its kind's schema gives them. */
export interface ActionSettings {
  type: string;
  /** An expression; where it is false, the action is skipped. */
  if?: string | undefined;
  /** The fate of the actions behind it where this one fails. */
  on_failure?: "continue" | "stop" | undefined;
}

/**
 * A run that has not ended, and the work that it has before it. It holds the actions as they were when
 * the run was accepted, so that a change of the trigger does not change what was promised.
 */
export interface PendingRun {
  run: Run;
  actions: readonly ActionSettings[];
  /** The worker that has accepted it; for another one, its actions may have been begun before. */
  worker: string;
  /** Set where that instance performs it, and the leader only once the instance is gone. */
  own?: true;
  /** Absent where it is performed as soon as there is a place, and once its turn has come. */
  pace?: Pace;
  /** The launch in its trace. */
  traceparent?: string;
  /** The payload, where it lies in the record of the run. */
  body?: Uint8Array;
}

/** A run that has ended, as it is stored. */
export interface EndedRun extends Run {
  /** The payload, where it lies in the record of the run. */
  body?: Uint8Array;
}

/** The ended runs that were read last. Nearly all take a kilobyte or two, none more than 60. */
const endedRuns = new RecordCaches<Run>("run", 500);

/** The value of a key that only has to be there; bytes are stored as they are. */
const LISTED = new Uint8Array();

/**
 * The kinds of keys of runs that have not ended. One that waits for its turn goes from the first to the second and
 * back: a look at them in this order misses none.
 */
export const PENDING_KINDS = ["pending", "held", "pending"] as const;

/** Limit of the actions in a run's record that also holds the payload. */
const ACTIONS_BYTES_MAX = 32 * 1024;
/** Limit of a pending run without its actions and payload: ids, names, a content type. */
const PENDING_BYTES = 1_024;
/** The stored sizes of actions, which are the same for all runs of a trigger. */
const actionsSizes = new WeakMap<readonly ActionSettings[], number>();

function actionsBytes(actions: readonly ActionSettings[]): number {
  let bytes = actionsSizes.get(actions);
  if (bytes === undefined) actionsSizes.set(actions, bytes = recordBytes(actions));
  return bytes;
}

/** Returns an upper bound of the size that the facts about a request take. Headers are Latin-1. */
function requestBytes({ request = {}, delivery_id = "", launched_by }: Run): number {
  let bytes = 2 * ((request.query?.length ?? 0) + delivery_id.length);
  if (launched_by !== undefined) bytes += 2 * (launched_by.name?.length ?? 0) + 64;
  for (const name in request.headers) {
    bytes += name.length + (request.headers[name]?.length ?? 0) + 8;
  }
  const { headers = [], query = [] } = request.left_out ?? {};
  for (const name of [...headers, ...query]) bytes += 2 * name.length + 8;
  return bytes;
}

/** A run that is about to be accepted, with its payload where there is room for it. */
export function newPending(parts: Omit<PendingRun, "body">, body: Uint8Array): PendingRun {
  const kept = actionsBytes(parts.actions) > ACTIONS_BYTES_MAX ? undefined : bodyForRecord(body);
  return kept === undefined ? parts : { ...parts, body: kept };
}

/** The writes that accept a run. The pending run comes last: with it the run exists. */
export function acceptWrites(pending: PendingRun, payload: Uint8Array): Write[] {
  const { run, body } = pending;
  return [
    ...replayWrites(run),
    ...body === undefined ? payloadWrites(run.id, payload) : [],
    pendingWrite(keys.pending(run.id, run.trigger_id), pending),
  ];
}

/** The write that stores a pending run, under its own key or that of a held one. */
export function pendingWrite(key: Deno.KvKey, pending: PendingRun): Write {
  const { run, actions, body } = pending;
  const bytes = PENDING_BYTES + requestBytes(run) + actionsBytes(actions) + (body?.length ?? 0);
  return { key, value: pending, bytes };
}

/** The writes that take back what {@linkcode acceptWrites} stored. An upload is abandoned again. */
export function withdrawWrites({ run, body }: PendingRun, payload: Uint8Array): Write[] {
  const removals: Write[] = [
    { key: keys.pending(run.id, run.trigger_id) },
    ...removeReplayWrites(run),
  ];
  if (needsUpload(payload.length)) return [...removals, { key: keys.upload(run.id), value: true }];
  return [...removals, ...body === undefined ? removePayloadWrites(run.id, payload.length) : []];
}

/** The writes that list a run with the replays of the delivery that it launched again. */
function replayWrites(run: Run): Write[] {
  return removeReplayWrites(run).map(({ key }) => ({ key, value: LISTED }));
}

function removeReplayWrites({ id, replay_of }: Pick<Run, "id" | "replay_of">): Write[] {
  return replay_of === undefined ? [] : [{ key: keys.replayOf(replay_of, id) }];
}

/**
 * Limit of the errors of a run's actions in its record, in characters. They take two bytes each when one of
 * them is not Latin, and a run whose record does not fit into a value would never end.
 */
const ERRORS_LENGTH_MAX = 24 * 1024;

/**
 * The writes that end a run, and list it with its trigger's. Very long errors of many actions are cut
 * short.
 *
 * @param body the payload, where it lies in the record of the run
 */
export function endWrites(run: Run, body?: Uint8Array): Write[] {
  const length_max = Math.floor(ERRORS_LENGTH_MAX / Math.max(1, run.actions.length));
  const actions = run.actions.map(({ error, skipped, ...outcome }): ActionOutcome => ({
    ...outcome,
    ...(error !== undefined && { error: error.slice(0, length_max) }),
    ...(skipped !== undefined && { skipped: skipped.slice(0, length_max) }),
  }));
  const value: EndedRun = { ...run, actions, ...(body === undefined ? {} : { body }) };
  const bytes = PENDING_BYTES + requestBytes(run) + 2 * JSON.stringify(actions).length +
    (body?.length ?? 0);
  return [
    { key: keys.triggerRun(run.trigger_id, run.id), value: LISTED },
    ...sentIdWrites(run.delivery_id, run.id),
    { key: keys.run(run.id), value, bytes },
    { key: keys.pending(run.id, run.trigger_id) },
    ...run.callback ? [{ key: keys.callbackDue(run.id), value: run.trigger_id }] : [],
  ];
}

/** The writes that remove an ended run and its payload. It is listed by its trigger until it is taken off. */
export function removeRunWrites(run: EndedRun): Write[] {
  const { id, delivery_id, payload, body } = run;
  return [
    ...removeSentIdWrites(delivery_id, id),
    ...removeReplayWrites(run),
    ...body === undefined ? removePayloadWrites(id, payload.size) : [],
    { key: keys.run(id) },
  ];
}

/**
 * Reads a run, pending or ended. Returns undefined for an unknown id or a damaged record.
 *
 * @param triggerId its trigger, where it is known: then many runs are read together
 */
export async function getRun(
  store: Store,
  id: string,
  triggerId?: string,
): Promise<Run | undefined> {
  const ended = await getEnded(store, id);
  if (ended !== null) return ended;
  const pending = await getPending(store, id, triggerId);
  if (pending !== undefined) return pending.run;
  // It may have ended between the two looks: at any time it is in one place, and never pending again.
  return await getEnded(store, id) ?? undefined;
}

/**
 * Returns an ended run that was read lately and is in memory; undefined for another one. What another instance has
 * removed in the last seconds may be among them.
 */
export function runInMemory(store: Store, id: string): Run | undefined {
  return endedRuns.of(store).inMemory(id);
}

/** Reads an ended run; null when there is none, undefined when it is damaged. */
function getEnded(store: Store, id: string): Promise<Run | null | undefined> {
  return endedRuns.of(store).get(id, async () => {
    const value = await store.reads.read(keys.run(id));
    if (value === null) return null;
    const run = whole({ key: keys.run(id), value }, isRun);
    return run && withoutBody(run);
  });
}

/** Reads a run that has not ended; undefined when it has, or never was, or is damaged. */
export async function getPending(
  store: Store,
  id: string,
  triggerId?: string,
): Promise<PendingRun | undefined> {
  for (const kind of PENDING_KINDS) {
    const value = triggerId === undefined
      ? await readFirst(store.kv, [kind, id])
      : await store.reads.read([kind, id, triggerId]);
    if (value !== null) return pendingIn({ key: [kind, id], value });
  }
  return undefined;
}

/** The ids in a pending run's key, which are known even when its record is damaged. */
interface PendingIds {
  id: string;
  triggerId: string;
}

/** The ids of the runs that have not ended, oldest first. */
export async function* pendingIds(store: Store): AsyncGenerator<PendingIds> {
  for await (const { key } of scan(store.kv, ["pending"], { ids: 2 })) yield idsIn(key);
}

/** A run that has not ended, as it is stored. */
export interface PendingEntry extends PendingIds {
  /** Undefined when the record is damaged. */
  pending: PendingRun | undefined;
  /** The write that removes it, whatever its key is made of. */
  removal: Write;
  /** Of the commit that has accepted it; "" where that is not known. */
  versionstamp: string;
}

/** The runs that have not ended, but for held ones, oldest first. */
export async function* pendingEntries(store: Store): AsyncGenerator<PendingEntry> {
  for await (const entry of scan(store.kv, ["pending"], { ids: 2 })) {
    const { key, versionstamp = "" } = entry;
    yield { ...idsIn(key), pending: pendingIn(entry), removal: { key }, versionstamp };
  }
}

function idsIn(key: Deno.KvKey): PendingIds {
  const [, id = "", triggerId = ""] = key.map(String);
  return { id, triggerId };
}

/**
 * Returns a substitute for a run whose record is damaged: its id, its trigger, and an error.
 *
 * @param id as its key has it
 * @param trigger_id as its key has it; empty where that does not tell it
 */
export async function damagedRun(store: Store, id: string, trigger_id: string): Promise<Run> {
  const time_ms = idTime(id);
  return {
    id,
    trigger_id,
    project: "",
    status: "error",
    created_at: new Date(Number.isFinite(time_ms) ? time_ms : 0).toISOString(),
    remote_ip: "",
    payload: { size: await storedSize(store, id), sha256: "" },
    actions: [{ action: "none", error: "The record of the run is damaged: nothing was done" }],
  };
}

/** Returns the ended run of an entry; undefined, and logged, when it is damaged. */
export function endedIn(entry: FoundEntry): EndedRun | undefined {
  return whole(entry, isRun);
}

/** Returns an ended run without its payload. */
export function withoutBody({ body: _body, ...run }: EndedRun): Run {
  return run;
}

/** Returns the pending run of an entry; undefined, and logged, when it is damaged. */
export function pendingIn(entry: FoundEntry): PendingRun | undefined {
  const isOfKey = (value: unknown): value is PendingRun =>
    isPending(value) && value.run.id === entry.key[1];
  return whole(entry, isOfKey);
}

function isPending(value: unknown): value is PendingRun {
  if (!isObject(value)) return false;
  const { run, actions, worker } = value;
  return isRun(run) && typeof worker === "string" && Array.isArray(actions) &&
    actions.every((action) => isObject(action) && typeof action.type === "string");
}

/** Looks at what the code relies on: who writes these records is this file alone. */
function isRun(value: unknown): value is EndedRun {
  if (!isObject(value) || !isObject(value.payload) || !Array.isArray(value.actions)) return false;
  const { id, trigger_id, project, status, created_at, payload } = value;
  return [id, trigger_id, project, status, created_at, payload.sha256].every((text) =>
    typeof text === "string"
  ) && Number.isSafeInteger(payload.size) && value.actions.every(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
