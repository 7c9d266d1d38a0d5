/**
 * Cleanup removes records past their retention and leftovers of interrupted work. It works in small parts
 * and pauses after each, so that launches hardly slow down.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import type { Engines } from "../engines/mod.ts";
import { messageOf } from "../platform/errors.ts";
import type { Projects } from "../projects/mod.ts";
import { findNeeded } from "../pipelines/cleanup.ts";
import { listOldOfTriggers } from "../store/read/lists.ts";
import {
  type Execution,
  getExecutions,
  removeExecutionWrites,
} from "../store/records/executions.ts";
import { removeEndedDeliveries } from "../store/records/delivery_ids.ts";
import { removeKeptOf } from "../store/records/kept_requests.ts";
import { removeInBatches, withPause } from "../store/commit/chunked.ts";
import { abandonedUploads, removeArtifactsOf, removeUpload } from "../store/records/payloads.ts";
import {
  endedNotificationsMadeBefore,
  removeNotificationWrites,
} from "../store/records/notifications.ts";
import { removeHttpRequestWrites } from "../store/records/http_requests.ts";
import { removePipelineWrites } from "../store/records/pipelines.ts";
import { hasProject } from "../store/records/projects.ts";
import { removeEndedReplays } from "../store/records/replays.ts";
import { watchReusable, withdrawReusable } from "../store/records/reusable_executions.ts";
import { removedPartWrite, removePayloadOfRunWrites } from "../store/records/removed_parts.ts";
import { removeRunWrites } from "../store/records/runs.ts";
import { auditMadeBefore } from "../store/records/audit.ts";
import { removeOldDeliveryCounts } from "../store/records/delivery_counts.ts";
import { removeFormerPeople } from "../store/records/people.ts";
import { removeExpiredSessions } from "../store/records/sessions.ts";
import { removeExpiredGranted } from "../store/records/tokens.ts";
import { keys } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { removeEntryWrites } from "../store/records/trigger_log_entries.ts";
import {
  getStoredTrigger,
  removeFormerNames,
  removeLeftovers,
  triggersWithLeftovers,
  watchTriggers,
} from "../store/records/triggers.ts";
import { PAGE_SIZE, pageBehind, PAST, type Terms } from "./past_retention.ts";
import { type Cutoffs, RetentionCutoffs } from "./retention.ts";
import type { WrittenKeys } from "../store/commit/written_keys.ts";

/** Folders that are removed at once. */
const REMOVALS_AT_ONCE = 4;
const LEFTOVERS_SIZE = 50;
/** An upload older than this was abandoned: no body may take so long to arrive. */
const UPLOAD_AGE_MAX_MS = 60 * 60_000;
/** A repository's tree that no execution has used for so long is removed; it can be made again. */
const TREE_AGE_MAX_MS = 24 * 60 * 60_000;
/** Days that the audit log is kept, whatever the retention of runs. */
const AUDIT_DAYS = 400;
const DAY_MS = 24 * 60 * 60_000;

const log = getLogger(["hooklaunch", "cleanup"]);

