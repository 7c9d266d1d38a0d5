/**
 * Attempts: an execution with a `retry` is tried again after some of its ends.
 *
 * Each attempt is an execution of its own to its engine, with an id of its own, and so with a log, metadata and
 * outputs of its own. The record under the id that was launched is a copy of the last attempt's. The commit that
 * stores the end of an attempt also makes the next one: it is neither lost nor made twice.
 *
 * @module
 */
import { derivedId } from "../../platform/ids.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import type { Attempt, Execution } from "./execution_record.ts";
import { scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { recordWrite } from "./record_size.ts";

/** The longest pause between two attempts. */
const PAUSE_MAX_MS = 24 * 60 * 60_000;
/** Room in a record for each attempt. */
const ATTEMPT_BYTES = 256;

/** Returns what an engine gets of a new execution: its first attempt, where it has a `retry`. */
export function firstAttempt(execution: Execution): Execution {
  if (execution.retry === undefined) return execution;
  const { id } = execution;
  return { ...execution, id: derivedId(id, "attempt", 1), attempt_of: id, attempt: 1 };
}

/** Returns the id by which an engine knows an execution: that of its last attempt, where it has such. */
export function engineIdOf({ id, attempt_id }: Pick<Execution, "id" | "attempt_id">): string {
  return attempt_id ?? id;
}

/** Returns true for an attempt that has ended and behind which another one comes. */
function isRetried({ attempt = 1, retry, status, exit_code }: Outcome): boolean {
  if (retry === undefined || status !== "error" || attempt >= retry.attempts) return false;
  const { exit_codes } = retry;
  return exit_codes === "*" || exit_code !== undefined && exit_codes.includes(exit_code);
}

/** Returns true for an execution with a `retry` that has failed for good. */
export function isDead(execution: Outcome): boolean {
  return execution.retry !== undefined && execution.status === "error" && !isRetried(execution);
}

/** The facts by which an execution is tried again. */
type Outcome = Pick<Execution, "attempt" | "retry" | "status" | "exit_code">;

/** Returns the attempt behind one that has ended; undefined where none comes. It depends on the record alone. */
export function nextAttempt(ended: Execution): Execution | undefined {
  const { attempt_of, attempt = 1, retry, attempts = [], ended_at = "" } = ended;
  if (attempt_of === undefined || retry === undefined || !isRetried(ended)) return undefined;
  const pause_ms = Math.min(retry.first * 1_000 * retry.factor ** (attempt - 1), PAUSE_MAX_MS);
  const retry_at = new Date(Date.parse(ended_at) + pause_ms).toISOString();
  const next = attempt + 1;
  return {
    ...withoutOutcome(ended),
    id: derivedId(attempt_of, "attempt", next),
    attempt: next,
    attempts: [...attempts, entryOf(ended)],
    status: "created",
    retry_at,
    waiting: `Attempt ${next} of ${retry.attempts} at ${retry_at}`,
    metadata: ended.given_metadata ?? {},
    outputs: [],
  };
}

/** Returns the last line of the log of an attempt behind which another one comes: it says when. */
export function retryNote(ended: Execution): string | undefined {
  const waiting = nextAttempt(ended)?.waiting;
  return waiting && `It is tried again. ${waiting}`;
}

/** Returns the record of the execution that was launched, as the commit of this last attempt leaves it. */
export function launchedOf(changed: Execution): Execution {
  if (changed.attempt_of === undefined) return changed;
  const last = nextAttempt(changed) ?? changed;
  const { attempt_of: _of, attempts = [], ...fields } = last;
  return {
    ...fields,
    id: changed.attempt_of,
    attempt_id: last.id,
    attempts: [...attempts, entryOf(last)],
  };
}

/**
 * The writes that go with the record of an attempt: that of its execution, and, behind an end after which it is
 * tried again, the next attempt, which waits for its time.
 */
export function attemptWrites(execution: Execution, openWrite: OpenWrite): Write[] {
  if (execution.attempt_of === undefined) return [];
  const next = nextAttempt(execution);
  const launched = launchedOf(execution);
  const writes = [recordWrite(keys.execution(launched.id), launched), openWrite(launched)];
  if (next === undefined) return writes;
  return [
    ...writes,
    recordWrite(keys.execution(next.id), next),
    openWrite(next),
    { key: keys.executionRetry(next.id), value: next.retry_at },
  ];
}

/** Reads the attempts that wait for their time. */
export async function waitingAttempts(store: Store): Promise<{ id: string; at_ms: number }[]> {
  const found: { id: string; at_ms: number }[] = [];
  for await (const { key, value } of scan(store.kv, ["execution_retry"])) {
    // A damaged entry is due: the attempt's own record says whether it waits.
    found.push({ id: String(key[1]), at_ms: Date.parse(String(value)) || 0 });
  }
  return found;
}

/** Makes the write that keeps the list of open executions true. */
type OpenWrite = (execution: Execution) => Write;

/** Room that the record of a new attempt leaves for those behind it. */
export function attemptsBytes({ retry, attempts = [] }: Execution): number {
  return retry === undefined ? 0 : (retry.attempts + 1 - attempts.length) * ATTEMPT_BYTES;
}

/** The ids by which the engine keeps an execution: those of its attempts, where it has such. */
export function idsInEngine({ id, attempts }: Pick<Execution, "id" | "attempts">): string[] {
  return attempts?.map(({ execution_id }) => execution_id) ?? [id];
}

function entryOf({ id, attempt = 1, status, exit_code, started_at, ended_at }: Execution): Attempt {
  return {
    attempt,
    execution_id: id,
    status,
    ...(exit_code !== undefined && { exit_code }),
    ...(started_at !== undefined && { started_at }),
    ...(ended_at !== undefined && { ended_at }),
  };
}

function withoutOutcome(ended: Execution): Execution {
  const {
    started_at: _started,
    ended_at: _ended,
    duration: _duration,
    exit_code: _code,
    reason: _reason,
    machine: _machine,
    reachable: _reachable,
    engine_state: _state,
    ...planned
  } = ended;
  return planned;
}
