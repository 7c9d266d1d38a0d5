/**
 * The outcomes of a delivery and of its replay side by side, and their differences.
 *
 * @module
 */
import { z } from "zod";
import type { FoundDelivery } from "../../store/records/deliveries.ts";
import { type Execution, getExecution } from "../../store/records/executions.ts";
import { getHttpRequest, type HttpRequest } from "../../store/records/http_requests.ts";
import { getPipeline, type Pipeline } from "../../store/records/pipelines.ts";
import type { ActionOutcome, Run } from "../../store/records/runs.ts";
import { outcomeOf as entryOutcome } from "../../store/records/trigger_log_entries.ts";
import type { Store } from "../../store/store.ts";
import { text } from "./answer.ts";

/** An execution may have thousands of outputs. */
const DIFFERENCES_MAX = 100;

/** A part of two outcomes that differs. */
export interface OutcomeDifference {
  /** The part, such as `execution 0 (train) exit_code`. */
  what: string;
  /** Absent where the earlier outcome has no such part. */
  before?: string;
  /** Absent where the later outcome has no such part. */
  after?: string;
}

/** The schema of the differences of two outcomes. */
export const outcomeDifferences = z.array(z.object({
  what: text.describe("The part that differs, such as `execution 0 (train) exit_code`"),
  before: text.exactOptional().describe("Absent where the earlier outcome has no such part"),
  after: text.exactOptional().describe("Absent where the later outcome has no such part"),
})).describe("At most 100 parts of the outcomes that differ; none where all is as before, so far");

/** Parts of an outcome, by what they are. */
type Outcome = ReadonlyMap<string, string>;

/** Returns the differences of the outcomes of a delivery and of a later one. */
export async function outcomeDifferencesOf(
  store: Store,
  before: FoundDelivery,
  after: Run,
): Promise<OutcomeDifference[]> {
  const [earlier, later] = await Promise.all([
    outcomeOf(store, before),
    outcomeOf(store, { run: after }),
  ]);
  return differencesOf(earlier, later);
}

function differencesOf(earlier: Outcome, later: Outcome): OutcomeDifference[] {
  const differences = [...new Set([...earlier.keys(), ...later.keys()])].flatMap((what) => {
    const [before, after] = [earlier.get(what), later.get(what)];
    if (before === after) return [];
    return {
      what,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    };
  });
  return differences.slice(0, DIFFERENCES_MAX);
}

async function outcomeOf(store: Store, found: FoundDelivery): Promise<Outcome> {
  if (!("run" in found)) {
    const { entry } = found;
    const why = entry.kind === "refused" ? ` by ${entry.condition}: ${entry.reason}` : "";
    return new Map([["delivery", `${entryOutcome(entry)}${why}`]]);
  }
  const { run } = found;
  const parts = await Promise.all(
    run.actions.map((action, index) => partsOf(store, action, index)),
  );
  return new Map([["delivery", "accepted"], ["run", run.status], ...parts.flat()]);
}

/** The parts of what one action made. */
async function partsOf(
  store: Store,
  { action, created, error, skipped }: ActionOutcome,
  index: number,
): Promise<[string, string][]> {
  const own: [string, string][] = [[
    `action ${index} (${action})`,
    error ?? (skipped === undefined ? "done" : "skipped"),
  ]];
  if (created === undefined) return own;
  if ("execution_id" in created) {
    const execution = await getExecution(store, created.execution_id);
    return execution ? [...own, ...ofExecution(execution, index)] : own;
  }
  if ("http_request_id" in created) {
    const request = await getHttpRequest(store, created.http_request_id);
    return request ? [...own, ...ofHttpRequest(request, index)] : own;
  }
  const pipeline = await getPipeline(store, created.pipeline_id);
  return pipeline ? [...own, ...ofPipeline(pipeline, index)] : own;
}

function ofExecution(execution: Execution, index: number): [string, string][] {
  const name = `execution ${index} (${execution.step})`;
  const { status, exit_code, reason, outputs, commit } = execution;
  const parts: [string, string][] = [[`${name} commit`, commit], [`${name} status`, status]];
  if (exit_code !== undefined) parts.push([`${name} exit_code`, String(exit_code)]);
  if (reason !== undefined) parts.push([`${name} reason`, reason]);
  for (const { path, size, sha256 } of outputs) {
    parts.push([`${name} output ${path}`, `${size} bytes, sha256 ${sha256}`]);
  }
  return parts;
}

function ofHttpRequest({ url, status, answer }: HttpRequest, index: number): [string, string][] {
  const name = `HTTP request ${index} (${url})`;
  const found = answer?.status;
  return [
    [`${name} status`, status],
    ...(found === undefined ? [] : [[`${name} answer`, String(found)] as [string, string]]),
  ];
}

function ofPipeline({ name, status, nodes }: Pipeline, index: number): [string, string][] {
  const pipeline = `pipeline ${index} (${name})`;
  return [
    [`${pipeline} status`, status],
    ...nodes.map((node): [string, string] => [`${pipeline} node ${node.name}`, node.status]),
  ];
}
