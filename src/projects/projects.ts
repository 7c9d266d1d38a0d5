/**
 * The code of projects, from a git repository or a plain folder.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { delay } from "@std/async/delay";
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
import { Repository } from "./code/repository.ts";
import { folderProblems, isSnapshot, Snapshots } from "./code/snapshot.ts";
import { TREE_LIMITS, type TreeLimits } from "./code/tree.ts";
import { TreeCache, type TreeSource } from "./code/tree_cache.ts";

const FETCH_TIMEOUT_MS = 10 * 60_000;
/** How long a project configuration file may be. */
const CONFIG_BYTES_MAX = 1024 * 1024;
const REMOVE_ATTEMPTS = 10;
const REMOVE_PAUSE_MS = 100;
/** What was left behind half-done is not touched earlier than this. */
const TEMPORARY_AGE_MIN_MS = 60 * 60_000;

/** What {@linkcode Projects} is told. */
export interface ProjectsOptions {
  /** The service's data folder; projects are in `projects/<name>/` below it. */
  dataFolder: string;
  clock: Clock;
  /** Reads an environment variable, for credentials of repositories. By default of this process. */
  env?(name: string): string | undefined;
  /** How long fetching a repository may take. Default 10 minutes. */
  fetchTimeout_ms?: number;
  treeLimits?: Partial<TreeLimits>;
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

/** What was fetched. */
export interface FetchResult {
  /** The full hash that each branch is at; empty for a plain folder. */
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
      ...options,
      // git runs in other folders than the service.
      dataFolder: resolve(options.dataFolder),
      treeLimits: { ...TREE_LIMITS, ...options.treeLimits },
    };
    const { signal } = this.#closing;
    this.#configs = new ConfigCache((bytes, { path, project }) =>
      readConfig(bytes, path, { project, signal, runJob })
    );
  }

  /**
   * The commit that a reference stands for now, and its project configuration file. For a repository
   * "now" is when it was last fetched, and nothing is run when this was asked since; for a plain
   * folder it is this moment, and the commit keeps what the folder holds.
   *
   * @param reference a branch, a tag, a full or abbreviated hash, or `HEAD`; of a folder `HEAD` alone
   * @throws {ActionError} when the code cannot be had, with a message free of credentials
   * @throws {InvalidInputError} when the project configuration file is not what it must be
   */
  resolve(project: Project, reference: string, signal?: AbortSignal): Promise<ResolvedCommit> {
    const resolved = this.#resolve(project, reference);
    return signal === undefined ? resolved : abortable(resolved, signal);
  }

  /**
   * Returns the state of a project's code that is at hand, as {@linkcode resolve} does.
   *
   * @returns undefined for a repository that was never fetched
   */
  async resolveKept(
    project: Project,
    reference: string,
    signal?: AbortSignal,
  ): Promise<ResolvedCommit | undefined> {
    const origin = originOf(project);
    const isKept = origin === undefined ||
      await this.#repositoryOf(project.name).isFetched(origin);
    return isKept ? await this.resolve(project, reference, signal) : undefined;
  }

  /**
   * Returns what the settings of a project name and what is not there: its folder, the variables and the key
   * that open its repository, and what its project configuration file must have.
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
      await this.resolveKept(project, "HEAD", signal);
      return [];
    } catch (error) {
      if (signal?.aborted) return [];
      const isKnown = error instanceof ActionError || error instanceof InvalidInputError;
      if (isKnown) return [{ pointer: "/config_file", detail: error.message }];
      throw error;
    }
  }

  /**
   * Fetches a project's repository: what arrived there before this call is found by `resolve` after
   * it. Aborting the signal gives up waiting; a fetch that others wait for goes on.
   *
   * @throws {ActionError} when it cannot be fetched, with a message free of credentials
   */
  fetch(project: Project, signal?: AbortSignal): Promise<FetchResult> {
    const fetched = this.#fetch(project);
    return signal === undefined ? fetched : abortable(fetched, signal);
  }

  /**
   * Writes the files of a commit into a new folder, a private copy.
   *
   * @param commit as {@linkcode resolve} has answered it
   * @throws {ActionError} when they cannot be had
   */
  async checkout(projectName: string, commit: string, destination: string): Promise<void> {
    const trees = this.#treesOf(projectName);
    await trees.ensure(commit, this.#sourceOf(projectName, commit));
    await trees.copy(commit, destination);
  }

  /**
   * Removes kept trees that were not used for some time. A repository's can be made again, a folder's
   * snapshot cannot.
   *
   * @param inUse `<project>/<commit>` of those that must stay
   * @returns how many were removed
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

  /** Ends the fetches that are under way. What they were for is not done. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#repositories.values().map((repository) => repository.close()));
  }

  /** The names of the projects of whose code something is kept, deleted ones among them. */
  async kept(): Promise<string[]> {
    const folder = join(this.#options.dataFolder, "projects");
    const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
    return entries.map(({ name }) => name).filter((name) => NAME.test(name));
  }

  /**
   * Lets go of all that is kept of a project's code: nothing of it is found by one of its name that is made
   * from now on.
   *
   * @returns what removes it, which may take long. What a crash leaves is {@linkcode kept}, by a name of
   *   its own
   */
  async forget(projectName: string): Promise<() => Promise<void>> {
    await this.#repositories.get(projectName)?.close();
    const aside = this.#folderOf(`forgotten-${crypto.randomUUID()}`);
    // From here on nobody comes in between.
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
      // A mirror that had to be made anew may have the reference at another commit.
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
    const place = { project: project.name, commit, path: normalize(project.config_file) };
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
        `Cannot check out ${commit} of project "${projectName}": the snapshot is not kept any more`,
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
    return { branches: await this.#limitedRepositoryOf(project).fetch(origin) };
  }

  async #readConfig(project: Project, commit: string): Promise<Uint8Array> {
    const path = normalize(project.config_file);
    if (isAbsolute(path) || /^\.\.(\/|$)|[\r\n\0]/.test(path)) {
      throw new ActionError(
        `Cannot read ${path} of project "${project.name}": it is outside of it`,
      );
    }
    const bytes = project.repository === undefined
      ? await readFile(join(this.#treesOf(project.name).pathOf(commit), path))
      : await this.#repositoryOf(project.name).read(commit, path, CONFIG_BYTES_MAX);
    if (bytes !== undefined) return bytes;
    throw new ActionError(
      `Cannot read ${path} of project "${project.name}": commit ${commit} has no such file`,
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
    // Names are checked where they come in; a path must not depend on that.
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

/** Where a project's repository is; undefined for a plain folder. */
function originOf({ repository, deploy_key: deployKey }: Project): Origin | undefined {
  if (repository === undefined) return undefined;
  return { repository, ...(deployKey === undefined ? {} : { deploy_key: deployKey }) };
}

/** Removes a folder; a fetch that is under way may still add to it for a moment. */
async function removeFolder(path: string): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      if (attempt === REMOVE_ATTEMPTS) throw error;
      await delay(REMOVE_PAUSE_MS);
    }
  }
}

async function readFile(path: string): Promise<Uint8Array | undefined> {
  try {
    const { size } = await Deno.stat(path);
    if (size > CONFIG_BYTES_MAX) {
      throw new ActionError(`Cannot read ${path}: it is larger than it may be`);
    }
    return await Deno.readFile(path);
  } catch (error) {
    const { NotFound, IsADirectory } = Deno.errors;
    if (error instanceof NotFound || error instanceof IsADirectory) return undefined;
    throw error;
  }
}
