/**
 * Writes what an execution leaves into its record: its end, its metadata and its outputs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { SyncError } from "../../platform/files/durable.ts";
import { RECORD_BYTES_MAX } from "../../store/records/record_size.ts";
import type { Execution } from "../../store/records/executions.ts";
import { type End, endLines, failInstead, writeEnd } from "../shared/execution_end.ts";
import type { Metadata } from "../shared/metadata.ts";
import { diskMbMax } from "./disk_use.ts";
import { syncResults } from "./durability.ts";
import { shown, takeOutputs, writeMetadata } from "../shared/results.ts";
import { listOutputs } from "./outputs.ts";
import type { RunContext } from "./run_context.ts";
import type { WorkFolder } from "./work_folder.ts";

const log = getLogger(["hooklaunch", "engine"]);

interface ResultsContext {
  folder: WorkFolder;
  context: Pick<RunContext, "place" | "settings" | "syncRoot">;
  /** Undefined when the command did not start. */
  metadata: Metadata | undefined;
  /** Adds a line to the execution's log. Never rejects. */
  logEvent(message: string): Promise<void>;
  /** Aborted when the service leaves the execution to the next one. */
  signal: AbortSignal;
}

/** Writes the end of an execution and its results into its record, after they are on disk. */
export async function writeResults(
  execution: Execution,
  end: End,
  { folder, context: { place, settings, syncRoot }, metadata, logEvent, signal }: ResultsContext,
): Promise<void> {
  const mb_max = diskMbMax(execution);
  const limits = { filesMax: settings.outputsMax, bytesMax: mb_max * 1024 ** 2, signal };
  const outputs = await listOutputs(folder.outputs, limits);
  writeEnd(execution, end);
  // By these its files are found.
  if (place) execution.engine_state = { ...place.marks };
  // An execution behind this one in a pipeline gets all results of this one, or none.
  if (metadata && !writeMetadata(execution, metadata, RECORD_BYTES_MAX)) {
    failInstead(execution, "Too much metadata for its record beside its inputs");
  }
  takeOutputs(execution, outputs, mb_max);
  const { passedOver } = outputs;
  if (passedOver.length > 0) await logEvent(`Not listed as outputs: ${shown(passedOver)}`);
  for (const line of endLines(execution)) await logEvent(line);
  try {
    await syncResults(folder, execution.outputs, syncRoot);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    const { id: execution_id, run_id, project } = execution;
    log.error("Execution {execution_id}: {error}", {
      execution_id,
      run_id,
      project,
      error: error.message,
    });
    const wasComplete = execution.status === "complete";
    failInstead(execution, error.message);
    for (const line of wasComplete ? endLines(execution) : [error.message]) await logEvent(line);
  }
}
