/**
 * Notices: ends of work that notifiers may tell of. The commit that stores an end stores its notice, so none is lost.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { recordOf } from "../read/lists.ts";
import { scan } from "../read/scan.ts";
import type { Notice } from "../notice.ts";
import { launchedOf } from "./attempts.ts";
import { statusDueWrite } from "./commit_statuses.ts";
import { type Execution, hasEnded } from "./executions.ts";
import type { HttpRequest } from "./http_requests.ts";
import { hasPipelineEnded, type Pipeline } from "./pipelines.ts";
import type { Run } from "./runs.ts";
import { recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

const REASON_LENGTH_MAX = 500;

/** The writes for notifiers of a run that has ended. */
export function runEndWrites(
  { tellEnd, tellsStatus }: Pick<Store, "tellEnd" | "tellsStatus">,
  run: Run,
): readonly Write[] {
  if (run.superseded_by !== undefined) return [];
  const { error } = run.actions.find((each) => each.error !== undefined) ?? {};
  const told = tellEnd?.({
    kind: "run",
    of: run.id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: run.project,
    ...outcome(run.status === "completed" ? "complete" : "error", error),
  });
  return [...told ?? [], ...tellsStatus?.(run) ? [statusDueWrite(run.id)] : []];
}

/** The writes for notifiers of an execution; none before its end, nor where it is tried again. */
export function executionEndWrites(
  { tellEnd }: Pick<Store, "tellEnd">,
  execution: Execution,
): readonly Write[] {
  if (tellEnd === undefined || !hasEnded(execution.status)) return [];
  const { id, run_id, trigger_id, project, step, status, reason } = launchedOf(execution);
  if (!hasEnded(status)) return [];
  const owner = { run_id, trigger_id, project };
  return tellEnd({
    kind: "execution",
    of: id,
    ...owner,
    part: step,
    ...outcome(status, reason),
  });
}

/** The writes for notifiers of a pipeline, once it has ended. */
export function pipelineEndWrites(
  { tellEnd }: Pick<Store, "tellEnd">,
  { id, run_id, trigger_id, project, name, status, reason }: Pipeline,
): readonly Write[] {
  if (tellEnd === undefined || !hasPipelineEnded(status)) return [];
  const owner = { run_id, trigger_id, project };
  return tellEnd({
    kind: "pipeline",
    of: id,
    ...owner,
    part: name,
    ...outcome(status, reason),
  });
}

/** The writes for notifiers of an HTTP request that has ended. */
export function httpRequestEndWrites(
  { tellEnd }: Pick<Store, "tellEnd">,
  { id, run_id, trigger_id, project, status, reason }: HttpRequest,
): readonly Write[] {
  if (tellEnd === undefined) return [];
  const owner = { run_id, trigger_id, project };
  return tellEnd({
    kind: "http_request",
    of: id,
    ...owner,
    ...outcome(status, reason),
  });
}

/** The write that stores a notice. */
export function noticeWrite(notice: Notice): Write {
  return recordWrite(keys.notice(notice.id), notice);
}

/** Reads the oldest notices, in the order of their commits, and the keys of those that are damaged. */
export async function oldestNotices(
  { kv }: Store,
  limit: number,
): Promise<{ notices: Notice[]; damaged: Deno.KvKey[] }> {
  const found: { notice: Notice; place: string }[] = [];
  const damaged: Deno.KvKey[] = [];
  for await (const entry of scan(kv, ["notice"], { batchSize: limit })) {
    const notice = recordOf<Notice>(entry);
    if (notice === undefined) damaged.push(entry.key);
    else found.push({ notice, place: `${entry.versionstamp} ${notice.id}` });
    if (found.length + damaged.length === limit) break;
  }
  // Two instances that end work at the same time may have clocks that differ.
  found.sort((one, other) => one.place < other.place ? -1 : 1);
  return { notices: found.map(({ notice }) => notice), damaged };
}

function outcome(status: string, reason: string | undefined): Pick<Notice, "status" | "reason"> {
  if (status === "complete") return { status };
  return {
    status: status === "stopped" ? "stopped" : "error",
    ...(reason !== undefined && { reason: reason.slice(0, REASON_LENGTH_MAX) }),
  };
}
