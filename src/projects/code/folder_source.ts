/**
 * The code of projects that are plain folders.
 *
 * @module
 */
import { isAbsolute, join } from "node:path";
import { ActionError, type Problem } from "../../platform/errors.ts";
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import type { Project } from "../../store/records/projects.ts";
import { folderProblems, Snapshots } from "./snapshot.ts";
import type { CodeSource, CommitBranches } from "./source.ts";
import type { StoredSnapshots } from "./stored_snapshots.ts";
import type { TreeLimits } from "./tree.ts";
import type { TreeCache } from "./tree_cache.ts";
import { readTreeFile } from "./tree_file.ts";

/** Options of {@linkcode FolderSource}. */
interface FolderSourceOptions {
  /** The service's data folder, which no snapshot contains. */
  dataFolder: string;
  limits: TreeLimits;
  treesOf(projectName: string): TreeCache;
  storedSnapshots: StoredSnapshots | undefined;
}

/** Takes a snapshot of a folder for each commit. */
export class FolderSource implements CodeSource {
  readonly #options: FolderSourceOptions;
  readonly #snapshots = new Map<string, CoalescedWork<string>>();

  constructor(options: FolderSourceOptions) {
    this.#options = options;
  }

  async fetch(project: Project): Promise<Record<string, string>> {
    await this.#snapshotOf(project);
    return {};
  }

  branches(): Promise<Record<string, string>> {
    return Promise.resolve({});
  }

  async resolve(project: Project, reference: string): Promise<string> {
    if (reference === "HEAD") return await this.#snapshotOf(project);
    throw new ActionError(
      `Cannot find the commit ${JSON.stringify(reference)} of project "${project.name}": ` +
        'it is a plain folder and has no commits, expected "HEAD" or none',
    );
  }

  isKept(): Promise<boolean> {
    return Promise.resolve(true);
  }

  read(
    { name }: Project,
    commit: string,
    path: string,
    bytesMax: number,
  ): Promise<Uint8Array | undefined> {
    return readTreeFile(join(this.#options.treesOf(name).pathOf(commit), path), bytesMax);
  }

  branchesWith(): Promise<CommitBranches> {
    return Promise.resolve({ branches: [], isOnDefault: false });
  }

  problems({ directory = "" }: Project): Promise<Problem[]> {
    return folderProblems(directory);
  }

  forget(projectName: string): Promise<() => void> {
    return Promise.resolve(() => {
      for (const key of this.#snapshots.keys()) {
        if (key.startsWith(`${projectName}/`)) this.#snapshots.delete(key);
      }
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #snapshotOf({ name, directory = "" }: Project): Promise<string> {
    if (!isAbsolute(directory)) {
      throw new ActionError(
        `Cannot use the folder ${JSON.stringify(directory)} of project "${name}": ` +
          "expected an absolute path",
      );
    }
    const key = `${name}/${directory}`;
    return this.#snapshots.getOrInsertComputed(key, () => this.#newSnapshots(name, directory))
      .run();
  }

  #newSnapshots(name: string, directory: string): CoalescedWork<string> {
    const { dataFolder, limits, treesOf, storedSnapshots } = this.#options;
    const trees = treesOf(name);
    const snapshots = new Snapshots({ directory, trees, dataFolder, limits });
    return new CoalescedWork(async () => {
      const commit = await snapshots.take();
      await storedSnapshots?.keep(name, commit, trees.pathOf(commit));
      return commit;
    });
  }
}
