/**
 * What a command finds in its environment: where things are, who it is, and what its step declares.
 * Nothing of the service's own environment but the path, the language and the time zone.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import type { Execution } from "../../store/records/executions.ts";

/** What the wrapper, and with it the command, gets of the service's environment. */
export const FOR_COMMANDS = ["PATH", "LANG", "TZ"];

/**
 * How long the path of the folder for temporary files may be. A socket's has 107 bytes, and those that
 * Python's `multiprocessing` makes there have names of 32.
 */
const TEMPORARY_BYTES_MAX = 107 - 32;

/** Variables of the service's environment, as far as they are set. There is always a path. */
export function passedOn(names: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = { PATH: "/usr/local/bin:/usr/bin:/bin" };
  for (const name of names) {
    const value = Deno.env.get(name);
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** What the command gets beside it. A step may set anything but what says where things are. */
export function commandEnvironment(
  { id, project, pipeline_id, node, environment_variables, traceparent }: Execution,
  folder: string,
): Record<string, string> {
  const temporary = join(folder, "tmp");
  return {
    HOME: join(folder, "home"),
    // The wrapper has a shorter name for one that is too long.
    ...(Buffer.byteLength(temporary) > TEMPORARY_BYTES_MAX ? {} : { TMPDIR: temporary }),
    // What programs with OpenTelemetry look for, to go on with a trace.
    ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
    ...environment_variables,
    VH_CONFIG_DIR: join(folder, "config"),
    VH_INPUTS_DIR: join(folder, "inputs"),
    VH_OUTPUTS_DIR: join(folder, "outputs"),
    VH_REPOSITORY_DIR: join(folder, "repository"),
    VH_JOB_ID: `exec-${id}`,
    VH_EXECUTION_ID: id,
    VH_PROJECT_ID: project,
    ...(pipeline_id === undefined ? {} : { VH_PIPELINE_ID: pipeline_id }),
    ...(node === undefined ? {} : { VH_PIPELINE_NODE_ID: node }),
  };
}
