/**
 * The work folder of an execution: what is where in it, and how it is prepared.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { allOver } from "../../platform/waiting/settle_all.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import type { Execution } from "../../store/records/executions.ts";
import { quote } from "../../projects/format/command.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { commandEnvironment } from "../shared/environment.ts";
import type { InputContext } from "./inputs/mod.ts";
import { type Layout, PROCESS_LAYOUT } from "./layout.ts";
import { appendToLog, type StoredLine } from "../shared/log_file.ts";

/** How the folder of what is not prepared yet begins. */
const TEMPORARY = "tmp-";
/** How the folder begins that another one takes the place of. */
const REPLACED = "old-";

/** What a work folder is prepared with. */
export interface PrepareContext extends InputContext {
  checkout(projectName: string, commit: string, destination: string): Promise<void>;
}

/** The work folder of one execution. */
export class WorkFolder {
  /** Its own path. */
  readonly path: string;
  readonly #layout: Layout;
  readonly #temporary: string;
  readonly #replaced: string;

  /**
   * @param root the folder of all executions
   * @param id the execution's id
   */
  constructor(root: string, id: string, layout = PROCESS_LAYOUT) {
    this.path = join(root, id);
    this.#layout = layout;
    this.#temporary = join(root, TEMPORARY + id);
    this.#replaced = join(root, REPLACED + id);
  }

  /** What the command leaves behind. */
  get outputs(): string {
    return join(this.path, "outputs");
  }

  /** What the engine keeps of the run. */
  record(name: RecordFile): string {
    return join(this.path, "control", name);
  }

