/**
 * The code of projects and their project configuration files, wherever the code is.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { isAbsolute, normalize } from "node:path";
import { ActionError, InvalidInputError, type Problem } from "../platform/errors.ts";
import type { Project } from "../store/records/projects.ts";
import { commitOfConfig } from "./code/no_source.ts";
import type { CodeSource, CommitBranches } from "./code/source.ts";
import { ConfigCache } from "./format/config_cache.ts";
import type { ProjectConfig } from "./format/config_file.ts";
import { readConfig, type RunConfigJob } from "./format/config_reader.ts";

/** The longest project configuration file. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** Options of {@linkcode ConfiguredCode}. */
interface ConfiguredCodeOptions {
  /** Called when a repository was fetched, and when the file at `HEAD` was read, with the error if that failed. */
  onAttempt?: ((project: string, what: "fetch" | "file", error?: Error) => void) | undefined;
  /** Reads large project configuration files in a Worker; without it they are read at once. */
  runConfigJob?: RunConfigJob | undefined;
}

/** One state of a project's code. */
export interface ResolvedCommit {
  /** A commit's full hash, or `~` and a hash for the snapshot of a plain folder. */
  commit: string;
  config: ProjectConfig;
}

/** Options of a fetch. */
interface FetchOptions {
  /** False when nobody needs the branches, for which a host has to be asked. Default true. */
  lists?: boolean;
}

/** The result of a fetch. */
export interface FetchResult {
  /** The full hash of each branch; empty for a project without branches. */
  branches: Record<string, string>;
}

/** The code of all projects, with their project configuration files. */
export abstract class ConfiguredCode {
  readonly #onAttempt: NonNullable<ConfiguredCodeOptions["onAttempt"]>;
  readonly #configs: ConfigCache;
  /** Aborted when the service stops. */
  protected readonly closing = new AbortController();

