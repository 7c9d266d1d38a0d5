/**
 * The sources of all projects' code.
 *
 * @module
 */
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Network } from "../../platform/network/connection.ts";
import { InTurn } from "../../platform/waiting/in_turn.ts";
import { forgetRefs, type RefsKeeper } from "../../store/records/project_refs.ts";
import type { Project } from "../../store/records/projects.ts";
import { fetchedCommit } from "./fetched_commits.ts";
import { FolderSource } from "./folder_source.ts";
import type { JobCode } from "./job_code.ts";
import { MirrorSource } from "./mirror_source.ts";
import { isCommitOfConfig, NO_SOURCE } from "./no_source.ts";
import type { RemoteSource } from "./remote_source.ts";
import type { CodeSource } from "./source.ts";
import { hasGit } from "./has_git.ts";
import { isRemote, type SourceKind, sourceKind } from "./source_kind.ts";
import { snapshotTree, type StoredSnapshots } from "./stored_snapshots.ts";
import type { TreeLimits } from "./tree.ts";
import type { TreeCache, TreeSource } from "./tree_cache.ts";

/** The commit of a repository. */
const GIT_HASH = /^[0-9a-f]{40,64}$/;

/** Options of {@linkcode Sources}. */
interface SourcesOptions {
  dataFolder: string;
  clock: Clock;
  env(name: string): string | undefined;
  network: Network;
  fetchTimeout_ms: number;
  treeLimits: TreeLimits;
  refs: RefsKeeper;
  projectOf(name: string): Promise<Project | undefined>;
  /** Returns the folder of a project's files. */
  folderOf(projectName: string): string;
  treesOf(projectName: string): TreeCache;
  /** Keeps snapshots where other instances find them; absent where none do. */
  storedSnapshots: StoredSnapshots | undefined;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Chooses the source of each project. */
export class Sources {
  readonly #options: SourcesOptions;
  readonly #mirror: MirrorSource;
  readonly #folder: FolderSource;
  readonly #turns = new InTurn();
  /** Loaded for the first project without a mirror. */
  #remote: RemoteSource | undefined;
  /** True where git works; undefined before anyone has looked. */
  #hasGit: boolean | undefined;

  constructor(options: SourcesOptions) {
    const { dataFolder, treesOf, storedSnapshots, treeLimits: limits, ...others } = options;
    this.#options = options;
    this.#folder = new FolderSource({ dataFolder, treesOf, storedSnapshots, limits });
    this.#mirror = new MirrorSource({ ...others, limits });
  }

  /** Returns the source of a project. */
  async of(project: Project): Promise<CodeSource> {
    const kind = await this.#kindOf(project);
    if (kind === "folder") return this.#folder;
    if (kind === "mirror") return this.#mirror;
    if (kind === "none") return NO_SOURCE;
    const { RemoteSource } = await import("./remote_source.ts");
    return this.#remote ??= new RemoteSource(this.#options);
  }

  /** Returns what makes the tree of a commit. */
  async tree(projectName: string, commit: string): Promise<TreeSource> {
    if (isCommitOfConfig(commit)) {
      return { make: () => Promise.resolve(), isWhole: () => Promise.resolve(true) };
    }
    if (GIT_HASH.test(commit)) {
      const remote = await this.#remoteProject(projectName);
      if (remote === undefined) return this.#mirror.tree(projectName, commit);
      const { treeLimits: limits, folderOf, ...others } = this.#options;
      const folder = join(folderOf(projectName), "commits.git");
      return fetchedCommit(remote, commit, { ...others, folder, turns: this.#turns, limits });
    }
    return snapshotTree(projectName, commit, this.#options.storedSnapshots);
  }

  /** Returns the code that a job fetches itself; undefined where the service has the tree. */
  async jobCode(projectName: string, commit: string): Promise<JobCode | undefined> {
    const project = GIT_HASH.test(commit) ? await this.#remoteProject(projectName) : undefined;
    if (project === undefined) return undefined;
    const kind = await this.#kindOf(project);
    if (!isRemote(kind)) return undefined;
    const { jobCode } = await import("./job_code.ts");
    return await jobCode(project, commit, { ...this.#options, kind });
  }

  /**
   * Ends what is under way for a project.
   *
   * @returns forgets what is known of it, at once
   */
  async forget(projectName: string): Promise<() => void> {
    const sources = [
      this.#mirror,
      this.#folder,
      ...this.#remote === undefined ? [] : [this.#remote],
    ];
    const forgets = await Promise.all(sources.map((source) => source.forget(projectName)));
    await forgetRefs(this.#options.refs, projectName);
    return () => forgets.forEach((forget) => forget());
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#mirror.close(), this.#remote?.close()]);
  }

  /** Returns a project whose code is not on this machine. */
  async #remoteProject(name: string): Promise<Project | undefined> {
    const project = await this.#options.projectOf(name);
    return project !== undefined && isRemote(await this.#kindOf(project)) ? project : undefined;
  }

  async #kindOf(project: Project): Promise<SourceKind> {
    const kind = sourceKind(project, true);
    if (kind !== "mirror" || project.source !== undefined) return kind;
    return sourceKind(project, this.#hasGit ??= await hasGit());
  }
}
