/**
 * What cleanup must leave alone because pipelines and executions still need it.
 *
 * @module
 */
import { getExecutions, openExecutions } from "../store/executions.ts";
import { getPipeline, getPlan, openPipelines } from "../store/pipelines.ts";
import type { Store } from "../store/store.ts";
import { listStoredTriggers } from "../store/triggers.ts";

const PAGE_SIZE = 200;

/** What must stay however old it is. */
export interface Needed {
  /** The ids of pipelines that are under way, or that a trigger copies. */
  pipelines: Set<string>;
  /** The ids of runs whose payloads may still become inputs. */
  runs: Set<string>;
  /** `project/commit` of what may still be launched. */
  commits: Set<string>;
}

/** Finds out what work that is under way, and pipelines that triggers copy, still need. */
export async function findNeeded(store: Store): Promise<Needed> {
  const pipelines = new Set([...await openPipelines(store), ...await copiedPipelines(store)]);
  const needed: Needed = { pipelines, runs: new Set(), commits: new Set() };
  const open = await Array.fromAsync(openExecutions(store), ({ id }) => id);
  for (const { project, commit, run_id } of await getExecutions(store, open)) {
    needed.commits.add(`${project}/${commit}`);
    needed.runs.add(run_id);
  }
  for (const id of pipelines) {
    const [pipeline, plan] = await Promise.all([getPipeline(store, id), getPlan(store, id)]);
    if (pipeline === undefined) continue;
    needed.runs.add(pipeline.run_id);
    for (const { commit, inputs } of plan?.nodes ?? []) {
      needed.commits.add(`${pipeline.project}/${commit}`);
      // A copy may have taken over the payload of its source's run.
      for (const file of Object.values(inputs).flat()) {
        if ("payload_of" in file) needed.runs.add(file.payload_of);
      }
    }
  }
  return needed;
}

/** The pipelines that actions of triggers name as their source. */
async function copiedPipelines(store: Store): Promise<string[]> {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const options = { limit: PAGE_SIZE, ...(after === undefined ? {} : { after }) };
    const { triggers, next } = await listStoredTriggers(store, options);
    for (const { settings } of triggers) {
      const actions: unknown = Object(settings).actions;
      for (const action of Array.isArray(actions) ? actions : []) {
        const source: unknown = Object(action).source_pipeline;
        if (typeof source === "string") found.push(source);
      }
    }
    after = next;
  } while (after !== undefined);
  return found;
}