  constructor({ onAttempt = () => {}, runConfigJob: runJob }: ConfiguredCodeOptions) {
    this.#onAttempt = onAttempt;
    const { signal } = this.closing;
    this.#configs = new ConfigCache((bytes, { path, project }) =>
      readConfig(bytes, normalize(path), { project, signal, runJob })
    );
  }

  /** Returns the source of a project's code. */
  protected abstract sourceOf(project: Project): Promise<CodeSource>;

  /**
   * Resolves a reference to a commit, and reads its project configuration file. For a repository
   * the reference has the commit of the last fetch. For a plain folder the commit is a snapshot
   * that is taken now.
   *
   * @param reference a branch, a tag, a full or abbreviated hash, or `HEAD`; for a folder only
   *   `HEAD`
   * @throws {ActionError} when the code cannot be read; the message has no credentials
   * @throws {InvalidInputError} when the project configuration file is not valid
   */
  resolve(project: Project, reference: string, signal?: AbortSignal): Promise<ResolvedCommit> {
    const resolving = this.#resolve(project, reference);
    const resolved = reference === "HEAD" ? this.#noted(project, "file", resolving) : resolving;
    return signal === undefined ? resolved : abortable(resolved, signal);
  }

  /**
   * Resolves a reference as {@linkcode resolve} does, but returns undefined for a repository that
   * was never fetched.
   */
  async resolveKept(
    project: Project,
    reference: string,
    signal?: AbortSignal,
  ): Promise<ResolvedCommit | undefined> {
    return await this.isKept(project) ? await this.resolve(project, reference, signal) : undefined;
  }

  /**
   * Checks that the folder, the variables and the key of a project exist, and that its project
   * configuration file is valid. It fetches nothing.
   *
   * @returns problems with pointers into the project
   */
  async check(project: Project, signal?: AbortSignal): Promise<Problem[]> {
    const problems = await (await this.sourceOf(project)).problems(project);
    if (problems.length > 0) return problems;
    try {
      // The project may not be saved: how this ends is no attempt of it.
      const resolving = await this.isKept(project) && this.#resolve(project, "HEAD");
      if (resolving) await (signal === undefined ? resolving : abortable(resolving, signal));
      return [];
    } catch (error) {
      if (signal?.aborted) return [];
      const pointer = project.config === undefined ? "/config_file" : "/config";
      if (isOwnFailure(error)) return [{ pointer, detail: error.message }];
      throw error;
    }
  }

  /**
   * Fetches everything that arrived at a project's repository before this call. When the signal
   * aborts, it stops waiting; the fetch goes on for others.
   *
   * @throws {ActionError} when it cannot be fetched; the message has no credentials
   */
  fetch(
    project: Project,
    signal?: AbortSignal,
    { lists = true }: FetchOptions = {},
  ): Promise<FetchResult> {
    const fetching = this.#fetch(project, lists);
    const fetched = project.repository ? this.#noted(project, "fetch", fetching) : fetching;
    return signal === undefined ? fetched : abortable(fetched, signal);
  }

  /** Forgets the failures and the files of a project, at once. */
  protected forgetConfigs(projectName: string): void {
    this.#onAttempt(projectName, "fetch");
    this.#onAttempt(projectName, "file");
    this.#configs.forget(projectName);
  }

  async #resolve(project: Project, reference: string): Promise<ResolvedCommit> {
    const source = await this.sourceOf(project);
    const commit = await source.resolve(project, reference);
    try {
      return { commit, config: await this.#configOf(project, commit) };
    } catch (error) {
      // In a mirror that was made again, the reference may have another commit.
      const now = project.repository ? await source.resolve(project, reference) : commit;
      if (now === commit) throw error;
      return { commit: now, config: await this.#configOf(project, now) };
    }
  }

  #configOf(project: Project, commit: string): Promise<ProjectConfig> {
    const { name, config } = project;
    if (config !== undefined) {
      const place = { project: name, commit: commitOfConfig(project), path: "config" };
      return this.#configs.get(place, () => Promise.resolve(new TextEncoder().encode(config)));
    }
    const place = { project: name, commit, path: project.config_file };
    return this.#configs.get(place, () => this.#readConfig(project, commit));
  }

  async #fetch(project: Project, lists: boolean): Promise<FetchResult> {
    const source = await this.sourceOf(project);
    const known = await source.fetch(project);
    // A file that cannot be used is told of before a launch needs it.
    if (project.repository !== undefined) await this.resolve(project, "HEAD").catch(() => {});
    return { branches: known ?? (lists ? await source.branches(project) : {}) };
  }

  /** Tells how an attempt ended. */
  async #noted<T>({ name }: Project, what: "fetch" | "file", attempt: Promise<T>): Promise<T> {
    try {
      const result = await attempt;
      this.#onAttempt(name, what);
      return result;
    } catch (error) {
      const isOver = this.closing.signal.aborted;
      if (!isOver && isOwnFailure(error)) this.#onAttempt(name, what, error);
      throw error;
    }
  }

  /** Returns false for a repository that was never fetched on this machine. */
  async isKept(project: Project): Promise<boolean> {
    return await (await this.sourceOf(project)).isKept(project);
  }

  /** Tells whether a commit of a repository can be read without a fetch. */
  async hasCommit(project: Project, commit: string): Promise<boolean> {
    const source = await this.sourceOf(project);
    if (!await source.isKept(project)) return false;
    return await source.resolve(project, commit).then(() => true, (error) => {
      if (!(error instanceof ActionError)) throw error;
      return false;
    });
  }

  /**
   * Finds the branches that a commit of a repository is on: in a mirror those of the last fetch.
   *
   * @param wanted returns true for a branch whose commits matter; others may be left out
   */
  async branchesWith(
    project: Project,
    commit: string,
    wanted: (branch: string) => boolean,
  ): Promise<CommitBranches> {
    return await (await this.sourceOf(project)).branchesWith(project, commit, wanted);
  }

  async #readConfig(project: Project, commit: string): Promise<Uint8Array> {
    const path = normalize(project.config_file);
    if (isAbsolute(path) || /^\.\.(\/|$)|[\r\n\0]/.test(path)) {
      throw new ActionError(
        `Cannot read ${path} of project "${project.name}": it is outside of it`,
      );
    }
    const source = await this.sourceOf(project);
    const bytes = await source.read(project, commit, path, CONFIG_BYTES_MAX);
    if (bytes !== undefined) return bytes;
    const place = project.directory === undefined ? `commit ${commit}` : project.directory;
    throw new ActionError(
      `Cannot read ${path} of project "${project.name}": ${place} has no such file`,
    );
  }
}

/** Returns true for an error whose cause is the project. */
function isOwnFailure(error: unknown): error is ActionError | InvalidInputError {
  return error instanceof ActionError || error instanceof InvalidInputError;
}
