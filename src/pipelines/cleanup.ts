/**
 * What cleanup has to know of pipelines: which may be removed, and what those that stay still need.
 *
 * @module
 */
import { endedPipelinesMadeBefore, getPipeline, getPlan } from "../store/pipelines.ts";
import type { Store } from "../store/store.ts";

/** The `project/commit` of every node of some pipelines: their steps may still be launched. */
export async function commitsOfPipelines(
  store: Store,
  ids: Iterable<string>,
): Promise<Set<string>> {
  const commits = new Set<string>();
  for (const id of ids) {
    const [pipeline, plan] = await Promise.all([getPipeline(store, id), getPlan(store, id)]);
    for (const { commit } of plan?.nodes ?? []) commits.add(`${pipeline?.project}/${commit}`);
  }
  return commits;
}

/** One step of going through the pipelines that were made before a time. */
export async function removablePipelines(
  store: Store,
  before_ms: number,
  page: { after?: string; limit: number },
  kept: ReadonlySet<string>,
): Promise<{ removable: string[]; last: string | undefined; isEnd: boolean }> {
  const { ended, last, isEnd } = await endedPipelinesMadeBefore(store, before_ms, page);
  return { removable: ended.map(({ id }) => id).filter((id) => !kept.has(id)), last, isEnd };
}