  /**
   * Its log while it is prepared, and when that has failed after something was told. It goes on with the
   * one of an earlier run.
   */
  get preparationLog(): string {
    return join(this.#temporary, "control", "log");
  }

  /** Its log, wherever that is now. */
  log(): string {
    return existsSync(this.preparationLog) ? this.preparationLog : this.record("log");
  }

  /** A file by which the engine and the wrapper know of each other. */
  control(name: ControlFile): string {
    return join(this.path, this.#layout.wrapperFolder, name);
  }

  /** Whether it is there; when it is, it is complete. */
  exists(): boolean {
    return existsSync(this.path);
  }

  /** Makes it, with everything that the command finds when it starts. */
  async prepare(execution: Execution, context: PrepareContext): Promise<void> {
    // What is there was prepared by a service that did not come to say so.
    await removeTrees([this.#temporary, this.path]);
    await this.#make(execution, context);
    Deno.renameSync(this.#temporary, this.path);
  }

  /**
   * Makes it anew, in place of one that was used. Only the log is kept, to be gone on with.
   *
   * @param logBytesMax how long the log may become
   */
  async renew(
    execution: Execution,
    context: PrepareContext,
    { line, logBytesMax }: { line: StoredLine; logBytesMax: number },
  ): Promise<void> {
    await removeTrees([this.#temporary, this.#replaced]);
    await this.#make(execution, context, async () => {
      await Deno.copyFile(this.record("log"), this.preparationLog).catch(ignoreMissing);
      await appendToLog(this.preparationLog, logBytesMax, line);
      // What the one before has left is nobody's, also when nothing comes of this one.
      await removeTree(this.outputs);
    });
    await Deno.rename(this.path, this.#replaced).catch(ignoreMissing);
    await Deno.rename(this.#temporary, this.path);
    await removeTree(this.#replaced);
  }

  /** Whether a service ended, or let go, while it made it anew. */
  get isHalfRenewed(): boolean {
    return this.exists() && existsSync(this.#temporary);
  }

  /** Puts back what a service was about to renew when it ended. */
  async restore(): Promise<void> {
    if (!this.exists()) await Deno.rename(this.#replaced, this.path).catch(ignoreMissing);
  }

  /**
   * Makes all of it under its temporary name.
   *
   * @param keep brings what is kept of the one before
   */
  async #make(
    execution: Execution,
    context: PrepareContext,
    keep?: () => Promise<void>,
  ): Promise<void> {
    const making = this.#temporary;
    try {
      // Only what runs executions needs them; what reads their logs and outputs does not.
      const { configFiles, inputConfigFiles } = await import("../shared/config_files.ts");
      const { writeInputs } = await import("./inputs/mod.ts");
      this.#makeFixedParts(execution);
      this.#writeConfig(configFiles(execution, this.#layout.runner));
      if (keep) await keep();
      const [, inputs] = await allOver([
        context.checkout(execution.project, execution.commit, join(making, "repository")),
        writeInputs(execution, join(making, "inputs"), context),
      ]);
      this.#writeConfig(inputConfigFiles(inputs, this.#layout.seenAs(this.path)));
    } catch (error) {
      await this.#removeAllButLog();
      throw error;
    }
  }

  /** Removes what was prepared. What was told meanwhile says why there is no more of it. */
  async #removeAllButLog(): Promise<void> {
    const log = await Deno.readFile(this.preparationLog).catch(() => undefined);
    await removeTree(this.#temporary);
    if (log === undefined) return;
    await Deno.mkdir(dirname(this.preparationLog), { recursive: true, mode: 0o700 });
    await Deno.writeFile(this.preparationLog, log, { mode: 0o600 });
  }

  /**
   * Makes the folders, and the files that are small and the same for every execution. Without awaiting
   * each of them, because that takes several times as long as what is awaited.
   */
  #makeFixedParts(execution: Execution): void {
    const making = this.#temporary;
    Deno.mkdirSync(making, { recursive: true, mode: 0o700 });
    const { wrapperFolder } = this.#layout;
    for (const name of ["config", "control", "home", "inputs", "outputs", "tmp"]) {
      Deno.mkdirSync(join(making, name), { mode: 0o700 });
    }
    // Below a folder that nobody else may enter, so that the command may give it to another user.
    if (wrapperFolder !== "control") Deno.mkdirSync(join(making, wrapperFolder), { mode: 0o755 });
    for (const [name, text] of this.#controlFiles(execution)) {
      const mode = name === "command" ? 0o700 : 0o600;
      Deno.writeTextFileSync(join(making, wrapperFolder, name), text, { mode });
    }
  }

  #writeConfig(files: Map<string, string>): void {
    for (const [name, text] of files) {
      Deno.writeTextFileSync(join(this.#temporary, "config", name), text, { mode: 0o600 });
    }
  }

  /** How long nothing was printed, in milliseconds; 0 when nothing ever was. */
  async silence_ms(now_ms: number): Promise<number> {
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
    const paths = this.#layout.onlyWhileRunning.map((name) => join(this.path, name));
    await Promise.all(paths.filter((path) => !removeSmall(path)).map(removeTree));
  }

  /** Removes all of it. */
  async remove(): Promise<void> {
    await removeTrees([this.path, this.#temporary, this.#replaced]);
  }

  #controlFiles(execution: Execution): Map<string, string> {
    const folder = this.#layout.seenAs(this.path);
    const environment = Object.entries(commandEnvironment(execution, folder));
    return new Map([
      ["command", `${execution.command}\n`],
      [
        "environment",
        // By `command`, a shell that keeps a variable for itself, as bash keeps UID, says so and goes on.
        environment.map(([name, value]) => `command export ${name}=${quote(value)}\n`).join(""),
      ],
    ]);
  }
}

/** The files that are the engine's own. */
export type RecordFile = "log" | "metadata.jsonl";

/** The files of the wrapper's folder. */
export type ControlFile =
  | "command"
  | "exit_code"
  | "oom"
  | "started"
  | "stderr"
  | "stderr.cut"
  | "stdout"
  | "stdout.cut"
  | "told";

/**
 * Removes a file, or a folder with nothing in it. Without awaiting it, because that takes several times as
 * long.
 *
 * @returns whether nothing is there now
 */
function removeSmall(path: string): boolean {
  try {
    Deno.removeSync(path);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Removes those of so many that are there, which mostly none is. */
async function removeTrees(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.filter((path) => existsSync(path)).map(removeTree));
}
