/**
 * The logs and outputs of executions: in their work folders, and of those that have ended also where all instances
 * share an artifact store.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import { getExecution, hasEnded } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import type { EngineOutput, LogOptions, LogPage } from "../engine.ts";
import { readArchivedLog } from "../shared/archived_log.ts";
import { readLog } from "../shared/log_reader.ts";
import { openOutput } from "./outputs.ts";
import { WorkFolder } from "./work_folder.ts";

/** The logs and outputs of executions. */
export class ResultFiles {
  readonly #root: string;
  readonly #store: Store;
  readonly #shared: ArtifactStore | undefined;

  /**
   * @param root the folder of all executions of this machine
   * @param shared the artifact store, where all instances share it
   */
  constructor(root: string, store: Store, shared: ArtifactStore | undefined) {
    this.#root = root;
    this.#store = store;
    this.#shared = shared;
  }

  /** The work folder of an execution on this machine. */
  folderOf(executionId: string): WorkFolder {
    return new WorkFolder(this.#root, executionId);
  }

  /** Reads a page of a log. */
  async log(executionId: string, options?: LogOptions): Promise<LogPage> {
    const path = this.folderOf(executionId).log();
    if (this.#shared !== undefined && !existsSync(path)) {
      const execution = await getExecution(this.#store, executionId);
      // Another instance has run it.
      if (execution !== undefined && hasEnded(execution.status)) {
        return await readArchivedLog(this.#shared, executionId, options);
      }
    }
    return await readLog(path, options);
  }

  /** Opens an output. Undefined when the execution has no output at this path. */
  async output(executionId: string, path: string): Promise<EngineOutput | undefined> {
    const file = await openOutput(this.folderOf(executionId).outputs, path);
    if (file === undefined) return await this.#shared?.open(artifactKeys.output(executionId, path));
    return { size: (await file.stat()).size, stream: file.readable };
  }

  /**
   * Removes what is kept of an ended execution, or a part of it.
   *
   * @returns true when nothing of that is left on this machine
   */
  async remove(executionId: string, part?: "log" | "outputs"): Promise<boolean> {
    await this.#shared?.remove(artifactKeys.execution(executionId, part));
    return await this.folderOf(executionId).remove(part);
  }
}
