/**
 * Stages of jobs in a folder of this machine.
 *
 * @module
 */
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { diskCache } from "../shared/inputs/disk_cache.ts";
import { DiskInputs } from "../shared/inputs/disk_inputs.ts";
import { RemoteFiles } from "../shared/inputs/remote_files.ts";
import { tarOf } from "../../projects/code/folder_tar.ts";
import { type JobStage, type JobStages, modeOf, type OpenFile } from "./job_stage.ts";
import { stagesFolder } from "./left_stages.ts";

/** Keeps the files of jobs in the data folder, and one cache of what was fetched for them. */
export class DiskStages implements JobStages {
  readonly #folder: string;
  readonly #remote: RemoteFiles;

  constructor({ dataFolder, clock }: { dataFolder: string; clock: Clock }) {
    this.#folder = stagesFolder(dataFolder);
    const cache = diskCache(join(this.#folder, "input_cache"));
    this.#remote = new RemoteFiles({ cache, clock });
  }

  of(executionId: string): JobStage {
    return new DiskStage(join(this.#folder, executionId), this.#remote);
  }

  close(): Promise<void> {
    return this.#remote.close();
  }
}

class DiskStage implements JobStage {
  readonly inputs: DiskInputs;
  readonly remote: RemoteFiles;
  readonly #root: string;
  /** The folder of the texts and the code. */
  readonly #base: string;

  constructor(root: string, remote: RemoteFiles) {
    this.#root = root;
    this.#base = join(root, "base");
    this.inputs = new DiskInputs(join(root, "inputs"));
    this.remote = remote;
  }

  async clear(): Promise<void> {
    await removeTree(this.#root);
  }

  async begin(): Promise<void> {
    await Deno.mkdir(this.#base, { recursive: true, mode: 0o700 });
  }

  async write(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
    const path = join(this.#base, folder);
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    for (const [name, text] of files) {
      await Deno.writeTextFile(join(path, name), text, { mode: modeOf(name) });
    }
  }

  async checkOut(write: (destination: string) => Promise<void>): Promise<void> {
    await write(join(this.#base, "repository"));
  }

  base(): Promise<ReadableStream<Uint8Array>> {
    return tarOf(this.#base);
  }

  async input(path: string): Promise<OpenFile> {
    const file = await Deno.open(join(this.#root, "inputs", path));
    return { stream: file.readable };
  }
}
