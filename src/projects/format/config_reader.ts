/**
 * Reading project configuration files: small ones at once, and larger ones in a Worker, off the
 * thread that answers requests.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import {
  ActionError,
  InvalidInputError,
  messageOf,
  type Problem,
  UnavailableError,
} from "../../platform/errors.ts";
import type { JobInput, JobOptions } from "../../platform/heavy_work/job.ts";
import type { ProjectConfig } from "./config_file.ts";

/** The size of a file that is read at once: it takes some 20 ms. */
const SMALL_BYTES = 16 * 1024;
/** The time limit of reading a file. The largest one takes a second on an idle machine. */
const READ_MS_MAX = 5_000;

/** Input of the job that reads a project configuration file. */
export interface ConfigJobInput extends JobInput {
  path: string;
}

/** The file as JSON, or its problems. */
export type ConfigJobOutput = { json: string } | { problems: readonly Problem[] };

/** Runs the job in a Worker. */
export type RunConfigJob = (input: ConfigJobInput, options: JobOptions) => Promise<ConfigJobOutput>;

/** Options of {@linkcode readConfig}. */
interface ReadOptions {
  project: string;
  signal: AbortSignal;
  /** Reads large files; without it, they are read at once, too. */
  runJob: RunConfigJob | undefined;
}

/**
 * Reads a project configuration file.
 *
 * @param path its name, for the error
 * @throws {InvalidInputError} with everything that is wrong, each with line and column
 * @throws {ActionError} when it takes too long to read
 */
export async function readConfig(
  bytes: Uint8Array,
  path: string,
  { project, signal, runJob }: ReadOptions,
): Promise<ProjectConfig> {
  if (runJob === undefined || bytes.length <= SMALL_BYTES) {
    const { readConfigFile } = await import("./config_file.ts");
    return readConfigFile(bytes, path);
  }
  const options = { key: `project ${project}`, timeout_ms: READ_MS_MAX, signal };
  const output = await untilAvailable(signal, () => runJob({ bytes, path }, options))
    .catch((error) => {
      const reason = messageOf(error);
      throw new ActionError(`Cannot read ${path} of project "${project}": ${reason}`, {
        cause: error,
      });
    });
  if ("problems" in output) throw new InvalidInputError(path, output.problems);
  const { decodeConfig } = await import("./config_json.ts");
  return decodeConfig(output.json);
}

/** Repeats work until there is room for it. */
async function untilAvailable<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnavailableError) || signal.aborted) throw error;
      await delay(error.retryAfter_s * 1_000, { signal });
    }
  }
}