export interface CleanupParts {
  store: Store;
  clock: Clock;
  projects: Pick<Projects, "forget" | "kept" | "pruneTrees">;
  triggers: {
    /** Runs an act between two changes of triggers. */
    between<T>(act: () => Promise<T>): Promise<T>;
  };
  engines: Pick<Engines, "forget" | "tidy">;
  retention_days: number;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** The parts of a service that {@linkcode tidyMachine} uses. */
interface TidyParts {
  engines: Pick<Engines, "tidy">;
  projects: Pick<Projects, "pruneCopies">;
}

/** Numbers of what was removed. */
export interface CleanupReport {
  /** Runs that were taken off the lists of their triggers. */
  unlisted: number;
  runs: number;
  pipelines: number;
  executions: number;
  http_requests: number;
  log_entries: number;
  audit_entries: number;
  uploads: number;
  deliveries: number;
  /** Rate windows, known deliveries and log entries of triggers that are gone. */
  leftovers: number;
  /** Payloads of runs, logs and outputs of executions whose records stay. */
  payloads: number;
  logs: number;
  outputs: number;
}

/**
 * Removes ended runs with their payloads, ended executions with their folders, and log entries that
 * are past retention; chunks of uploads that were never accepted; what is kept of triggers and projects
 * that are gone; and unused trees of repositories. What fails is logged, and the rest goes on. When the
 * service stops it ends soon, and the next cleanup does what is left.
 */
export async function cleanUp(parts: CleanupParts): Promise<CleanupReport> {
  const { store, signal, projects, engines } = parts;
  const default_ms = parts.retention_days * DAY_MS;
  using taken = watchReusable(store);
  const cutoffs = await RetentionCutoffs.begin(store, {
    now_ms: parts.clock.now(),
    default_ms,
    signal,
  });
  const needed = await findNeeded(store, signal, (trigger) => cutoffs.add(trigger));
  const old: Old = { cutoffs, needed, taken };
  const attempt = async (what: string, remove: () => Promise<number>): Promise<number> => {
    try {
      return signal.aborted ? 0 : await remove();
    } catch (error) {
      log.error("Cannot clean up {what}: {error}", { what, error: messageOf(error) });
      return 0;
    }
  };
  const report: CleanupReport = {
    // Before they are removed: either goes through the database in its order, while run by run each would
    // be on another page of it.
    unlisted: await attempt("lists of runs", () => unlistRuns(parts, old)),
    runs: await attempt("runs", () => removeRuns(parts, old)),
    pipelines: await attempt("pipelines", () => removePipelines(parts, old)),
    executions: await attempt("executions", () => removeExecutions(parts, old)),
    http_requests: await attempt("HTTP requests", () => removeHttpRequests(parts, old)),
    log_entries: await attempt("log entries", () => removeLogs(parts, cutoffs.records)),
    audit_entries: await attempt("the audit log", () => removeAudit(parts)),
    uploads: await attempt("uploads", () => removeUploads(parts, old)),
    leftovers: await attempt("leftovers of triggers", () => removeAllLeftovers(parts)),
    deliveries: await attempt("deliveries", () => removeEndedDeliveries(parts)),
    payloads: await attempt("payloads", () => removePayloads(parts, old)),
    logs: await attempt("logs", () => removePartOf(parts, old, "logs")),
    outputs: await attempt("outputs", () => removePartOf(parts, old, "outputs")),
  };
  for (const name of await projects.kept()) {
    await attempt(`project ${name}`, () => removeDeletedProject(parts, name));
  }
  await attempt("names of triggers", () => removeFormerNames(store, cutoffs.records.oldest_ms));
  await attempt("replays", () => removeEndedReplays(store, cutoffs.records.oldest_ms));
  await attempt("counts", () => removeOldDeliveryCounts(store, parts.clock.now()));
  await attempt("notifications", () => removeNotifications(parts));
  await attempt("sessions", () => removeExpiredSessions(store, parts.clock.now()));
  await attempt("people", () => removeFormerPeople(parts, parts.clock.now()));
  await attempt("tokens", () => removeExpiredGranted(store, parts.clock.now()));
  await attempt("files of executions that are gone", async () => {
    await engines.tidy();
    return 0;
  });
  await attempt("trees", () => projects.pruneTrees(needed.commits, TREE_AGE_MAX_MS));
  log.info(
    "Removed {unlisted} runs from lists, {runs} runs, {pipelines} pipelines, {executions} executions, " +
      "{http_requests} HTTP requests, {log_entries} log entries, {audit_entries} audit entries, {uploads} uploads, {deliveries} deliveries, " +
      "{leftovers} leftovers of triggers, {payloads} payloads, {logs} logs, {outputs} outputs",
    { ...report },
  );
  return report;
}

/** Removes what a machine need not keep while another instance leads: what every instance can read, or make again. */
export async function tidyMachine({ engines, projects }: TidyParts): Promise<void> {
  await engines.tidy();
  await projects.pruneCopies(TREE_AGE_MAX_MS);
}

/** The records to remove: past their retention, and no longer needed. */
interface Old extends Terms {
  /** The executions that pipelines have taken since that was found out. */
  taken: WrittenKeys;
}

async function unlistRuns(parts: CleanupParts, { cutoffs, needed }: Old): Promise<number> {
  return await removeInBatches(parts, async (after: Deno.KvKey | undefined) => {
    const of = (triggerId: string) => cutoffs.records.of(triggerId);
    const page = pageBehind(after);
    const { old, next } = await listOldOfTriggers(parts.store, "trigger_run", of, page);
    const unneeded = old.filter(({ key }) => !needed.runs.has(String(key[2])));
    return { writes: unneeded.map(({ key }) => ({ key })), count: unneeded.length, next };
  });
}

async function removeRuns(parts: CleanupParts, old: Old): Promise<number> {
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST.runs(parts.store, old, after);
    // As the folders of executions, before the records that tell of them.
    const removed = await removeArtifactsOf(parts.store, found, logUnremoved);
    return { writes: removed.flatMap(removeRunWrites), count: removed.length, next };
  });
}

