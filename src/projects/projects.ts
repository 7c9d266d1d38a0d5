/**
 * The code of projects, from git repositories and plain folders.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { isAbsolute, join, normalize, resolve } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { ActionError, InvalidInputError, type Problem } from "../platform/errors.ts";
import { ignoreMissing } from "../platform/files/missing_file.ts";
import { CoalescedWork } from "../platform/waiting/coalesced_work.ts";
import { removeTree } from "../platform/files/remove_tree.ts";
import type { Project } from "../store/records/projects.ts";
import { diskLimit_mb } from "./code/size_guard.ts";
import { ConfigCache } from "./format/config_cache.ts";
import { readConfig, type RunConfigJob } from "./format/config_reader.ts";
import type { ProjectConfig } from "./format/config_file.ts";
import { EXPECTED_NAME, NAME } from "./name.ts";
import { type Origin, originProblems } from "./code/remote.ts";
import { removeFolder } from "./code/remove_folder.ts";
import { type CommitBranches, Repository } from "./code/repository.ts";
import { folderProblems, isSnapshot, Snapshots } from "./code/snapshot.ts";
import { TREE_LIMITS, type TreeLimits } from "./code/tree.ts";
import { readTreeFile } from "./code/tree_file.ts";
import { TreeCache, type TreeSource } from "./code/tree_cache.ts";

const FETCH_TIMEOUT_MS = 10 * 60_000;
/** The longest project configuration file. */
const CONFIG_BYTES_MAX = 1024 * 1024;
/** The age at which unfinished folders are removed. */
const TEMPORARY_AGE_MIN_MS = 60 * 60_000;

export type { CommitBranches } from "./code/repository.ts";

/** Options of {@linkcode Projects}. */
export interface ProjectsOptions {
  /** The service's data folder; projects are in `projects/<name>/` below it. */
  dataFolder: string;
  clock: Clock;
  /**
   * Reads an environment variable, for credentials of repositories; by default, one of this
   * process.
   */
  env?(name: string): string | undefined;
  /** The time limit of a fetch. Default 10 minutes. */
  fetchTimeout_ms?: number;
  treeLimits?: Partial<TreeLimits>;
  /** Called when a repository was fetched, and when the file at `HEAD` was read, with the error if that failed. */
  onAttempt?(project: string, what: "fetch" | "file", error?: Error): void;
  /** Reads large project configuration files in a Worker; without it they are read at once. */
  runConfigJob?: RunConfigJob;
}

type Settings = Required<Omit<ProjectsOptions, "runConfigJob">> & { treeLimits: TreeLimits };

/** One state of a project's code. */
export interface ResolvedCommit {
  /** A commit's full hash, or `~` and a hash for the snapshot of a plain folder. */
  commit: string;
  config: ProjectConfig;
}

/** The result of a fetch. */
export interface FetchResult {
  /** The full hash of each branch; empty for a plain folder. */
  branches: Record<string, string>;
}

/** The code of all projects. */
export class Projects {
  readonly #options: Settings;
  readonly #repositories = new Map<string, Repository>();
  readonly #snapshots = new Map<string, CoalescedWork<string>>();
  readonly #trees = new Map<string, TreeCache>();
  readonly #configs: ConfigCache;
  readonly #closing = new AbortController();

