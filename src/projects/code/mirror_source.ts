/**
 * The code of projects whose repositories git mirrors in the data folder.
 *
 * @module
 */
import { join } from "node:path";
import type { Problem } from "../../platform/errors.ts";
import type { Project } from "../../store/records/projects.ts";
import type { MirrorOptions } from "./mirror.ts";
import { originOf, originProblems } from "./remote.ts";
import { Repository } from "./repository.ts";
import { diskLimit_mb } from "./size_guard.ts";
import type { CodeSource, CommitBranches } from "./source.ts";
import type { TreeSource } from "./tree_cache.ts";

/** Options of {@linkcode MirrorSource}. */
interface MirrorSourceOptions extends Pick<MirrorOptions, "fetchTimeout_ms" | "limits" | "env"> {
  /** Returns the folder of a project's files. */
  folderOf(projectName: string): string;
}

/** Keeps a mirror of each repository. */
export class MirrorSource implements CodeSource {
  readonly #options: MirrorSourceOptions;
  readonly #repositories = new Map<string, Repository>();

  constructor(options: MirrorSourceOptions) {
    this.#options = options;
  }

  fetch(project: Project): Promise<Record<string, string>> {
    return this.#limited(project).fetch(originOf(project));
  }

  async branches(project: Project): Promise<Record<string, string>> {
    return await this.#limited(project).branches(originOf(project));
  }

  resolve(project: Project, reference: string): Promise<string> {
    return this.#limited(project).resolve(originOf(project), reference);
  }

  isKept(project: Project): Promise<boolean> {
    return this.#of(project.name).isFetched(originOf(project));
  }

  read(
    { name }: Project,
    commit: string,
    path: string,
    bytesMax: number,
  ): Promise<Uint8Array | undefined> {
    return this.#of(name).read(commit, path, bytesMax);
  }

  branchesWith(project: Project, commit: string): Promise<CommitBranches> {
    return this.#limited(project).branchesWith(originOf(project), commit);
  }

  problems(project: Project): Promise<Problem[]> {
    return originProblems(originOf(project), this.#options.env);
  }

  async forget(projectName: string): Promise<() => void> {
    await this.#repositories.get(projectName)?.close();
    return () => this.#repositories.delete(projectName);
  }

  async close(): Promise<void> {
    await Promise.all(this.#repositories.values().map((repository) => repository.close()));
  }

  /** Returns what makes the tree of a commit. */
  tree(projectName: string, commit: string): TreeSource {
    const repository = this.#of(projectName);
    return {
      make: (folder) => repository.extract(commit, folder),
      isWhole: (folder) => repository.isWhole(commit, folder),
    };
  }

  #limited({ name, engine }: Project): Repository {
    const repository = this.#of(name);
    repository.limit(diskLimit_mb(engine));
    return repository;
  }

  #of(name: string): Repository {
    const { folderOf, ...options } = this.#options;
    const folder = join(folderOf(name), "mirror.git");
    return this.#repositories.getOrInsertComputed(
      name,
      () => new Repository({ projectName: name, folder, ...options }),
    );
  }
}
