/**
 * The records that are past their retention and that nothing needs any more: what cleanup removes, and what a look at
 * the retention lists.
 *
 * @module
 */
import type { Needed } from "../pipelines/cleanup.ts";
import { idTime } from "../platform/ids.ts";
import { endedExecutionsMadeBefore, type Execution } from "../store/records/executions.ts";
import { endedHttpRequestsMadeBefore, type HttpRequest } from "../store/records/http_requests.ts";
import { endedPipelinesMadeBefore, type Pipeline } from "../store/records/pipelines.ts";
import { endedRunsMadeBefore } from "../store/records/run_lists.ts";
import type { EndedRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { Cutoffs, RetentionCutoffs } from "./retention.ts";

/** Records that are read at a time. Removing a page of runs mostly takes two commits. */
export const PAGE_SIZE = 64;

/** The terms of what may be removed. */
export interface Terms {
  cutoffs: RetentionCutoffs;
  needed: Needed;
}

/** The records of one page that may be removed. */
interface Past<T> {
  found: T[];
  /** The id behind which the next page begins; undefined after the last one. */
  next: string | undefined;
}

/** Reads a page of records that may be removed, oldest first, behind an id. */
export type ReadPast<T> = (
  store: Store,
  terms: Terms,
  after: string | undefined,
) => Promise<Past<T>>;

interface TriggerRecord {
  id: string;
  trigger_id: string;
}

/** The readers, by kind. */
export const PAST: {
  runs: ReadPast<EndedRun>;
  pipelines: ReadPast<Pipeline>;
  executions: ReadPast<Execution>;
  http_requests: ReadPast<HttpRequest>;
  /** Runs that stay without their payloads. */
  payloads: ReadPast<EndedRun>;
  /** Executions that stay without their logs. */
  logs: ReadPast<Execution>;
  /** Executions that stay without their outputs. */
  outputs: ReadPast<Execution>;
} = {
  runs: (store, terms, after) => pastRuns(store, { ...terms, past: recordsOf(terms) }, after),
  async pipelines(store, terms, after) {
    const { needed, cutoffs: { records } } = terms;
    const page = await endedPipelinesMadeBefore(store, records.newest_ms, pageBehind(after));
    const found = await past(
      page.ended,
      recordsOf(terms),
      ({ id, run_id }) => needed.pipelines.has(id) || needed.runs.has(run_id),
    );
    return { found, next: page.next };
  },
  executions: (store, terms, after) =>
    pastExecutions(store, { ...terms, past: recordsOf(terms) }, after),
  async http_requests(store, terms, after) {
    const { needed, cutoffs: { records } } = terms;
    const page = await endedHttpRequestsMadeBefore(store, records.newest_ms, pageBehind(after));
    const found = await past(page.ended, recordsOf(terms), ({ run_id }) => needed.runs.has(run_id));
    return { found, next: page.next };
  },
  async payloads(store, terms, after) {
    const part = { ...terms, past: partOf(terms, "payloads") };
    const { found, next } = await pastRuns(store, part, after);
    return {
      found: found.filter(({ payload }) => payload.size > 0 && payload.removed_at === undefined),
      next,
    };
  },
  async logs(store, terms, after) {
    const part = { ...terms, past: partOf(terms, "logs") };
    const { found, next } = await pastExecutions(store, part, after);
    return { found: found.filter(({ log_removed_at }) => log_removed_at === undefined), next };
  },
  async outputs(store, terms, after) {
    const part = { ...terms, past: partOf(terms, "outputs") };
    const { found, next } = await pastExecutions(store, part, after);
    // Earlier attempts may have some.
    const hasOutputs = ({ outputs, attempts, outputs_removed_at }: Execution) =>
      outputs.length > 0 || attempts !== undefined && outputs_removed_at === undefined;
    return { found: found.filter(hasOutputs), next };
  },
};

/** The time of what is past its retention: older than this, and no older than what goes as a whole. */
interface PastTimes {
  cutoff: Pick<Cutoffs, "of" | "newest_ms">;
  /** The cutoff of records, where a part of one is looked for. */
  records?: Pick<Cutoffs, "of">;
}

function recordsOf({ cutoffs }: Terms): PastTimes {
  return { cutoff: cutoffs.records };
}

function partOf({ cutoffs }: Terms, kind: "payloads" | "logs" | "outputs"): PastTimes {
  return { cutoff: cutoffs[kind], records: cutoffs.records };
}

type PartTerms = Terms & { past: PastTimes };

async function pastRuns(
  store: Store,
  { needed, past: times }: PartTerms,
  after: string | undefined,
): Promise<Past<EndedRun>> {
  if (times.cutoff.newest_ms === -Infinity) return NONE;
  const runs = await endedRunsMadeBefore(store, times.cutoff.newest_ms, pageBehind(after));
  const found = await past(runs, times, ({ id }) => needed.runs.has(id));
  return { found, next: runs.length < PAGE_SIZE ? undefined : runs.at(-1)?.id };
}

async function pastExecutions(
  store: Store,
  { needed, past: times }: PartTerms,
  after: string | undefined,
): Promise<Past<Execution>> {
  if (times.cutoff.newest_ms === -Infinity) return NONE;
  const page = await endedExecutionsMadeBefore(store, times.cutoff.newest_ms, pageBehind(after));
  const found = await past(page.ended, times, ({ id, attempts, run_id, pipeline_id = "" }) =>
    // What it left behind may be an input of nodes that have not started.
    needed.pipelines.has(pipeline_id) || needed.executions.has(id) || needed.runs.has(run_id) ||
    attempts?.some(({ execution_id }) => needed.executions.has(execution_id)) === true);
  return { found, next: page.next };
}

/** Nothing ever goes. */
const NONE = { found: [], next: undefined };

/** Returns the page behind a place. */
export function pageBehind<Place>(after: Place): { after: Place; limit: number } {
  return { after, limit: PAGE_SIZE };
}

async function past<T extends TriggerRecord>(
  all: readonly T[],
  { cutoff, records }: PastTimes,
  isNeeded: (record: T) => boolean,
): Promise<T[]> {
  const found: T[] = [];
  for (const record of all) {
    if (isNeeded(record)) continue;
    const made_ms = idTime(record.id);
    if (made_ms >= await cutoff.of(record.trigger_id)) continue;
    // It goes with its record.
    if (records !== undefined && made_ms < await records.of(record.trigger_id)) continue;
    found.push(record);
  }
  return found;
}