  constructor({ runConfigJob: runJob, ...options }: ProjectsOptions) {
    this.#options = {
      env: (name) => Deno.env.get(name),
      fetchTimeout_ms: FETCH_TIMEOUT_MS,
      onAttempt: () => {},
      ...options,
      // git runs in other folders.
      dataFolder: resolve(options.dataFolder),
      treeLimits: { ...TREE_LIMITS, ...options.treeLimits },
    };
    const { signal } = this.#closing;
    this.#configs = new ConfigCache((bytes, { path, project }) =>
      readConfig(bytes, normalize(path), { project, signal, runJob })
    );
  }

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
    const origin = originOf(project);
    const problems = origin === undefined
      ? await folderProblems(project.directory ?? "")
      : await originProblems(origin, this.#options.env);
    if (problems.length > 0) return problems;
    try {
      // The project may not be saved: how this ends is no attempt of it.
      const resolving = await this.isKept(project) && this.#resolve(project, "HEAD");
      if (resolving) await (signal === undefined ? resolving : abortable(resolving, signal));
      return [];
    } catch (error) {
      if (signal?.aborted) return [];
      if (isOwnFailure(error)) return [{ pointer: "/config_file", detail: error.message }];
      throw error;
    }
  }

  /**
   * Fetches everything that arrived at a project's repository before this call. When the signal
   * aborts, it stops waiting; the fetch goes on for others.
   *
   * @throws {ActionError} when it cannot be fetched; the message has no credentials
   */
  fetch(project: Project, signal?: AbortSignal): Promise<FetchResult> {
    const fetching = this.#fetch(project);
    const fetched = project.repository ? this.#noted(project, "fetch", fetching) : fetching;
    return signal === undefined ? fetched : abortable(fetched, signal);
  }

  /**
   * Writes the files of a commit into a new folder, a private copy.
   *
   * @param commit a commit from {@linkcode resolve}
   * @throws {ActionError} when they cannot be read
   */
  async checkout(projectName: string, commit: string, destination: string): Promise<void> {
    const trees = this.#treesOf(projectName);
    await trees.ensure(commit, this.#sourceOf(projectName, commit));
    await trees.copy(commit, destination);
  }

  /**
   * Removes trees that were not used for some time, and returns how many. The tree of a repository
   * can be made again, a snapshot of a folder cannot.
   *
   * @param inUse `<project>/<commit>` of trees that must stay
   */
  async pruneTrees(inUse: ReadonlySet<string>, olderThan_ms: number): Promise<number> {
    let removed = 0;
    for (const name of await this.kept()) {
      const isInUse = (commit: string) => inUse.has(`${name}/${commit}`);
      removed += await this.#treesOf(name).prune(isInUse, olderThan_ms);
      await this.#removeTemporary(this.#folderOf(name), olderThan_ms);
    }
    return removed;
  }

  /** Ends running fetches, which fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#repositories.values().map((repository) => repository.close()));
  }

  /** Returns the names of projects with files in the data folder, also of deleted ones. */
  async kept(): Promise<string[]> {
    const folder = join(this.#options.dataFolder, "projects");
    const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
    return entries.map(({ name }) => name).filter((name) => NAME.test(name));
  }

  /**
   * Forgets the code of a project: a new project of its name does not find it.
   *
   * @returns removes the files, which may take long. After a crash they are {@linkcode kept} under
   *   another name
   */
  async forget(projectName: string): Promise<() => Promise<void>> {
    await this.#repositories.get(projectName)?.close();
    const aside = this.#folderOf(`forgotten-${crypto.randomUUID()}`);
    this.#options.onAttempt(projectName, "fetch");
    this.#options.onAttempt(projectName, "file");
    // From here on nothing is awaited, so that no other call comes between.
    this.#repositories.delete(projectName);
    this.#trees.delete(projectName);
    this.#configs.forget(projectName);
    for (const key of this.#snapshots.keys()) {
      if (key.startsWith(`${projectName}/`)) this.#snapshots.delete(key);
    }
    try {
      Deno.renameSync(this.#folderOf(projectName), aside);
    } catch (error) {
      ignoreMissing(error);
    }
    return async () => {
      await removeTree(join(aside, "trees"));
      await removeFolder(aside);
    };
  }

  async #resolve(project: Project, reference: string): Promise<ResolvedCommit> {
    const commit = await this.#commitOf(project, reference);
    try {
      return { commit, config: await this.#configOf(project, commit) };
    } catch (error) {
      // In a mirror that was made again, the reference may have another commit.
      const now = originOf(project) ? await this.#commitOf(project, reference) : commit;
      if (now === commit) throw error;
      return { commit: now, config: await this.#configOf(project, now) };
    }
  }

  #commitOf(project: Project, reference: string): Promise<string> {
    const origin = originOf(project);
    if (origin !== undefined) return this.#limitedRepositoryOf(project).resolve(origin, reference);
    if (reference === "HEAD") return this.#snapshotOf(project);
    throw new ActionError(
      `Cannot find the commit ${JSON.stringify(reference)} of project "${project.name}": ` +
        'it is a plain folder and has no commits, expected "HEAD" or none',
    );
  }

  #configOf(project: Project, commit: string): Promise<ProjectConfig> {
    const place = { project: project.name, commit, path: project.config_file };
    return this.#configs.get(place, () => this.#readConfig(project, commit));
  }

  #sourceOf(projectName: string, commit: string): TreeSource {
    if (/^[0-9a-f]{40,64}$/.test(commit)) {
      const repository = this.#repositoryOf(projectName);
      return {
        make: (folder) => repository.extract(commit, folder),
        isWhole: (folder) => repository.isWhole(commit, folder),
      };
    }
    const refuse = () => {
      throw new ActionError(
        `Cannot check out ${commit} of project "${projectName}": the snapshot is not kept any more; launch it again`,
      );
    };
    return { make: refuse, isWhole: (folder) => isSnapshot(folder, commit) };
  }

  async #fetch(project: Project): Promise<FetchResult> {
    const origin = originOf(project);
    if (origin === undefined) {
      await this.#snapshotOf(project);
      return { branches: {} };
    }
    const branches = await this.#limitedRepositoryOf(project).fetch(origin);
    // A file that cannot be used is told of before a launch needs it.
    await this.resolve(project, "HEAD").catch(() => {});
    return { branches };
  }

  /** Tells how an attempt ended. */
  async #noted<T>({ name }: Project, what: "fetch" | "file", attempt: Promise<T>): Promise<T> {
    try {
      const result = await attempt;
      this.#options.onAttempt(name, what);
      return result;
    } catch (error) {
      const isOver = this.#closing.signal.aborted;
      if (!isOver && isOwnFailure(error)) this.#options.onAttempt(name, what, error);
      throw error;
    }
  }

  /** Returns false for a repository that was never fetched on this machine. */
  async isKept(project: Project): Promise<boolean> {
    const origin = originOf(project);
    return origin === undefined || await this.#repositoryOf(project.name).isFetched(origin);
  }

  /** Finds the branches of the last fetch that a commit of a repository is on. */
  async branchesWith(project: Project, commit: string): Promise<CommitBranches> {
    const origin = originOf(project);
    if (origin === undefined) return { branches: [], isOnDefault: false };
    return await this.#limitedRepositoryOf(project).branchesWith(origin, commit);
  }

  async #readConfig(project: Project, commit: string): Promise<Uint8Array> {
    const path = normalize(project.config_file);
    if (isAbsolute(path) || /^\.\.(\/|$)|[\r\n\0]/.test(path)) {
      throw new ActionError(
        `Cannot read ${path} of project "${project.name}": it is outside of it`,
      );
    }
    const bytes = project.repository === undefined
      ? await readTreeFile(join(this.#treesOf(project.name).pathOf(commit), path), CONFIG_BYTES_MAX)
      : await this.#repositoryOf(project.name).read(commit, path, CONFIG_BYTES_MAX);
    if (bytes !== undefined) return bytes;
    const place = project.directory === undefined ? `commit ${commit}` : project.directory;
    throw new ActionError(
      `Cannot read ${path} of project "${project.name}": ${place} has no such file`,
    );
  }

  #snapshotOf({ name, directory = "" }: Project): Promise<string> {
    if (!isAbsolute(directory)) {
      throw new ActionError(
        `Cannot use the folder ${JSON.stringify(directory)} of project "${name}": ` +
          "expected an absolute path",
      );
    }
    const key = `${name}/${directory}`;
    const snapshots = this.#snapshots.get(key) ?? this.#newSnapshots(name, directory);
    this.#snapshots.set(key, snapshots);
    return snapshots.run();
  }

  #newSnapshots(name: string, directory: string): CoalescedWork<string> {
    const { dataFolder, treeLimits: limits } = this.#options;
    const snapshots = new Snapshots({ directory, trees: this.#treesOf(name), dataFolder, limits });
    return new CoalescedWork(() => snapshots.take());
  }

  #limitedRepositoryOf({ name, engine }: Project): Repository {
    const repository = this.#repositoryOf(name);
    repository.limit(diskLimit_mb(engine));
    return repository;
  }

  #repositoryOf(name: string): Repository {
    const { env, fetchTimeout_ms, treeLimits: limits } = this.#options;
    const folder = join(this.#folderOf(name), "mirror.git");
    const repository = this.#repositories.get(name) ??
      new Repository({ projectName: name, folder, fetchTimeout_ms, limits, env });
    this.#repositories.set(name, repository);
    return repository;
  }

  #treesOf(name: string): TreeCache {
    const trees = this.#trees.get(name) ??
      new TreeCache(join(this.#folderOf(name), "trees"), this.#options.clock);
    this.#trees.set(name, trees);
    return trees;
  }

  #folderOf(name: string): string {
    // Names are checked when a project is saved. A path must not rely on that.
    if (!NAME.test(name)) throw new TypeError(EXPECTED_NAME);
    return join(this.#options.dataFolder, "projects", name);
  }

  async #removeTemporary(folder: string, olderThan_ms: number): Promise<void> {
    const age_ms = Math.max(olderThan_ms, TEMPORARY_AGE_MIN_MS);
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.startsWith("tmp-")) continue;
      const { mtime } = await Deno.lstat(join(folder, name));
      if (this.#options.clock.now() - (mtime?.getTime() ?? 0) < age_ms) continue;
      await Deno.remove(join(folder, name), { recursive: true });
    }
  }
}

/** Returns true for an error whose cause is the project. */
function isOwnFailure(error: unknown): error is ActionError | InvalidInputError {
  return error instanceof ActionError || error instanceof InvalidInputError;
}

/** Returns the origin of a project's repository; undefined for a plain folder. */
function originOf({ repository, deploy_key: deployKey }: Project): Origin | undefined {
  if (repository === undefined) return undefined;
  return { repository, ...(deployKey === undefined ? {} : { deploy_key: deployKey }) };
}
