/**
 * The run of a request that a command has sent, and the end of its work.
 *
 * @module
 */
import { stateWord } from "../../runs/state_word.ts";
import type { ShownRun } from "../../http/api/shown_run.ts";
import { harmless } from "../console/table.ts";
import { type ApiClient, ApiError } from "./client.ts";
import { printFollowed, printLines } from "./print_log.ts";
import { untilEnded } from "./until_ended.ts";

/** The header by which a run is found among those of its trigger. The answer need not hold the run's id. */
export const SENT_HEADER = "x-hooklaunch-send";
/** The runs to look at: those that others have launched meanwhile come first. */
const RUNS_MAX = 10_000;

/**
 * Finds the run of a request.
 *
 * @param mark the value of {@linkcode SENT_HEADER}
 * @throws {ApiError} when it made none
 */
export async function sentRun(
  api: ApiClient,
  { id, name }: { id: string; name: string },
  mark: string,
): Promise<ShownRun> {
  let left = RUNS_MAX;
  for await (const run of api.each<ShownRun>("runs/", { query: { trigger: id } })) {
    if (run.request?.headers?.[SENT_HEADER] === mark) return run;
    if (--left === 0) break;
  }
  throw new ApiError(
    "The request launched nothing: it is a repeat, or its filter refused it. To see which: " +
      `hooklaunch deliveries --trigger ${name} --limit 1`,
  );
}

/**
 * Waits until the work of a run has ended. Changes go to standard error: they are not part of the result.
 *
 * @param options `followsLogs`: the logs of its executions are printed as they come, one after the other
 */
export function untilWorkEnded(
  api: ApiClient,
  runId: string,
  { followsLogs }: { followsLogs: boolean },
): Promise<ShownRun> {
  const followed = new Set<string>();
  return untilEnded<ShownRun>({
    read: () => api.request("GET", `runs/${runId}/`),
    hasEnded: ({ work }) => work !== "running",
    async onRead(now, before) {
      const old = before === undefined ? [] : linesOf(before);
      for (const line of linesOf(now)) if (!old.includes(line)) console.error(harmless(line));
      if (!followsLogs) return;
      for (const id of executionsOf(now)) {
        if (followed.has(id)) continue;
        await printFollowed(api, id, printLines);
        followed.add(id);
      }
    },
  });
}

/** Returns the ids of the executions of a run, and of those of its pipelines that have begun. */
function executionsOf({ executions, pipelines }: ShownRun): string[] {
  const nodes = pipelines.flatMap(({ nodes }) => nodes);
  return [
    ...executions.map(({ id }) => id),
    ...nodes.flatMap(({ execution_id = [] }) => execution_id),
  ];
}

/** Describes a run and what it has launched, a line each. */
function linesOf({ id, status, work, actions, executions, pipelines }: ShownRun): string[] {
  const goesOn = status !== "pending" && work === "running" ? ", and its work goes on" : "";
  return [
    `run ${id}: ${stateWord(status)}${goesOn}`,
    ...actions.flatMap(({ action, error }) => error === undefined ? [] : `${action}: ${error}`),
    ...executions.map(({ id, step, status }) => `execution ${id} (${step}): ${status}`),
    ...pipelines.map(({ id, name, status }) => `pipeline ${id} (${name}): ${status}`),
  ];
}

/** Returns the word for the end of a run's work that {@linkcode exitCodeOf} takes. */
export function endOfWork(run: ShownRun): "complete" | "error" | "stopped" {
  if (run.work === "complete") return "complete";
  const ends = [...run.executions, ...run.pipelines].map(({ status }) => status);
  const isStopped = run.status === "completed" && !ends.includes("error");
  return isStopped ? "stopped" : "error";
}
