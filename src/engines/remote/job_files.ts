/**
 * The files that a job needs before its command starts: code, configuration and inputs. They are brought to the
 * stage of the job, from which its agent gets them.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { hasShebang } from "../../projects/format/command/command.ts";
import type { JobCode } from "../../projects/code/job_code.ts";
import { diskLimit_mb } from "../../projects/code/size_guard.ts";
import { ActionError } from "../../platform/errors.ts";
import { shellQuote } from "../../platform/shell.ts";
import { settleAll } from "../../platform/waiting/promises.ts";
import type { Execution } from "../../store/records/executions.ts";
import {
  configFiles,
  inputConfigFiles,
  launchedRun,
  payloadPath,
  requestConfigFile,
  type StagedInputs,
} from "../shared/config_files.ts";
import { commandEnvironment, exportScript } from "../shared/environment.ts";
import { stageInputs } from "../shared/inputs/mod.ts";
import { commandSecrets, SECRETS_FOLDER } from "../shared/step_secrets.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { Sources } from "../shared/inputs/source.ts";
import type { JobFile, JobManifest } from "./desk.ts";
import { CODE_FOLDER, codeTar } from "./code_tar.ts";
import type { RemoteSettings } from "./context.ts";
import type { JobStages, OpenFile } from "./job_stage.ts";

const MIB = 1024 * 1024;
/** The least size of a file that an agent gets by URL: one more request takes as long as a short file. */
const BY_URL_BYTES_MIN = MIB;

/** The surroundings of {@linkcode JobFiles}. */
export interface JobFilesOptions extends Omit<Sources, "signal" | "logEvent" | "remote"> {
  stages: JobStages;
  checkout(projectName: string, commit: string, destination: string): Promise<void>;
  /** Returns the code that a job fetches itself; undefined where it gets a checkout. */
  jobCode(projectName: string, commit: string): Promise<JobCode | undefined>;
  settings: RemoteSettings;
  secrets?: SecretsOfSteps | undefined;
  /** Returns what runs a command in place of the machine; undefined when nothing does. */
  wrapOf(execution: Execution): string | undefined;
}

/** The job whose files are wanted. */
export interface FilesOf {
  execution: Execution;
  attempt: number;
  /** The job's folder on its machine. */
  folder: string;
  logEvent: Sources["logEvent"];
}

interface Prepared {
  attempt: number;
  manifest: Promise<JobManifest>;
  abort: AbortController;
}

/** Fetches the files of jobs. */
export class JobFiles {
  readonly #options: JobFilesOptions;
  readonly #prepared = new Map<string, Prepared>();

  constructor(options: JobFilesOptions) {
    this.#options = options;
  }

