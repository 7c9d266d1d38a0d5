/**
 * Cleanup: removes what has outlived its retention, and what was left behind half-done. It works in
 * small steps with pauses between them, so launches never wait for more than one step.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import type { Engines } from "../engines/mod.ts";
import { messageOf } from "../errors.ts";
import type { Projects } from "../projects/mod.ts";
import { findNeeded, type Needed } from "../pipelines/cleanup.ts";
import { forgetReusable } from "../pipelines/reuse.ts";
import { endedExecutionsMadeBefore, removeExecution } from "../store/executions.ts";
import { removeEndedDeliveries } from "./deliveries.ts";
import { abandonedUploads, removeUpload } from "../store/payloads.ts";
import { endedPipelinesMadeBefore, removePipelineWrites } from "../store/pipelines.ts";
import { endedRunsMadeBefore, removeRunWrites } from "../store/runs.ts";
import type { Store } from "../store/store.ts";
import { loggedTriggers, removeEntriesBefore } from "../store/trigger_log.ts";
import { getStoredTrigger, removeLeftovers, triggersWithLeftovers } from "../store/triggers.ts";

const STEP_SIZE = 50;
const PAUSE_MS = 5;
/** An upload older than this was abandoned: no body may take so long to arrive. */
const UPLOAD_AGE_MAX_MS = 60 * 60_000;
/** A repository's tree that no execution has used for so long is removed; it can be made again. */
const TREE_AGE_MAX_MS = 24 * 60 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

const log = getLogger(["hooklaunch", "cleanup"]);

