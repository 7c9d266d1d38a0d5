/**
 * The code of projects, from git repositories and plain folders.
 *
 * @module
 */
import { join, resolve } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { ignoreMissing } from "../platform/files/missing_file.ts";
import { removeTree } from "../platform/files/remove_tree.ts";
import { type Network, systemNetwork } from "../platform/network/connection.ts";
import { refsInMemory, type RefsKeeper } from "../store/records/project_refs.ts";
import type { Project } from "../store/records/projects.ts";
import type { CodeSource } from "./code/source.ts";
import { ConfiguredCode } from "./configured_code.ts";
import type { RunConfigJob } from "./format/config_reader.ts";
import { EXPECTED_NAME, NAME } from "./name.ts";
import type { JobCode } from "./code/job_code.ts";
import { Sources } from "./code/sources.ts";
import { StoredSnapshots, type StoredSnapshotsOptions } from "./code/stored_snapshots.ts";
import { removeFolder } from "./code/remove_folder.ts";
import { TREE_LIMITS, type TreeLimits } from "./code/tree.ts";
import { TreeCache } from "./code/tree_cache.ts";

const FETCH_TIMEOUT_MS = 10 * 60_000;
/** The age at which unfinished folders are removed. */
const TEMPORARY_AGE_MIN_MS = 60 * 60_000;

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
  /** The network over which repositories without a mirror are read; by default, the machine's. */
  network?: Network;
  /** Keeps the commits of repositories without a mirror; by default, in memory. */
  refs?: RefsKeeper;
  /** Reads a project, for its executions; without it every repository has a mirror. */
  projectOf?(name: string): Promise<Project | undefined>;
  /** The places of snapshots for other instances, where those share an artifact store. */
  sharedSnapshots?: Pick<StoredSnapshotsOptions, "artifacts" | "records">;
}

type Settings =
  & Required<Omit<ProjectsOptions, "runConfigJob" | "onAttempt" | "sharedSnapshots">>
  & { treeLimits: TreeLimits };

/** The code of all projects, on a machine with a data folder. */
export class Projects extends ConfiguredCode {
  readonly #options: Settings;
  readonly #sources: Sources;
  readonly #trees = new Map<string, TreeCache>();
  readonly #storedSnapshots: StoredSnapshots | undefined;

  constructor(options: ProjectsOptions) {
    super(options);
    this.#options = {
      network: systemNetwork,
      refs: refsInMemory(),
      projectOf: () => Promise.resolve(undefined),
      env: (name) => Deno.env.get(name),
      fetchTimeout_ms: FETCH_TIMEOUT_MS,
      ...options,
      // git runs in other folders.
      dataFolder: resolve(options.dataFolder),
      treeLimits: { ...TREE_LIMITS, ...options.treeLimits },
    };
    const { sharedSnapshots, clock } = options;
    this.#storedSnapshots = sharedSnapshots && new StoredSnapshots({ ...sharedSnapshots, clock });
    this.#sources = new Sources({
      ...this.#options,
      storedSnapshots: this.#storedSnapshots,
      signal: this.closing.signal,
      folderOf: (name) => this.#folderOf(name),
      treesOf: (name) => this.#treesOf(name),
    });
  }

  /**
   * Returns the code of a commit that a job fetches itself; undefined where it gets a {@linkcode checkout}.
   *
   * @throws {ActionError} when a variable with credentials is missing
   */
  jobCode(projectName: string, commit: string): Promise<JobCode | undefined> {
    return this.#sources.jobCode(projectName, commit);
  }

  /**
   * Writes the files of a commit into a new folder, a private copy.
   *
   * @param commit a commit from {@linkcode resolve}
   * @throws {ActionError} when they cannot be read
   */
  async checkout(projectName: string, commit: string, destination: string): Promise<void> {
    const trees = this.#treesOf(projectName);
    await trees.ensure(commit, await this.#sources.tree(projectName, commit));
    await trees.copy(commit, destination);
  }

  /**
   * Removes trees that were not used for some time, and returns how many. The tree of a repository
   * can be made again; a snapshot of a folder only from an artifact store that instances share.
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
    removed += await this.#storedSnapshots?.prune(inUse, olderThan_ms) ?? 0;
    return removed;
  }

  /** Removes trees of this machine that were not used for some time, where each can be made again. */
  async pruneCopies(olderThan_ms: number): Promise<void> {
    if (this.#storedSnapshots === undefined) return;
    for (const name of await this.kept()) {
      await this.#treesOf(name).prune(() => false, olderThan_ms);
      await this.#removeTemporary(this.#folderOf(name), olderThan_ms);
    }
  }

  /** Ends running fetches, which fail. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.#sources.close();
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
    const forgetSources = await this.#sources.forget(projectName);
    const aside = this.#folderOf(`forgotten-${crypto.randomUUID()}`);
    // From here on nothing is awaited, so that no other call comes between.
    forgetSources();
    this.#trees.delete(projectName);
    this.forgetConfigs(projectName);
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

  protected override sourceOf(project: Project): Promise<CodeSource> {
    return this.#sources.of(project);
  }

  #treesOf(name: string): TreeCache {
    return this.#trees.getOrInsertComputed(
      name,
      () => new TreeCache(join(this.#folderOf(name), "trees"), this.#options.clock),
    );
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
