/**
 * Copies what an ended execution leaves into an artifact store that all instances share. The files here stay
 * until the execution is removed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { artifactKeys } from "../../artifacts/keys.ts";
import { ArtifactMismatchError, type ArtifactStore } from "../../artifacts/store.ts";
import { InvalidInputError, UnavailableError } from "../../platform/errors.ts";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import type { Execution, OutputFile } from "../../store/records/executions.ts";
import { failInstead } from "../shared/execution_end.ts";
import { hashFile } from "../shared/file_hash.ts";
import { openOutput } from "./outputs.ts";
import type { WorkFolder } from "./work_folder.ts";

/** The pause before a store that cannot be used is tried again. It has repeated each request before. */
const RETRY_MS = 2_000;

const log = getLogger(["hooklaunch", "engine"]);

/** The surroundings of an archive. */
interface ArchiveContext {
  artifacts: ArtifactStore;
  folder: WorkFolder;
  /** Aborted when the service leaves the execution to the next one. */
  signal: AbortSignal;
}

/**
 * Stores the outputs that a record lists, and the log. Waits for a store that cannot be used now. An output that
 * the store does not take is taken off the list, and the execution fails for it.
 *
 * @returns false when the service leaves the execution to the next one
 */
export async function archiveResults(
  execution: Execution,
  context: ArchiveContext,
): Promise<boolean> {
  const stored: OutputFile[] = [];
  for (const output of execution.outputs) {
    const reason = await untilTaken(
      execution,
      context,
      () => putOutput(execution, output, context),
    );
    if (reason === false) return false;
    if (reason === undefined) stored.push(output);
    else {failInstead(
        execution,
        `Cannot store the output ${JSON.stringify(output.path)}: ${reason}`,
      );}
  }
  execution.outputs = stored;
  return await untilTaken(execution, context, () => putLog(execution.id, context)) !== false;
}

/** Repeats work while the store cannot be used. Returns the reason why it does not take it; false when let go. */
async function untilTaken(
  { id: execution_id, run_id, project }: Execution,
  { signal }: ArchiveContext,
  work: () => Promise<string | undefined>,
): Promise<string | undefined | false> {
  for (let isLogged = false;; isLogged = true) {
    if (signal.aborted) return false;
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof UnavailableError)) throw error;
      const details = { execution_id, run_id, project, error: error.message };
      if (!isLogged) log.warn("Execution {execution_id} waits for its end: {error}", details);
    }
    await delay(RETRY_MS, { signal }).catch(() => {});
  }
}

async function putOutput(
  { id }: Execution,
  output: OutputFile,
  { artifacts, folder, signal }: ArchiveContext,
): Promise<string | undefined> {
  const file = await openOutput(folder.outputs, output.path);
  if (file === undefined) return "it is not there any more";
  try {
    await artifacts.put(artifactKeys.output(id, output.path), file.readable, output, { signal });
    return undefined;
  } catch (error) {
    // A process that the command left running may have written to it. Some names are too long.
    const isRefused = error instanceof ArtifactMismatchError || error instanceof InvalidInputError;
    if (!isRefused) throw error;
    return error.message;
  }
}

async function putLog(
  id: string,
  { artifacts, folder, signal }: ArchiveContext,
): Promise<undefined> {
  const path = folder.log();
  const file = await openRegularFile(path);
  if (file === undefined) return;
  const info = await hashFile(path, { signal });
  await artifacts.put(artifactKeys.log(id), file.readable, info, { signal });
}