/** What cleanup works with. */
export interface CleanupParts {
  store: Store;
  clock: Clock;
  projects: Pick<Projects, "pruneTrees">;
  engines: Pick<Engines, "forget">;
  retention_days: number;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** How much was removed. */
export interface CleanupReport {
  runs: number;
  pipelines: number;
  executions: number;
  log_entries: number;
  uploads: number;
  deliveries: number;
  /** Rate windows, known deliveries and log entries of triggers that are gone. */
  leftovers: number;
}

/**
 * Removes ended runs with their payloads, ended executions with their folders, and log entries that
 * are past retention; chunks of uploads that were never accepted; what is kept of triggers that are gone;
 * and unused trees of repositories. What fails is logged, and the rest goes on.
 */
export async function cleanUp(parts: CleanupParts): Promise<CleanupReport> {
  const before_ms = parts.clock.now() - parts.retention_days * DAY_MS;
  const report: CleanupReport = {
    runs: 0,
    pipelines: 0,
    executions: 0,
    log_entries: 0,
    uploads: 0,
    deliveries: 0,
    leftovers: 0,
  };
  const needed = await findNeeded(parts.store);
  const old: Old = { before_ms, needed };
  const steps: [what: string, step: () => Promise<void>][] = [
    ["runs", async () => void (report.runs = await removeRuns(parts, old))],
    ["pipelines", async () => void (report.pipelines = await removePipelines(parts, old))],
    ["executions", async () => void (report.executions = await removeExecutions(parts, old))],
    ["log entries", async () => void (report.log_entries = await removeLogs(parts, before_ms))],
    ["uploads", async () => void (report.uploads = await removeUploads(parts))],
    [
      "leftovers of triggers",
      async () => void (report.leftovers = await removeAllLeftovers(parts)),
    ],
    ["deliveries", async () => void (report.deliveries = await removeEndedDeliveries(parts))],
    ["trees", async () => void await parts.projects.pruneTrees(needed.commits, TREE_AGE_MAX_MS)],
  ];
  for (const [what, step] of steps) {
    try {
      await step();
    } catch (error) {
      log.error("Cannot clean up {what}: {error}", { what, error: messageOf(error) });
    }
  }
  log.info(
    "Removed {runs} runs, {pipelines} pipelines, {executions} executions, " +
      "{log_entries} log entries, {uploads} uploads, {deliveries} deliveries, " +
      "{leftovers} leftovers of triggers",
    { ...report },
  );
  return report;
}

/** What is removed: what is older than this, and not needed any more. */
interface Old {
  before_ms: number;
  needed: Needed;
}

async function removeRuns(
  { store, signal }: CleanupParts,
  { before_ms, needed }: Old,
): Promise<number> {
  let removed = 0;
  let after: string | undefined;
  while (!signal.aborted) {
    const page = { limit: STEP_SIZE, ...(after === undefined ? {} : { after }) };
    const runs = await endedRunsMadeBefore(store, before_ms, page);
    const unneeded = runs.filter(({ id }) => !needed.runs.has(id));
    await store.committer.writeInParts(unneeded.flatMap(removeRunWrites));
    removed += unneeded.length;
    after = runs.at(-1)?.id;
    if (runs.length < STEP_SIZE) break;
    await pause();
  }
  return removed;
}

async function removePipelines(
  { store, signal }: CleanupParts,
  { before_ms, needed }: Old,
): Promise<number> {
  let removed = 0;
  let after: string | undefined;
  while (!signal.aborted) {
    const page = { limit: STEP_SIZE, ...(after === undefined ? {} : { after }) };
    const { ended, last, isEnd } = await endedPipelinesMadeBefore(store, before_ms, page);
    const unneeded = ended.filter(({ id }) => !needed.pipelines.has(id));
    await store.committer.writeInParts(unneeded.flatMap(({ id }) => removePipelineWrites(id)));
    removed += unneeded.length;
    after = last;
    if (isEnd) break;
    await pause();
  }
  return removed;
}

async function removeExecutions(
  { store, engines, signal }: CleanupParts,
  { before_ms, needed }: Old,
): Promise<number> {
  let removed = 0;
  let after: string | undefined;
  while (!signal.aborted) {
    const page = { limit: STEP_SIZE, ...(after === undefined ? {} : { after }) };
    const { ended, last, isEnd } = await endedExecutionsMadeBefore(store, before_ms, page);
    for (const execution of ended) {
      const { id, pipeline_id = "" } = execution;
      // What it left behind may be an input of nodes that have not started.
      if (needed.pipelines.has(pipeline_id)) continue;
      try {
        // The folder first: a record without a folder can be removed again, a folder without a record not.
        await engines.forget(id);
        await forgetReusable(store, execution);
        await removeExecution(store, id);
        removed++;
      } catch (error) {
        // It is tried again at the next cleanup, and must not keep those behind it from being removed.
        const { run_id, project } = execution;
        const details = { execution_id: id, run_id, project, error: messageOf(error) };
        log.error("Cannot remove execution {execution_id}: {error}", details);
      }
    }
    after = last;
    if (isEnd) break;
    await pause();
  }
  return removed;
}

async function removeLogs({ store, signal }: CleanupParts, before_ms: number): Promise<number> {
  let removed = 0;
  for await (const triggerId of loggedTriggers(store)) {
    if (signal.aborted) break;
    removed += await removeEntriesBefore(store, triggerId, before_ms);
    await pause();
  }
  return removed;
}

async function removeUploads({ store, clock }: CleanupParts): Promise<number> {
  const abandoned = await abandonedUploads(store, clock.now() - UPLOAD_AGE_MAX_MS);
  for (const runId of abandoned) await removeUpload(store, runId);
  return abandoned.length;
}

async function removeAllLeftovers({ store, signal }: CleanupParts): Promise<number> {
  let removed = 0;
  for await (const triggerId of triggersWithLeftovers(store)) {
    if (signal.aborted) break;
    if (await getStoredTrigger(store, triggerId)) continue;
    let step = STEP_SIZE;
    while (!signal.aborted && step === STEP_SIZE) {
      step = await removeLeftovers(store, triggerId, STEP_SIZE);
      removed += step;
      await pause();
    }
  }
  return removed;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
