/**
 * The records of runs that wait for their turn, and of the places that the work of runs takes.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readWhole, scan, whole } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { endWrites, pendingIn, type PendingRun, pendingWrite, type Run } from "./runs.ts";

/** The place of a run among those that wait. */
interface Held {
  /** Its place in the order of acceptance. */
  order: number;
  /** The run that its burst becomes, where all payloads of a burst become one. */
  joins?: string;
}

/** A run that waits for its turn. */
export interface HeldRun extends PendingRun {
  held: Held;
}

/** A run whose work takes a place of its concurrency key. */
export interface Turn {
  run_id: string;
  trigger_id: string;
  key: string;
}

/** The runs of a key that become one, while more may join them. Times are in milliseconds since the epoch. */
export interface Burst {
  trigger_id: string;
  key: string;
  /** The run that it becomes. */
  run_id: string;
  /** The time at which the first of its runs was accepted. */
  first_ms: number;
  /** The time at which it closes. */
  due_ms: number;
}

/** The writes by which a pending run waits for its turn, or goes on waiting in another way. */
export function holdWrites(pending: PendingRun, held: Held): Write[] {
  const { run: { id, trigger_id } } = pending;
  const value: HeldRun = { ...pending, held };
  return [{ key: keys.pending(id, trigger_id) }, pendingWrite(keys.held(id, trigger_id), value)];
}

/** The writes by which the turn of a held run has come. */
export function releaseWrites(pending: PendingRun): Write[] {
  const { run: { id, trigger_id } } = pending;
  return [{ key: keys.held(id, trigger_id) }, pendingWrite(keys.pending(id, trigger_id), pending)];
}

/** The writes that end a run whose turn does not come. */
export function endHeldWrites(run: Run, body: Uint8Array | undefined): Write[] {
  return [...endWrites(run, body), { key: keys.held(run.id, run.trigger_id) }];
}

/** The write that gives a run's work a place. */
export function turnWrite(turn: Turn): Write {
  return { key: keys.turn(turn.run_id), value: turn };
}

/** The write that frees the place of a run's work. */
export function endTurnWrite(runId: string): Write {
  return { key: keys.turn(runId) };
}

/** The write that stores an open burst. */
export function burstWrite(burst: Burst): Write {
  const { trigger_id, key, run_id, first_ms, due_ms } = burst;
  const value: Burst = { trigger_id, key, run_id, first_ms, due_ms };
  return { key: keys.burst(trigger_id, hash("sha256", key)), value };
}

/** The write that closes a burst. */
export function closeBurstWrite({ trigger_id, key }: Burst): Write {
  return { key: keys.burst(trigger_id, hash("sha256", key)) };
}

/** Reads a held run; undefined where it is not held any more. */
export async function getHeld(
  store: Store,
  { id, triggerId }: { id: string; triggerId: string },
): Promise<HeldRun | undefined> {
  const key = keys.held(id, triggerId);
  const value = await store.reads.read(key);
  return value === null ? undefined : heldIn({ key, value });
}

/**
 * The held runs, by their ids.
 *
 * @param onDamaged called with the key of each damaged record
 */
export async function* heldRuns(
  store: Store,
  onDamaged: (key: Deno.KvKey) => void = () => {},
): AsyncGenerator<HeldRun> {
  for await (const entry of scan(store.kv, ["held"], { ids: 2 })) {
    const held = heldIn(entry);
    if (held !== undefined) yield held;
    else onDamaged(entry.key);
  }
}

/** The places that the work of runs takes. */
export async function* turns(store: Store): AsyncGenerator<Turn> {
  for await (const entry of scan(store.kv, ["turn"])) {
    const turn = whole(entry, isTurn);
    if (turn !== undefined) yield turn;
  }
}

/** Reads the open burst of a key; undefined where there is none. */
export async function getBurst(
  store: Store,
  triggerId: string,
  key: string,
): Promise<Burst | undefined> {
  return await readWhole(store.kv, keys.burst(triggerId, hash("sha256", key)), isBurst);
}

/** The open bursts. */
export async function* bursts(store: Store): AsyncGenerator<Burst> {
  for await (const entry of scan(store.kv, ["burst"], { ids: 2 })) {
    const burst = whole(entry, isBurst);
    if (burst !== undefined) yield burst;
  }
}

function heldIn(entry: { key: Deno.KvKey; value: unknown }): HeldRun | undefined {
  const pending = pendingIn(entry);
  return pending && isHeld(pending) ? pending : undefined;
}

/** Looks at what the code relies on: who writes these records is this file alone. */
function isHeld(pending: PendingRun): pending is HeldRun {
  return "held" in pending && typeof pending.held === "object" && pending.held !== null &&
    "order" in pending.held && typeof pending.held.order === "number";
}

function isBurst(value: unknown): value is Burst {
  return typeof value === "object" && value !== null && "run_id" in value && "key" in value &&
    "trigger_id" in value && "first_ms" in value && "due_ms" in value &&
    [value.run_id, value.trigger_id, value.key].every((text) => typeof text === "string") &&
    typeof value.first_ms === "number" && typeof value.due_ms === "number";
}

function isTurn(value: unknown): value is Turn {
  return typeof value === "object" && value !== null && "run_id" in value && "key" in value &&
    "trigger_id" in value &&
    [value.run_id, value.trigger_id, value.key].every((text) => typeof text === "string");
}