function logUnremoved({ id: run_id }: { id: string }, error: unknown): void {
  log.error("Cannot remove the payload of run {run_id}: {error}", {
    run_id,
    error: messageOf(error),
  });
}

async function removePipelines(parts: CleanupParts, old: Old): Promise<number> {
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST.pipelines(parts.store, old, after);
    return {
      writes: found.flatMap(({ id }) => removePipelineWrites(id)),
      count: found.length,
      next,
    };
  });
}

async function removeHttpRequests(parts: CleanupParts, old: Old): Promise<number> {
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST.http_requests(parts.store, old, after);
    return { writes: found.flatMap(removeHttpRequestWrites), count: found.length, next };
  });
}

async function removeExecutions(parts: CleanupParts, old: Old): Promise<number> {
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST.executions(parts.store, old, after);
    // The folder first: a record without a folder can be removed again, a folder without a record not.
    const removed = await removeTraces(parts, found, old);
    return {
      writes: removed.flatMap(removeExecutionWrites),
      count: removed.length,
      next,
    };
  });
}

/** Removes what is kept of executions beside their records, or a part of it; answers those where that went well. */
async function removeTraces(
  { store, engines, signal }: CleanupParts,
  executions: readonly Execution[],
  { taken, part }: { taken: WrittenKeys; part?: "log" | "outputs" },
): Promise<Execution[]> {
  const removed: Execution[] = [];
  const left = executions.values();
  const removeNext = async () => {
    for (const execution of left) {
      if (signal.aborted) return;
      try {
        // Before its files go: no pipeline must take it any more.
        const isWithdrawn = part === "log" || await withdrawReusable(store, execution, taken);
        if (!isWithdrawn) continue;
        await engines.forget(execution, part);
        removed.push(execution);
      } catch (error) {
        // It is tried again at the next cleanup, and must not keep those behind it from being removed.
        const { id: execution_id, run_id, project } = execution;
        const details = { execution_id, run_id, project, error: messageOf(error) };
        log.error("Cannot remove {what} of execution {execution_id}: {error}", {
          ...details,
          what: part ?? "the files",
        });
      }
    }
  };
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, removeNext));
  return removed;
}

/** Removes payloads of runs whose records stay. */
async function removePayloads(parts: CleanupParts, old: Old): Promise<number> {
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST.payloads(parts.store, old, after);
    const removed = await removeArtifactsOf(parts.store, found, logUnremoved);
    const time = timeOf(parts);
    const writes = removed.flatMap((run) => removePayloadOfRunWrites(run, time));
    return { writes, count: removed.length, next };
  });
}

