/**
 * The configuration files that a running step finds, each as JSON and as YAML.
 *
 * @module
 */
import { join } from "node:path";
import { stringify } from "yaml";
import type { Execution } from "../../store/records/executions.ts";
import { getRun, type Run } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";

/** A file of an input, where the command finds it. */
export interface StagedFile {
  /** Its path in the input's folder. */
  name: string;
  size: number;
  sha256: string;
  /** Its source, without credentials. */
  uri?: string;
  datumId?: string;
  /** True for the payload of the run. */
  isPayload?: true;
  /** Its key in the artifact store, if it may be there. */
  artifact?: string;
}

/** The files of each input, by the input's name. */
export type StagedInputs = ReadonlyMap<string, readonly StagedFile[]>;

/** The most replays of replays that are followed to the first run. */
const REPLAYS_MAX = 16;
/** The value of a parameter that carried a credential, as a run's record has it. */
const MASK = "********";
/** The owner of every project: the format demands one. */
const OWNER = "hooklaunch";

/** The files by name, with their text; those that tell of inputs are {@linkcode inputConfigFiles}. */
export function configFiles(execution: Execution, runner: string): Map<string, string> {
  return asFiles({
    execution: aboutExecution(execution),
    parameters: execution.parameters,
    runtime: aboutRuntime(execution, runner),
    api: {},
  });
}

/**
 * The files that tell of inputs, by name, with their text.
 *
 * @param folder the work folder as the command sees it
 */
export function inputConfigFiles(inputs: StagedInputs, folder: string): Map<string, string> {
  return asFiles({ inputs: aboutInputs(inputs, folder) });
}

/**
 * Returns the file about the request that launched a run, by name, with its text. Credentials are left out.
 *
 * @param run undefined when it is not stored any more
 */
export function requestConfigFile(run: Run | undefined): Map<string, string> {
  const { headers = {}, query = "", left_out } = run?.request ?? {};
  const { content_type } = run?.payload ?? {};
  const content = {
    headers: {
      ...(content_type === undefined ? {} : { "content-type": content_type }),
      ...headers,
    },
    query: parametersOf(query),
    ...(left_out && { left_out }),
  };
  return new Map([["request.json", `${JSON.stringify(content, null, 2)}\n`]]);
}

/** Returns the parameters of a query, without masked ones. The values of one that repeats are a list. */
function parametersOf(query: string): Record<string, string | string[]> {
  const byName = new Map<string, string | string[]>();
  // A question mark at its start belongs to the first name.
  for (const [name, value] of new URLSearchParams(`?${query}`)) {
    if (name === MASK || value === MASK) continue;
    const before = byName.get(name);
    byName.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(byName);
}

/** Reads the run whose request launched an execution: of a replay the run that is replayed. */
export async function launchedRun(store: Store, id: string): Promise<Run | undefined> {
  let run = await getRun(store, id);
  for (let count = 0; run?.replay_of !== undefined && count < REPLAYS_MAX; count++) {
    const replayed = await getRun(store, run.replay_of);
    // A replay of a refused request, or of a run that was removed, has its own copy of the request's facts.
    if (replayed === undefined) break;
    run = replayed;
  }
  return run;
}

/** Returns the path of the payload in the inputs folder; undefined when no input has it. */
export function payloadPath(inputs: StagedInputs): string | undefined {
  for (const [input, files] of inputs) {
    const payload = files.find(({ isPayload }) => isPayload);
    if (payload) return join(input, payload.name);
  }
  return undefined;
}

function asFiles(contents: Record<string, unknown>): Map<string, string> {
  const files = new Map<string, string>();
  for (const [name, content] of Object.entries(contents)) {
    files.set(`${name}.json`, `${JSON.stringify(content, null, 2)}\n`);
    // Most readers of YAML still follow 1.1, where an unquoted `yes` is a boolean.
    files.set(`${name}.yaml`, stringify(content, { version: "1.1", aliasDuplicateObjects: false }));
  }
  return files;
}

function aboutExecution(execution: Execution): Record<string, unknown> {
  return {
    "valohai.commit-identifier": execution.commit,
    "valohai.execution-ctime": execution.created_at,
    "valohai.execution-id": execution.attempt_of ?? execution.id,
    "valohai.execution-image": execution.image,
    "valohai.execution-status": "created",
    "valohai.execution-step": execution.step,
    "valohai.execution-tags": [],
    "valohai.execution-title": execution.title,
    "valohai.project-id": execution.project,
    // Scripts look for the name behind an owner's.
    "valohai.project-name": `${OWNER}/${execution.project}`,
    ...(execution.pipeline_id === undefined ? {} : {
      "valohai.pipeline-id": execution.pipeline_id,
      "valohai.pipeline-node-id": execution.node,
      "valohai.pipeline-tags": [],
      "valohai.pipeline-title": execution.pipeline_title,
    }),
  };
}

function aboutInputs(inputs: StagedInputs, folder: string): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(inputs, ([input, files]) => [input, {
      input_id: input,
      files: files.map((file) => aboutFile(file, join(folder, "inputs", input, file.name))),
    }]),
  );
}

function aboutFile({ name, size, uri, sha256, datumId }: StagedFile, path: string) {
  return {
    name,
    path,
    size,
    ...(uri === undefined ? {} : { uri }),
    checksums: { sha256 },
    ...(datumId === undefined ? {} : { datum_id: datumId }),
  };
}

function aboutRuntime(
  { time_limit, no_output_timeout }: Execution,
  runner: string,
): Record<string, unknown> {
  return {
    runner,
    time_limit: time_limit ?? null,
    no_output_timeout: no_output_timeout ?? null,
  };
}