  /**
   * Returns the manifest of a job, after its files were fetched.
   *
   * @throws with a message for the owner, when they cannot be
   */
  manifest(of: FilesOf): Promise<JobManifest> {
    const { execution: { id }, attempt } = of;
    const known = this.#prepared.get(id);
    if (known?.attempt === attempt) return known.manifest;
    known?.abort.abort();
    const abort = new AbortController();
    // The files of an earlier run have the same place: first nothing is written there any more.
    const manifest = Promise.allSettled([known?.manifest]).then(() => this.#prepare(of, abort));
    this.#prepared.set(id, { attempt, manifest, abort });
    manifest.catch(() => {
      if (this.#prepared.get(id)?.abort === abort) this.#prepared.delete(id);
    });
    return manifest;
  }

  /** Returns what a job's manifest says of a file; undefined when there is none at this place. */
  async described(of: FilesOf, index: number): Promise<JobFile | undefined> {
    return (await this.manifest(of)).files[index];
  }

  /** Opens a file of a job's manifest; undefined when there is none at this place. */
  async open(of: FilesOf, index: number): Promise<OpenFile | undefined> {
    const file = await this.described(of, index);
    if (file === undefined) return undefined;
    if (file.path === CODE_FOLDER) return { stream: await this.#codeOf(of.execution) };
    const stage = this.#options.stages.of(of.execution.id);
    if (file.kind === "tar") return { stream: await stage.base() };
    const { stream } = await stage.input(file.path.slice("inputs/".length));
    return { ...(file.size === undefined ? {} : { size: file.size }), stream };
  }

  /** Ends the fetching of a job's files. */
  cancel(executionId: string): void {
    this.#prepared.get(executionId)?.abort.abort();
  }

  /** Removes the files of a job. */
  async remove(executionId: string): Promise<void> {
    const prepared = this.#prepared.get(executionId);
    prepared?.abort.abort();
    await prepared?.manifest.catch(() => {});
    this.#prepared.delete(executionId);
    await this.#options.stages.of(executionId).clear();
  }

  /** Ends all that is under way. */
  async close(): Promise<void> {
    const prepared = [...this.#prepared.values()];
    for (const { abort } of prepared) abort.abort();
    await Promise.allSettled(prepared.map(({ manifest }) => manifest));
    await this.#options.stages.close();
  }

  async #codeOf({ project, commit }: Execution): Promise<ReadableStream<Uint8Array>> {
    const code = await this.#options.jobCode(project, commit);
    if (code !== undefined) return codeTar(code);
    throw new ActionError(
      `Cannot fetch commit ${commit} of project "${project}": the project was changed or deleted while this waited`,
    );
  }

  async #prepare(
    { execution, folder, logEvent }: FilesOf,
    abort: AbortController,
  ): Promise<JobManifest> {
    const { checkout, jobCode, settings, stages, wrapOf, secrets: source, ...sources } = this
      .#options;
    const { signal } = abort;
    await stages.of(execution.id).clear();
    const stage = stages.of(execution.id);
    await stage.begin();
    const { project, commit } = execution;
    const prepareCode = async () => {
      const code = await jobCode(project, commit);
      if (code === undefined) await stage.checkOut((path) => checkout(project, commit, path));
      return code;
    };
    const { remote } = stage;
    const [code, inputs, run, secrets] = await settleAll([
      prepareCode().catch((error) => {
        // Without its code, the execution does not need its inputs.
        abort.abort();
        throw error;
      }),
      stageInputs(execution, stage.inputs, { ...sources, remote, signal, logEvent }),
      launchedRun(sources.store, execution.run_id),
      commandSecrets(execution, folder, source),
    ]);
    const environment = commandEnvironment(execution, {
      folder,
      payload: payloadPath(inputs),
      secrets: secrets.variables,
    });
    await stage.write("config", configFiles(execution, execution.engine.type));
    await stage.write("config", inputConfigFiles(inputs, folder));
    await stage.write("config", requestConfigFile(run));
    await stage.write(
      "control",
      new Map([
        ...commandFiles(execution, folder, wrapOf(execution)),
        ["environment", exportScript(environment, { isSecret: execution.secrets !== undefined })],
      ]),
    );
    if (secrets.files.size > 0) await stage.write(`control/${SECRETS_FOLDER}`, secrets.files);
    const files = inputFiles(inputs);
    return {
      folders: ["home", "inputs", "outputs", "tmp", ...foldersOf(files)],
      files: [
        { path: ".", kind: "tar", mode: 0 },
        ...files,
        ...code === undefined ? [] : [{ path: CODE_FOLDER, kind: "tar", mode: 0 } as const],
      ],
      ...(code && { code: code.commit }),
      shell: wrapOf(execution) !== undefined || !hasShebang(execution.command),
      ...limitsOf(execution, settings),
    };
  }
}

function limitsOf(
  execution: Execution,
  { grace_ms, logBytesMax, outputsMax }: RemoteSettings,
): Omit<JobManifest, "folders" | "files" | "code" | "shell"> {
  const { time_limit, no_output_timeout } = execution;
  return {
    ...(time_limit === undefined ? {} : { timeLimitS: time_limit }),
    ...(no_output_timeout === undefined ? {} : { noOutputTimeoutS: no_output_timeout }),
    graceS: Math.max(1, Math.round(grace_ms / 1_000)),
    streamBytesMax: logBytesMax,
    outputsMax,
    outputBytesMax: diskLimit_mb(execution.engine) * MIB,
  };
}

/** Returns the file with the command, and of one that is wrapped the file that it runs. */
function commandFiles(
  { command, image }: Execution,
  folder: string,
  wrap: string | undefined,
): [name: string, text: string][] {
  if (wrap === undefined) return [["command", `${command}\n`]];
  const values: Record<string, string> = { "{image}": image, "{folder}": folder };
  const words = wrap.replace(
    /\{(?:image|folder)\}/g,
    (place) => shellQuote(values[place] ?? place),
  );
  const shell = hasShebang(command) ? "" : "sh -e ";
  return [
    ["command", `exec ${words} ${shell}${shellQuote(join(folder, "control", "step"))}\n`],
    ["step", `${command}\n`],
  ];
}

function inputFiles(inputs: StagedInputs): JobFile[] {
  return Array.from(inputs).flatMap(([input, staged]) =>
    staged.map(({ name, size, sha256, artifact }): JobFile => ({
      ...{ path: join("inputs", input, name), kind: "file", mode: 0o600, size, sha256 },
      ...(artifact !== undefined && size >= BY_URL_BYTES_MIN && { artifact }),
    }))
  );
}

/** Returns the folders that files lie in, each before what is in it. */
function foldersOf(files: readonly JobFile[]): string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let at = dirname(path); at !== "inputs"; at = dirname(at)) folders.add(at);
  }
  return [...folders].sort();
}
