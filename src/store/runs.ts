/**
 * The records of runs, and of the work that a run still has before it.
 *
 * @module
 */
import { idTime } from "../ids.ts";
import type { Write } from "./committer.ts";
import { keys } from "./keys.ts";
import {
  bodyForRecord,
  type PayloadInfo,
  payloadWrites,
  removePayloadWrites,
  storedSize,
} from "./payloads.ts";
import { logDamage, readValue, scan } from "./reading.ts";
import { recordBytes } from "./record.ts";
import type { Store } from "./store.ts";

/** How far a run is. All but the first are ends. */
export type RunStatus = "pending" | "completed" | "error" | "complete_with_error";

/** What an action made, as run info shows it beside the action's name. */
export type CreatedObject = Record<string, string>;

/** What came of one action of a run. */
export interface ActionOutcome {
  action: string;
  /** What it made; absent when it makes nothing or failed. */
  created?: CreatedObject;
  /** Why it failed; absent when it did not. For the owner alone. */
  error?: string;
}

/** One accepted launch and what came of it. All times are RFC 3339. */
export interface Run {
  id: string;
  trigger_id: string;
  project: string;
  status: RunStatus;
  created_at: string;
  ended_at?: string;
  remote_ip: string;
  payload: PayloadInfo;
  /** What came of the actions, in order; empty while pending. */
  actions: ActionOutcome[];
  /** The run whose payload was launched again. */
  replay_of?: string;
}

/** The settings of an action, as its kind's schema gives them. */
export interface ActionSettings {
  type: string;
}

/**
 * A run that has not ended, and the work that it has before it. It holds the actions as they were when
 * the run was accepted, so that a change of the trigger does not change what was promised.
 */
