/**
 * The records of bulk replays, and the deliveries that each of them launches again.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import type { Author } from "./audit.ts";
import { idTime } from "../../platform/ids.ts";
import { keys } from "../keys.ts";
import { type Listed, listNewest, type Page } from "../read/lists.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The states of a bulk replay. */
export const REPLAY_STATES = ["running", "completed", "stopped"] as const;

/** The state of a bulk replay. */
type ReplayState = typeof REPLAY_STATES[number];

/** A bulk replay. All times are RFC 3339. */
export interface Replay {
  id: string;
  /** The operator who began it; absent in records of earlier versions. */
  created_by?: Author;
  state: ReplayState;
  created_at: string;
  ended_at?: string;
  /** The filter as it was sent, for its owner. */
  filter: Record<string, string>;
  /** Launches a second at most. */
  rate: number;
  /** Leaves out deliveries that already have a successful run. */
  only_without_success: boolean;
  /** The commit that the actions run at, in place of their own. */
  commit?: string;
  /** The payload in place of each run's own. */
  body?: Uint8Array;
  /** Number of the deliveries to launch again. */
  count: number;
  /** Number of these that are done: launched, skipped or failed. */
  done: number;
  launched: number;
  skipped: number;
  failed: number;
  /** The reason of the latest failure. */
  error?: string;
}

/** Ids in one value: 36 KB. */
const IDS_A_CHUNK = 1_000;

/** Returns the writes that store a new replay, in their order: the deliveries that it launches again, then its record. */
export function newReplayWrites(replay: Replay, ids: readonly string[]): Write[] {
  const writes: Write[] = [];
  for (let index = 0; index * IDS_A_CHUNK < ids.length; index++) {
    const value = ids.slice(index * IDS_A_CHUNK, (index + 1) * IDS_A_CHUNK);
    writes.push({ key: keys.replayRuns(replay.id, index), value, bytes: 48 * value.length });
  }
  return [...writes, ...replayWrites(replay)];
}

/** Returns the writes that store how far a replay is. */
export function replayWrites(replay: Replay): Write[] {
  const { id, state, body } = replay;
  return [
    { key: keys.replay(id), value: replay, bytes: 4_096 + (body?.length ?? 0) },
    { key: keys.runningReplay(id), ...(state === "running" && { value: true }) },
  ];
}

/** The ids of the replays that are marked as running. */
export function markedReplays({ kv }: Store): Promise<string[]> {
  return Array.fromAsync(scan(kv, ["pending_replay"]), ({ key }) => String(key[1]));
}

/** Reads a replay; undefined when there is none of this id. */
export async function getReplay(store: Store, id: string): Promise<Replay | undefined> {
  const value = await readValue(store.kv, keys.replay(id));
  return isReplay(value) ? value : undefined;
}

/** Lists the replays, newest first. */
export function listReplays(store: Store, page: Page): Promise<Listed<Replay>> {
  return listNewest<Replay>(store, ["replay"], page);
}

/** Reads the ids of the deliveries that a replay launches again, from a place on. */
export async function* replayedDeliveries(
  store: Store,
  { id, count, done }: Replay,
): AsyncGenerator<string> {
  for (let index = Math.floor(done / IDS_A_CHUNK); index * IDS_A_CHUNK < count; index++) {
    const ids = await readValue(store.kv, keys.replayRuns(id, index));
    if (!Array.isArray(ids)) return;
    yield* ids.slice(Math.max(0, done - index * IDS_A_CHUNK)).map(String);
  }
}

/** Removes the replays that were begun before a time and have ended, and returns their number. */
export async function removeEndedReplays(store: Store, before_ms: number): Promise<number> {
  const writes: Write[] = [];
  let removed = 0;
  for await (const { value } of scan(store.kv, ["replay"], { batchSize: 10 })) {
    if (!isReplay(value)) continue;
    if (idTime(value.id) >= before_ms) break;
    if (value.state === "running") continue;
    const { id, count } = value;
    const chunks = Math.ceil(count / IDS_A_CHUNK);
    for (let index = 0; index < chunks; index++) writes.push({ key: keys.replayRuns(id, index) });
    // The record last: it tells of the others, should this be broken off.
    writes.push({ key: keys.replay(id) });
    removed++;
  }
  await store.committer.writeInParts(writes);
  return removed;
}

function isReplay(value: unknown): value is Replay {
  const { id, state, count, done } = Object(value);
  return typeof id === "string" && REPLAY_STATES.includes(state) &&
    Number.isSafeInteger(count) && Number.isSafeInteger(done);
}
