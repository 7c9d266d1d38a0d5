/**
 * The records of executions.
 *
 * @module
 */
import { derivedId, isId } from "../../platform/ids.ts";
import { keys } from "../keys.ts";
import { attemptsBytes, attemptWrites } from "./attempts.ts";
import {
  type Listed,
  listNewest,
  listOldestEnded,
  newestEntries,
  type OldestEnded,
  type Page,
  recordOf,
} from "../read/lists.ts";
import type { Change, Write } from "../commit/change.ts";
import { removeGivenSecretsWrites } from "./given_secrets.ts";
import {
  type Execution,
  EXECUTION_STATUSES,
  type ExecutionStatus,
  hasEnded,
  type OutputFile,
} from "./execution_record.ts";
import { scan } from "../read/scan.ts";
import { RECORD_BYTES_MAX, recordBytes, recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

export {
  type Execution,
  EXECUTION_STATUSES,
  type ExecutionSecret,
  type ExecutionStatus,
  hasEnded,
  type InputFile,
  type Mount,
  type OutputFile,
  type Resources,
} from "./execution_record.ts";

/** The entries of executions that have not ended that are read at a time. */
const OPEN_AT_ONCE = 500;

/** Room that is kept for what the engine writes while it runs: times, a reason, its state. */
const ENGINE_BYTES = 4 * 1024;
/** Limit of the record of an execution that has not started. */
export const NEW_EXECUTION_BYTES_MAX = RECORD_BYTES_MAX - ENGINE_BYTES;
/** Records that are read together: the limit of one read of Deno KV. */
const READ_AT_ONCE = 10;
/** Executions of one millisecond that are searched. No more ids are made in one. */
const SAME_TIME_MAX = 4_096;

/** Returns the metadata of an execution that has not started. */
export function initialMetadata(
  given: Record<string, unknown> | undefined,
): Pick<Execution, "metadata" | "given_metadata"> {
  return given === undefined ? { metadata: {} } : { metadata: given, given_metadata: given };
}

/** The write that stores an execution, without its place in the list of open ones. */
function executionWrite(execution: Execution): Write {
  const { id, status } = execution;
  const bytes = recordBytes(execution);
  const isShown = execution.waiting !== undefined || execution.reachable !== undefined;
  const isNew = status === "created" || status === "queued" && !isShown;
  const bytesMax = isNew ? NEW_EXECUTION_BYTES_MAX - attemptsBytes(execution) : RECORD_BYTES_MAX;
  if (bytes > bytesMax) {
    throw new RangeError(
      `Cannot store execution ${id}: its record has ${bytes} bytes, at most ${bytesMax} fit; the ` +
        `longest part is ${longestPart(execution)}`,
    );
  }
  return recordWrite(keys.execution(id), execution, bytes);
}

/** Names the longest value of an execution. Its command holds values, and is named where it is much longer. */
function longestPart(execution: Execution): string {
  const { parameters, environment_variables, inputs, given_metadata = {}, command } = execution;
  const kinds: [kind: string, values: Record<string, unknown>][] = [
    ["parameter", parameters],
    ["environment variable", environment_variables],
    ["input", inputs],
    ["metadata", given_metadata],
  ];
  let longest = { name: "its command", length: command.length / 4 };
  for (const [kind, values] of kinds) {
    for (const [name, value] of Object.entries(values)) {
      const { length } = JSON.stringify(value);
      if (length > longest.length) longest = { name: `${kind} "${name}"`, length };
    }
  }
  return longest.name;
}

/** The writes that store an execution and keep the list of open ones true. */
export function executionWrites(execution: Execution): Write[] {
  return [openWrite(execution), ...recordWrites(execution)];
}

/** The writes that store an execution, but for its own place in the list of open ones. */
export function recordWrites(execution: Execution): Write[] {
  return [
    executionWrite(execution),
    ...endWrites(execution),
    ...attemptWrites(execution, openWrite),
  ];
}

function openWrite({ id, status }: Execution): Write {
  const open: Write = { key: keys.executionOpen(id) };
  if (!hasEnded(status)) open.value = status;
  return open;
}

/** The writes that remove what an ended execution does not need any more. */
function endWrites({ id, status, secrets }: Execution): Write[] {
  return secrets !== undefined && hasEnded(status) ? removeGivenSecretsWrites(id) : [];
}

/** A change that stores an execution as it is when the commit is put together. */
export function saveExecution(execution: Execution): Change {
  return { writes: () => executionWrites(execution) };
}

/** Reads an execution; undefined when there is none of this id, or it is damaged. */
export async function getExecution(store: Store, id: string): Promise<Execution | undefined> {
  const key = keys.execution(id);
  const value = await store.reads.read(key);
  return value === null ? undefined : recordOf<Execution>({ key, value });
}

/** Reads executions, in the order of their ids; those that do not exist or are damaged are left out. */
export async function getExecutions(store: Store, ids: readonly string[]): Promise<Execution[]> {
  const found: Execution[] = [];
  for (let start = 0; start < ids.length; start += READ_AT_ONCE) {
    const some = ids.slice(start, start + READ_AT_ONCE);
    const executions = await Promise.all(some.map((id) => getExecution(store, id)));
    found.push(...executions.filter((execution) => execution !== undefined));
  }
  return found;
}

/** The ids of the executions that have not ended and how far they are, oldest first. */
export async function* openExecutions(
  store: Store,
): AsyncGenerator<{ id: string; status: ExecutionStatus }> {
  for await (const { key, value } of scan(store.kv, ["execution_open"], { batchSize: 500 })) {
    const id = String(key[1]);
    // What is damaged is looked up in the execution's own record.
    const status = EXECUTION_STATUSES.find((known) => known === value) ??
      (await getExecution(store, id))?.status;
    if (status !== undefined && !hasEnded(status)) yield { id, status };
  }
}

/** One page of the executions that have a status which is no end, newest first. */
export async function listOpenExecutions(
  store: Store,
  status: ExecutionStatus,
  { before }: Page,
): Promise<Listed<Execution>> {
  const entries = await newestEntries(store, ["execution_open"], { before, limit: OPEN_AT_ONCE });
  const found = entries.filter(({ value }) => value === status).map(({ key }) => String(key[1]));
  return {
    records: (await getExecutions(store, found)).filter(isLaunched),
    next: entries.length < OPEN_AT_ONCE ? undefined : String(entries.at(-1)?.key[1]),
  };
}

/**
 * The ended ones among the oldest executions that were made before a time. Attempts go with theirs.
 *
 * @param after look only behind this id; the `next` of the call before
 */
export async function endedExecutionsMadeBefore(
  store: Store,
  before_ms: number,
  page: { after?: string | undefined; limit: number },
): Promise<OldestEnded<Execution>> {
  const { ended, next } = await listOldestEnded<Execution>(
    store,
    "execution",
    { before_ms, ...page },
    hasEnded,
  );
  return { ended: ended.filter(isLaunched), next };
}

/**
 * The id by which an output can be an input of later executions, as `datum://<id>`.
 *
 * @param path the output's path, as the execution's record lists it
 */
export function datumId(executionId: string, path: string): string {
  return derivedId(executionId, "datum", path);
}

/** Finds the output that a datum id stands for; undefined when none that is kept has this id. */
export async function findDatum(
  store: Store,
  id: string,
): Promise<{ execution: Execution; output: OutputFile } | undefined> {
  if (!isId(id)) return undefined;
  // It carries its execution's time, which is what an id begins with. `.` is what comes behind `-`.
  const time = id.slice(0, "00000000-0000".length);
  let looked = 0;
  for await (const entry of scan(store.kv, ["execution"], { after: `${time}-`, batchSize: 10 })) {
    if (String(entry.key[1]) >= `${time}.` || looked++ === SAME_TIME_MAX) break;
    const execution = recordOf<Execution>(entry);
    // What is damaged may have none.
    const output = execution?.outputs?.find(({ path }) => datumId(execution.id, path) === id);
    if (execution && output) return { execution, output };
  }
  return undefined;
}

/** The writes that remove the record of an ended execution. */
export function removeExecutionWrites(execution: Execution): Write[] {
  const attempts = (execution.attempts ?? []).map(({ execution_id }) => execution_id);
  return [
    ...attempts.map((id) => ({ key: keys.execution(id) })),
    { key: keys.execution(execution.id) },
    ...endWrites(execution),
  ];
}

/** One page of all executions that were launched, newest first. */
export async function listExecutions(store: Store, page: Page): Promise<Listed<Execution>> {
  const { records, next } = await listNewest<Execution>(store, ["execution"], page);
  return { records: records.filter(isLaunched), next };
}

/** Returns false for an attempt: it is listed by the execution that was launched. */
function isLaunched({ attempt_of }: Execution): boolean {
  return attempt_of === undefined;
}

/**
 * Reads an attempt of an execution: its record as it was launched with this attempt.
 *
 * @param attempt its number; the last one when absent
 * @returns undefined when there is none
 */
export async function getAttempt(
  store: Store,
  execution: Execution,
  attempt?: number,
): Promise<Execution | undefined> {
  if (execution.attempt_id === undefined) return (attempt ?? 1) === 1 ? execution : undefined;
  const id = attempt === undefined
    ? execution.attempt_id
    : execution.attempts?.find((each) => each.attempt === attempt)?.execution_id;
  return id === undefined ? undefined : await getExecution(store, id);
}
