/**
 * The files that a job needs before its command starts: code, configuration and inputs. They are fetched into
 * a folder of the service, from which its agent gets them. The folder can be made again at any time.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { artifactKeys } from "../../artifacts/keys.ts";
import { hasShebang } from "../../projects/format/command/command.ts";
import type { JobCode } from "../../projects/code/job_code.ts";
import { diskLimit_mb } from "../../projects/code/size_guard.ts";
import { ActionError } from "../../platform/errors.ts";
import { shellQuote } from "../../platform/shell.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
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
import { hashFile } from "../shared/file_hash.ts";
import { stageInputs } from "../shared/inputs/mod.ts";
import { commandSecrets, SECRETS_FOLDER } from "../shared/step_secrets.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { Sources } from "../shared/inputs/source.ts";
import type { JobFile, JobManifest } from "./desk.ts";
import { CODE_FOLDER, codeTar } from "./code_tar.ts";
import { tarOf } from "./folder_tar.ts";
import type { RemoteSettings } from "./context.ts";

const MIB = 1024 * 1024;
/** The least size of a file that an agent gets by URL: one more request takes as long as a short file. */
const BY_URL_BYTES_MIN = MIB;

/** The surroundings of {@linkcode JobFiles}. */
export interface JobFilesOptions extends Omit<Sources, "signal" | "logEvent"> {
  /** The folder of all jobs. */
  folder: string;
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

/** An open file. */
export interface OpenFile {
  size?: number;
  stream: ReadableStream<Uint8Array>;
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
    const manifest = this.#prepare(of, abort);
    this.#prepared.set(id, { attempt, manifest, abort });
    manifest.catch(() => this.#prepared.delete(id));
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
    const root = this.#folderOf(of.execution.id);
    if (file.path === CODE_FOLDER) return { stream: await this.#codeOf(of.execution) };
    if (file.kind === "tar") return { stream: await tarOf(join(root, "base")) };
    const opened = await Deno.open(join(root, file.path));
    return { ...(file.size === undefined ? {} : { size: file.size }), stream: opened.readable };
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
    await removeTree(this.#folderOf(executionId));
  }

  /** Ends all that is under way. */
  async close(): Promise<void> {
    const prepared = [...this.#prepared.values()];
    for (const { abort } of prepared) abort.abort();
    await Promise.allSettled(prepared.map(({ manifest }) => manifest));
    await this.#options.remote.close();
  }

  async #codeOf({ project, commit }: Execution): Promise<ReadableStream<Uint8Array>> {
    const code = await this.#options.jobCode(project, commit);
    if (code !== undefined) return codeTar(code);
    throw new ActionError(
      `Cannot fetch commit ${commit} of project "${project}": the project was changed or deleted while this waited`,
    );
  }

  #folderOf(executionId: string): string {
    return join(this.#options.folder, executionId);
  }

  async #prepare(
    { execution, folder, logEvent }: FilesOf,
    abort: AbortController,
  ): Promise<JobManifest> {
    const { checkout, jobCode, settings, folder: _all, wrapOf, secrets: source, ...sources } = this
      .#options;
    const { signal } = abort;
    const root = this.#folderOf(execution.id);
    const base = join(root, "base");
    await removeTree(root);
    for (const name of ["config", "control"]) {
      await Deno.mkdir(join(base, name), { recursive: true, mode: 0o700 });
    }
    await Deno.mkdir(join(root, "inputs"), { mode: 0o700 });
    const { project, commit } = execution;
    const prepareCode = async () => {
      const code = await jobCode(project, commit);
      if (code === undefined) await checkout(project, commit, join(base, "repository"));
      return code;
    };
    const [code, inputs, run, secrets] = await settleAll([
      prepareCode().catch((error) => {
        // Without its code, the execution does not need its inputs.
        abort.abort();
        throw error;
      }),
      stageInputs(execution, join(root, "inputs"), { ...sources, signal, logEvent }),
      launchedRun(sources.store, execution.run_id),
      commandSecrets(execution, folder, source),
    ]);
    const environment = commandEnvironment(execution, {
      folder,
      payload: payloadPath(inputs),
      secrets: secrets.variables,
    });
    await write(join(base, "config"), configFiles(execution, execution.engine.type));
    await write(join(base, "config"), inputConfigFiles(inputs, folder));
    await write(join(base, "config"), requestConfigFile(run));
    await write(
      join(base, "control"),
      new Map([
        ...commandFiles(execution, folder, wrapOf(execution)),
        ["environment", exportScript(environment, { isSecret: execution.secrets !== undefined })],
      ]),
    );
    if (secrets.files.size > 0) {
      const path = join(base, "control", SECRETS_FOLDER);
      await Deno.mkdir(path, { mode: 0o700 });
      await write(path, secrets.files);
    }
    const files = await inputFiles(root, inputs, execution);
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

async function inputFiles(
  root: string,
  inputs: StagedInputs,
  execution: Execution,
): Promise<JobFile[]> {
  const files: JobFile[] = [];
  for (const [input, staged] of inputs) {
    for (const [index, { name, size, sha256 }] of staged.entries()) {
      const path = join("inputs", input, name);
      const hash = sha256 ?? (await hashFile(join(root, path))).sha256;
      // Files are staged in the order of the record.
      const artifact = size < BY_URL_BYTES_MIN ? undefined : artifactOf(execution, input, index);
      const described = { path, size, sha256: hash, ...(artifact !== undefined && { artifact }) };
      files.push({ kind: "file", mode: 0o600, ...described });
    }
  }
  return files;
}

/** Returns the key of an input's file in the artifact store; undefined when it is not from there. */
function artifactOf({ inputs }: Execution, input: string, index: number): string | undefined {
  const file = inputs[input]?.[index];
  if (file === undefined || "url" in file) return undefined;
  return "payload_of" in file
    ? artifactKeys.payload(file.payload_of)
    : artifactKeys.output(file.output_of, file.path);
}

/** Returns the folders that files lie in, each before what is in it. */
function foldersOf(files: readonly JobFile[]): string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let at = dirname(path); at !== "inputs"; at = dirname(at)) folders.add(at);
  }
  return [...folders].sort();
}

async function write(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, text] of files) {
    const mode = name === "command" || name === "step" ? 0o700 : 0o600;
    await Deno.writeTextFile(join(folder, name), text, { mode });
  }
}