/** Removes logs or outputs of executions whose records stay. */
async function removePartOf(
  parts: CleanupParts,
  old: Old,
  kind: "logs" | "outputs",
): Promise<number> {
  const part = kind === "logs" ? "log" : kind;
  return await removeInBatches<string>(parts, async (after) => {
    const { found, next } = await PAST[kind](parts.store, old, after);
    const removed = await removeTraces(parts, found, { taken: old.taken, part });
    const time = timeOf(parts);
    const ids = removed.flatMap(({ attempts = [] }) => attempts.map((each) => each.execution_id));
    const all = [...removed, ...await getExecutions(parts.store, ids)];
    const writes = all.map((execution) => removedPartWrite(execution, part, time));
    return { writes, count: removed.length, next };
  });
}

function timeOf({ clock }: CleanupParts): string {
  return new Date(clock.now()).toISOString();
}

async function removeLogs(parts: CleanupParts, cutoffs: Pick<Cutoffs, "of">): Promise<number> {
  return await removeInBatches(parts, async (after: Deno.KvKey | undefined) => {
    const of = (triggerId: string) => cutoffs.of(triggerId);
    const page = pageBehind(after);
    const { old, next } = await listOldOfTriggers(parts.store, "trigger_log", of, page);
    return { writes: old.flatMap(removeEntryWrites), count: old.length, next };
  });
}

async function removeAudit(parts: CleanupParts): Promise<number> {
  const before_ms = parts.clock.now() - AUDIT_DAYS * DAY_MS;
  return await removeInBatches<string>(parts, async (after) => {
    const ids = await auditMadeBefore(parts.store, before_ms, pageBehind(after));
    return {
      writes: ids.map((id) => ({ key: keys.audit(id) })),
      count: ids.length,
      next: ids.length < PAGE_SIZE ? undefined : ids.at(-1),
    };
  });
}

async function removeNotifications(parts: CleanupParts): Promise<number> {
  const before_ms = parts.clock.now() - parts.retention_days * DAY_MS;
  return await removeInBatches<string>(parts, async (after) => {
    const page = pageBehind(after);
    const { ended, next } = await endedNotificationsMadeBefore(parts.store, before_ms, page);
    return { writes: ended.flatMap(removeNotificationWrites), count: ended.length, next };
  });
}

async function removeUploads(
  { store, clock, signal }: CleanupParts,
  { needed }: Old,
): Promise<number> {
  let removed = 0;
  // A wall clock that jumps ahead makes no upload older that is under way.
  const now_ms = Math.min(clock.now(), clock.steady());
  for (const runId of await abandonedUploads(store, now_ms - UPLOAD_AGE_MAX_MS)) {
    if (signal.aborted) break;
    if (needed.runs.has(runId)) continue;
    await withPause(() => removeUpload(store, runId));
    removed++;
  }
  return removed;
}

async function removeAllLeftovers({ store, signal }: CleanupParts): Promise<number> {
  let removed = 0;
  for await (const triggerId of triggersWithLeftovers(store)) {
    if (signal.aborted) break;
    using written = watchTriggers(store);
    if (await getStoredTrigger(store, triggerId)) continue;
    await removeKeptOf(store, triggerId);
    const options = { limit: LEFTOVERS_SIZE, written };
    let step = LEFTOVERS_SIZE;
    while (!signal.aborted && step === LEFTOVERS_SIZE) {
      step = await withPause(() => removeLeftovers(store, triggerId, options));
      removed += step;
    }
  }
  return removed;
}

/** Removes the code of a project that is gone, which a crash or a fetch may have left behind. */
async function removeDeletedProject(
  { store, projects, triggers }: CleanupParts,
  name: string,
): Promise<number> {
  // No project of this name is made between the look and the removal.
  const remove = await triggers.between(async () =>
    await hasProject(store, name) ? undefined : await projects.forget(name)
  );
  await remove?.();
  return remove ? 1 : 0;
}
