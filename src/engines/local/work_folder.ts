/**
 * The work folder of an execution: the paths in it, and its removal.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { PROCESS_LAYOUT } from "./layout.ts";

/** The work folder of one execution. */
export class WorkFolder {
  readonly path: string;
  /** The path while the folder is prepared. */
  readonly temporary: string;
  /** The path of the used folder while a new one takes its place. */
  readonly replaced: string;
  readonly layout: typeof PROCESS_LAYOUT;

  /**
   * @param root the folder of all executions
   * @param id the execution's id
   */
  constructor(root: string, id: string, layout = PROCESS_LAYOUT) {
    this.path = join(root, id);
    this.temporary = join(root, `tmp-${id}`);
    this.replaced = join(root, `old-${id}`);
    this.layout = layout;
  }

  /** The folder of the command's outputs. */
  get outputs(): string {
    return join(this.path, "outputs");
  }

  /** The path of a file that only the engine uses. */
  record(name: RecordFile): string {
    return join(this.path, "control", name);
  }

  /** The path of the log while the folder is prepared, and after that has failed. */
  get preparationLog(): string {
    return join(this.temporary, "control", "log");
  }

  /** The path of the log at the moment. */
  log(): string {
    return existsSync(this.preparationLog) ? this.preparationLog : this.record("log");
  }

  /** The path of a file that the engine and the wrapper share. */
  control(name: ControlFile): string {
    return join(this.path, this.layout.wrapperFolder, name);
  }

  /** Tells if the folder exists. It is complete then. */
  exists(): boolean {
    return existsSync(this.path);
  }

  /** True when it has all that a command needs to start. Of one from a backup, secrets may be missing. */
  get isReady(): boolean {
    return existsSync(this.control("environment"));
  }

  /** True while it holds what only the running command needs. */
  get isUntidy(): boolean {
    return this.layout.onlyWhileRunning.some((name) => existsSync(join(this.path, name)));
  }

  /** True when the wrapper has written all to disk, as it does where its service is gone. */
  get isOnDisk(): boolean {
    return existsSync(this.control("on_disk"));
  }

  /** True when a service ended, or detached, while it replaced the folder. */
  get isHalfRenewed(): boolean {
    return this.exists() && existsSync(this.temporary);
  }

  /** Puts the folder back when a service ended while it replaced it. */
  async restore(): Promise<void> {
    if (!this.exists()) await Deno.rename(this.replaced, this.path).catch(ignoreMissing);
  }

  /** Returns the time since the last output, in milliseconds; 0 when there was none. */
  async idle_ms(now_ms: number): Promise<number> {
    const printed = await Promise.all(
      [this.control("stdout"), this.control("stderr")].map((path) =>
        Deno.lstat(path).then(({ mtime }) => mtime?.getTime() ?? 0, () => 0)
      ),
    );
    const last_ms = Math.max(...printed);
    return last_ms === 0 ? 0 : Math.max(0, now_ms - last_ms);
  }

  /** Removes what only the running command needed. */
  async tidy(): Promise<void> {
    const paths = this.layout.onlyWhileRunning.map((name) => join(this.path, name));
    await Promise.all(paths.filter((path) => !removeSmall(path)).map(removeTree));
  }

  /** Removes the folder, or a part of it; returns true when nothing is left of that. */
  async remove(part?: "log" | "outputs"): Promise<boolean> {
    if (part === "log") {
      const logs = [this.record("log"), this.preparationLog];
      await Promise.all(logs.map((path) => Deno.remove(path).catch(ignoreMissing)));
      return true;
    }
    const folders = part === "outputs"
      ? [this.outputs]
      : [this.path, this.temporary, this.replaced];
    await removeTrees(folders);
    return !folders.some((path) => existsSync(path));
  }
}

/** The files that only the engine uses. */
type RecordFile = "log" | "metadata.jsonl";

/** The files in the wrapper's folder. */
export type ControlFile =
  | "command"
  | "environment"
  | "exit_code"
  | "on_disk"
  | "oom"
  | "started"
  | "stderr"
  | "stderr.cut"
  | "stdout"
  | "stdout.cut"
  | "told";

/**
 * Removes a file or an empty folder. Synchronous, because awaiting takes several times as long.
 *
 * @returns true when nothing is left at the path
 */
function removeSmall(path: string): boolean {
  try {
    Deno.removeSync(path);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Removes those folders that exist; mostly none does. */
export async function removeTrees(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.filter((path) => existsSync(path)).map(removeTree));
}