export interface PendingRun {
  run: Run;
  actions: readonly ActionSettings[];
  /** The worker that has it; another may take it when that one's lease has run out. */
  worker: string;
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

/** Shows that a worker is alive. */
export interface WorkerLease {
  /** Milliseconds since the epoch. */
  until_ms: number;
}

/** The value of a key that only has to be there; bytes are stored as they are. */
const LISTED = new Uint8Array();

/** How much of a run's record its actions may take if a payload is to lie in it, too. */
const ACTIONS_BYTES_MAX = 32 * 1024;
/** The stored sizes of actions, which are the same for all runs of a trigger. */
const actionsBytes = new WeakMap<readonly ActionSettings[], number>();

/** A run that is about to be accepted, with its payload where there is room for it. */
export function newPending(parts: Omit<PendingRun, "body">, body: Uint8Array): PendingRun {
  const { actions } = parts;
  let bytes = actionsBytes.get(actions);
  if (bytes === undefined) actionsBytes.set(actions, bytes = recordBytes(actions));
  const kept = bytes > ACTIONS_BYTES_MAX ? undefined : bodyForRecord(body);
  return kept === undefined ? parts : { ...parts, body: kept };
}

/** The writes that accept a run. The pending run comes last: with it the run exists. */
export function acceptWrites(pending: PendingRun, payload: Uint8Array): Write[] {
  const { run, actions, body } = pending;
  const bytes = 2_048 + 1_024 * actions.length + (body?.length ?? 0);
  return [
    ...body === undefined ? payloadWrites(run.id, payload) : [],
    { key: keys.triggerRun(run.trigger_id, run.id), value: LISTED },
    { key: keys.pending(run.id), value: pending, bytes },
  ];
}

/**
 * What the errors of a run's actions may take in its record, in characters: they are of two bytes when
 * one of them is not Latin, and a record that does not fit into a value would never end its run.
 */
const ERRORS_LENGTH_MAX = 24 * 1024;

/**
 * The writes that end a run. Very long errors of many actions are cut short.
 *
 * @param body the payload, where it lies in the record of the run
 */
export function endWrites(run: Run, body?: Uint8Array): Write[] {
  const length_max = Math.floor(ERRORS_LENGTH_MAX / Math.max(1, run.actions.length));
  const actions = run.actions.map((outcome): ActionOutcome =>
    outcome.error === undefined
      ? outcome
      : { ...outcome, error: outcome.error.slice(0, length_max) }
  );
  const value: EndedRun = { ...run, actions, ...(body === undefined ? {} : { body }) };
  const bytes = 1_024 + 2 * JSON.stringify(actions).length + (body?.length ?? 0);
  return [
    { key: keys.run(run.id), value, bytes },
    { key: keys.pending(run.id) },
  ];
}

/** The writes that remove an ended run and its payload. */
export function removeRunWrites(run: Run): Write[] {
  return [
    ...removePayloadWrites(run.id, run.payload.size),
    { key: keys.triggerRun(run.trigger_id, run.id) },
    { key: keys.run(run.id) },
  ];
}

/** Reads a run, pending or ended; undefined when there is none of this id, or none that is whole. */
export async function getRun(store: Store, id: string): Promise<Run | undefined> {
  const ended = await getEnded(store, id);
  if (ended !== null) return ended;
  const pending = await store.reads.read(keys.pending(id));
  if (pending !== null) return wholePending(pending, keys.pending(id))?.run;
  // It may have ended between the two looks: at any time it is in one place, and never pending again.
  return await getEnded(store, id) ?? undefined;
}

/** Reads an ended run; null when there is none, undefined when it is damaged. */
function getEnded(store: Store, id: string): Promise<Run | null | undefined> {
  return store.endedRuns.get(id, async () => {
    const value = await store.reads.read(keys.run(id));
    return value === null ? null : wholeRun(value, keys.run(id));
  });
}

/** Reads a run that has not ended; undefined when it has, or never was, or is damaged. */
export async function getPending(store: Store, id: string): Promise<PendingRun | undefined> {
  const key = keys.pending(id);
  const value = await readValue(store.kv, key);
  return value === null ? undefined : wholePending(value, key);
}

/** The runs that have not ended, oldest first; undefined in place of one whose record is damaged. */
export async function* pendingEntries(
  store: Store,
): AsyncGenerator<{ key: Deno.KvKey; pending: PendingRun | undefined }> {
  for await (const { key, value } of scan(store.kv, ["pending"])) {
    yield { key, pending: wholePending(value, key) };
  }
}

/** The runs that have not ended, oldest first, but for those whose record is damaged. */
export async function* listPending(store: Store): AsyncGenerator<PendingRun> {
  for await (const { pending } of pendingEntries(store)) if (pending) yield pending;
}

/**
 * What can be said of a run whose record is damaged: its id, its trigger, and that it failed.
 *
 * @param id as its key has it
 */
export async function damagedRun(store: Store, id: string): Promise<Run> {
  const time_ms = idTime(id);
  return {
    id,
    trigger_id: await triggerOf(store, id) ?? "",
    project: "",
    status: "error",
    created_at: new Date(Number.isFinite(time_ms) ? time_ms : 0).toISOString(),
    remote_ip: "",
    payload: { size: await storedSize(store, id), sha256: "" },
    actions: [{ action: "none", error: "The record of the run is damaged: nothing was done" }],
  };
}

/** Which trigger lists a run as its own. */
async function triggerOf(store: Store, runId: string): Promise<string | undefined> {
  for await (const { key } of scan(store.kv, ["trigger"])) {
    const id = String(key[1]);
    if ((await store.kv.get(keys.triggerRun(id, runId))).value !== null) return id;
  }
  return undefined;
}

/** The value as a run, if it is one; otherwise the log says so. */
function wholeRun(value: unknown, key: Deno.KvKey): Run | undefined {
  if (isRun(value)) return withoutBody(value);
  logDamage(key);
  return undefined;
}

function withoutBody({ body: _body, ...run }: EndedRun): Run {
  return run;
}

function wholePending(value: unknown, key: Deno.KvKey): PendingRun | undefined {
  if (isPending(value) && value.run.id === key[1]) return value;
  logDamage(key);
  return undefined;
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

/**
 * One page of a trigger's runs, newest first.
 *
 * @param before list only those older than this run; the `next` of the page before
 */
export async function listTriggerRuns(
  store: Store,
  triggerId: string,
  { before, limit }: { before?: string; limit: number },
): Promise<{ runs: Run[]; next: string | undefined }> {
  const prefix = ["trigger_run", triggerId];
  const selector = before === undefined ? { prefix } : { prefix, end: [...prefix, before] };
  const runs: Run[] = [];
  let last: string | undefined;
  let listed = 0;
  for await (const { key } of store.kv.list(selector, { reverse: true, limit })) {
    listed++;
    last = String(key[2]);
    const run = await getRun(store, last);
    if (run) runs.push(run);
  }
  return { runs, next: listed === limit ? last : undefined };
}

/**
 * The oldest ended runs that were made before `before_ms`, at most `limit`.
 *
 * @param after look only behind this id
 */
export async function endedRunsMadeBefore(
  store: Store,
  before_ms: number,
  { after, limit }: { after?: string; limit: number },
): Promise<Run[]> {
  const found: Run[] = [];
  for await (const { key, value } of scan(store.kv, ["run"], { after, batchSize: limit })) {
    const id = String(key[1]);
    if (idTime(id) >= before_ms) break;
    found.push(wholeRun(value, key) ?? await damagedRun(store, id));
    // Before the next is asked for, which would read another batch.
    if (found.length === limit) break;
  }
  return found;
}
