/**
 * The environment of a command: paths, ids, and the variables of its step. Of the service's own environment
 * only the path, the language and the time zone are passed on.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { shellQuote } from "../../platform/shell.ts";
import type { Execution } from "../../store/records/executions.ts";

/** The variables of the service's environment that the wrapper and the command get. */
export const FOR_COMMANDS = ["PATH", "LANG", "TZ"];

/**
 * The longest path of the folder for temporary files. The path of a socket has 107 bytes at most, and Python's
 * `multiprocessing` makes sockets with names of 32 bytes there.
 */
const TEMPORARY_BYTES_MAX = 107 - 32;

/** Returns those variables of the service's environment that are set. There is always a path. */
export function passedOn(names: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = { PATH: "/usr/local/bin:/usr/bin:/bin" };
  for (const name of names) {
    const value = Deno.env.get(name);
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/**
 * Returns the other variables of a command. A step may set any variable but those that start with `VH_`.
 *
 * @param folder the work folder as the command sees it
 * @param payload the path of the payload in the inputs folder
 */
export function commandEnvironment(
  { id, attempt, attempt_of = id, project, pipeline_id, node, environment_variables, traceparent }:
    Execution,
  { folder, payload, secrets = {} }: {
    folder: string;
    payload: string | undefined;
    /** The variables of its secrets. */
    secrets?: Readonly<Record<string, string>>;
  },
): Record<string, string> {
  const temporary = join(folder, "tmp");
  return {
    HOME: join(folder, "home"),
    // The wrapper replaces a path that is too long by a shorter one.
    ...(Buffer.byteLength(temporary) > TEMPORARY_BYTES_MAX ? {} : { TMPDIR: temporary }),
    // Programs with OpenTelemetry continue this trace.
    ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
    ...environment_variables,
    ...secrets,
    VH_CONFIG_DIR: join(folder, "config"),
    VH_INPUTS_DIR: join(folder, "inputs"),
    VH_OUTPUTS_DIR: join(folder, "outputs"),
    ...(payload === undefined ? {} : { VH_PAYLOAD: join(folder, "inputs", payload) }),
    VH_REPOSITORY_DIR: join(folder, "repository"),
    VH_JOB_ID: `exec-${attempt_of}`,
    VH_EXECUTION_ID: attempt_of,
    ...(attempt === undefined ? {} : { VH_ATTEMPT: String(attempt) }),
    VH_PROJECT_ID: project,
    ...(pipeline_id === undefined ? {} : { VH_PIPELINE_ID: pipeline_id }),
    ...(node === undefined ? {} : { VH_PIPELINE_NODE_ID: node }),
  };
}

/** Empties the script, from the folder in which a wrapper reads it. Its last line is read by then. */
const FORGET = "{ : >../control/environment; } 2>/dev/null || :\n";

/**
 * Returns the script that exports variables.
 *
 * @param isSecret true when it is emptied as soon as it was read
 */
export function exportScript(
  environment: Readonly<Record<string, string>>,
  { isSecret = false } = {},
): string {
  const lines = Object.entries(environment).map(([name, value]) =>
    // With `command` a shell goes on after an error, such as bash for its read-only variable UID.
    `command export ${name}=${shellQuote(value)}\n`
  );
  return lines.join("") + (isSecret ? FORGET : "");
}
