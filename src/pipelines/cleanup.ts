/**
 * The records and files that pipelines and executions still need: cleanup leaves them.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import {
  findDatum,
  getExecutions,
  type InputFile,
  openExecutions,
} from "../store/records/executions.ts";
import { withPause } from "../store/commit/chunked.ts";
import { heldRuns } from "../store/records/held_runs.ts";
import { allOpenHttpRequests, getHttpRequest } from "../store/records/http_requests.ts";
import { getPipeline, getPlan, openPipelines } from "../store/records/pipelines.ts";
import { pendingEntries, type PendingEntry } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import { allStoredTriggers, type StoredTrigger } from "../store/records/triggers.ts";

/** The number of records that are read at a time, with a rest after each. */
const PAGE_SIZE = 32;
const REST_MS = 5;

/** Records and files that stay, whatever their age. */
export interface Needed {
  /** The ids of pipelines that run, or that a trigger or a pending run copies. */
  pipelines: Set<string>;
  /**
   * The ids of runs that are pending, or to be made of a burst, whose payloads may still become inputs, or that wait for
   * HTTP requests.
   */
  runs: Set<string>;
  /** The ids of executions whose outputs may still become inputs. */
  executions: Set<string>;
  /** `project/commit` of executions that may still be launched. */
  commits: Set<string>;
}

/**
 * Finds what running work, and pipelines that triggers copy, still need. After an abort it finds
 * only a part.
 *
 * @param onTrigger gets each trigger, as all are read
 */
export async function findNeeded(
  store: Store,
  signal: AbortSignal,
  onTrigger: (trigger: StoredTrigger) => void = () => {},
): Promise<Needed> {
  const needed: Needed = {
    pipelines: new Set(),
    runs: new Set(),
    executions: new Set(),
    commits: new Set(),
  };
  if (signal.aborted) return needed;
  const datums = new Set<string>();
  // In the order in which work moves on: work that moves meanwhile is found at its next place.
  for (const id of await copiedPipelines(store, signal, onTrigger)) needed.pipelines.add(id);
  await addPendingRuns(store, { needed, signal });
  await addOpenExecutions(store, { needed, datums, signal });
  for (const id of await allOpenHttpRequests(store)) {
    if (signal.aborted) break;
    const request = await withPause(() => getHttpRequest(store, id));
    if (request) needed.runs.add(request.run_id);
  }
  for (const id of await openPipelines(store)) needed.pipelines.add(id);
  for (const id of needed.pipelines) {
    if (signal.aborted) break;
    const [pipeline, plan] = await withPause(() =>
      Promise.all([getPipeline(store, id), getPlan(store, id)])
    );
    if (pipeline === undefined) continue;
    needed.runs.add(pipeline.run_id);
    // An earlier pipeline may have launched some of them.
    for (const { execution_id } of pipeline.nodes) {
      if (execution_id !== undefined) needed.executions.add(execution_id);
    }
    for (const { execution_id } of plan?.kept ?? []) needed.executions.add(execution_id);
    for (const { commit, inputs, step } of plan?.nodes ?? []) {
      needed.commits.add(`${pipeline.project}/${commit}`);
      addInputs(inputs, needed);
      for (const id of datumsIn({ inputs, step })) datums.add(id);
    }
  }
  for (const id of datums) {
    if (signal.aborted) break;
    const found = await withPause(() => findDatum(store, id));
    if (found) needed.executions.add(found.execution.id);
  }
  return needed;
}

/**
 * Adds pending runs and the pipelines that they copy. There may be very many, so it rests in
 * between.
 */
async function addPendingRuns(
  store: Store,
  { needed, signal }: { needed: Needed; signal: AbortSignal },
): Promise<void> {
  let looked = 0;
  for await (const { id, pending, joins } of unendedRuns(store)) {
    if (signal.aborted) break;
    needed.runs.add(id);
    // It is made when its burst ends, with an id of the time at which that began.
    if (joins !== undefined) needed.runs.add(joins);
    for (const source of sourcesIn(pending?.actions)) needed.pipelines.add(source);
    if (++looked % PAGE_SIZE === 0) await delay(REST_MS, { signal }).catch(() => {});
  }
}

/** All runs that have not ended. One whose turn comes meanwhile is found at its next place. */
async function* unendedRuns(
  store: Store,
): AsyncGenerator<Pick<PendingEntry, "id" | "pending"> & { joins?: string | undefined }> {
  yield* pendingEntries(store);
  for await (const pending of heldRuns(store)) {
    yield { id: pending.run.id, pending, joins: pending.held.joins };
  }
  yield* pendingEntries(store);
}

/** Adds what open executions need. There may be very many, so it reads some at a time. */
async function addOpenExecutions(
  store: Store,
  { needed, datums, signal }: { needed: Needed; datums: Set<string>; signal: AbortSignal },
): Promise<void> {
  const open = await Array.fromAsync(openExecutions(store), ({ id }) => id);
  for (let start = 0; start < open.length && !signal.aborted; start += PAGE_SIZE) {
    const ids = open.slice(start, start + PAGE_SIZE);
    const executions = await withPause(() => getExecutions(store, ids));
    for (const { project, commit, run_id, inputs } of executions) {
      needed.commits.add(`${project}/${commit}`);
      needed.runs.add(run_id);
      // A damaged record may have none.
      addInputs(inputs ?? {}, needed);
      for (const id of datumsIn(inputs ?? {})) datums.add(id);
    }
  }
}

/** Adds the sources of files: a copy of a pipeline may have the files of the original. */
function addInputs(inputs: Record<string, InputFile[]>, needed: Needed): void {
  for (const file of Object.values(inputs).flat()) {
    if ("payload_of" in file) needed.runs.add(file.payload_of);
    if ("output_of" in file) needed.executions.add(file.output_of);
  }
}

/** Returns the ids of outputs in the URLs of a value, such as those of a step's default files. */
function datumsIn(value: object): string[] {
  const found = JSON.stringify(value).toLowerCase().matchAll(/datum:\/\/([0-9a-f-]{36})/g);
  return Array.from(found, ([, id = ""]) => id);
}

/** Returns the ids of pipelines that actions of triggers copy. */
async function copiedPipelines(
  store: Store,
  signal: AbortSignal,
  onTrigger: (trigger: StoredTrigger) => void,
): Promise<string[]> {
  const found: string[] = [];
  for await (const trigger of allStoredTriggers(store, { rests: true })) {
    if (signal.aborted) break;
    onTrigger(trigger);
    found.push(...sourcesIn(Object(trigger.settings).actions));
  }
  return found;
}

/** Returns the ids of pipelines that actions copy. */
function sourcesIn(actions: unknown): string[] {
  return (Array.isArray(actions) ? actions : [])
    .map((action): unknown => Object(action).source_pipeline)
    .filter((source) => typeof source === "string");
}
