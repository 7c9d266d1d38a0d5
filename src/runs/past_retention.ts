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
import type { Cutoffs } from "./retention.ts";

/** Records that are read at a time. Removing a page of runs mostly takes two commits. */
export const PAGE_SIZE = 64;

/** The terms of what may be removed. */
export interface Terms {
  cutoffs: Pick<Cutoffs, "of" | "newest_ms">;
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
} = {
  async runs(store, terms, after) {
    const runs = await endedRunsMadeBefore(store, terms.cutoffs.newest_ms, pageBehind(after));
    const found = await past(runs, terms, ({ id }) => terms.needed.runs.has(id));
    return { found, next: runs.length < PAGE_SIZE ? undefined : runs.at(-1)?.id };
  },
  async pipelines(store, terms, after) {
    const { needed, cutoffs } = terms;
    const page = await endedPipelinesMadeBefore(store, cutoffs.newest_ms, pageBehind(after));
    const found = await past(
      page.ended,
      terms,
      ({ id, run_id }) => needed.pipelines.has(id) || needed.runs.has(run_id),
    );
    return { found, next: page.next };
  },
  async executions(store, terms, after) {
    const { needed, cutoffs } = terms;
    const page = await endedExecutionsMadeBefore(store, cutoffs.newest_ms, pageBehind(after));
    const found = await past(page.ended, terms, ({ id, run_id, pipeline_id = "" }) =>
      // What it left behind may be an input of nodes that have not started.
      needed.pipelines.has(pipeline_id) || needed.executions.has(id) || needed.runs.has(run_id));
    return { found, next: page.next };
  },
  async http_requests(store, terms, after) {
    const { needed, cutoffs } = terms;
    const page = await endedHttpRequestsMadeBefore(store, cutoffs.newest_ms, pageBehind(after));
    const found = await past(page.ended, terms, ({ run_id }) => needed.runs.has(run_id));
    return { found, next: page.next };
  },
};

/** Returns the page behind a place. */
export function pageBehind<Place>(after: Place): { after: Place; limit: number } {
  return { after, limit: PAGE_SIZE };
}

async function past<T extends TriggerRecord>(
  records: readonly T[],
  { cutoffs }: Terms,
  isNeeded: (record: T) => boolean,
): Promise<T[]> {
  const found: T[] = [];
  for (const record of records) {
    if (isNeeded(record)) continue;
    if (idTime(record.id) < await cutoffs.of(record.trigger_id)) found.push(record);
  }
  return found;
}
