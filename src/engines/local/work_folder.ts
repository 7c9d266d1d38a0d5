/**
 * The work folder of an execution: what is where in it, and how it is prepared.
 *
 * @module
 */
import { join } from "node:path";
import type { Execution } from "../../store/executions.ts";
import { quote } from "../../projects/command.ts";
import { configFiles } from "./config_files.ts";
import { commandEnvironment } from "./environment.ts";
import { type InputContext, writeInputs } from "./inputs/mod.ts";
import { removeByForce } from "./processes.ts";

/** How the folder of what is not prepared yet begins. */
const TEMPORARY = "tmp-";
/** What the command alone needed. The rest is what it left behind. */
const ONLY_WHILE_RUNNING = ["repository", "inputs", "tmp", "home"];
const CONTROL_WHILE_RUNNING = ["environment", "stdout", "stderr", "stdout.cut", "stderr.cut"];

/** What a work folder is prepared with. */
export interface PrepareContext extends InputContext {
  checkout(projectName: string, commit: string, destination: string): Promise<void>;
}

/** The work folder of one execution. */
export class WorkFolder {
  /** Its own path. */
  readonly path: string;
  readonly #temporary: string;

  /**
   * @param root the folder of all executions
   * @param id the execution's id
   */
  constructor(root: string, id: string) {
    this.path = join(root, id);
    this.#temporary = join(root, TEMPORARY + id);
  }

  /** What the command leaves behind. */
  get outputs(): string {
    return join(this.path, "outputs");
  }

  /** A file by which the engine and the wrapper know of each other. */
  control(name: ControlFile): string {
    return join(this.path, "control", name);
  }

  /** Whether it is there; when it is, it is complete. */
  async exists(): Promise<boolean> {
    return await Deno.lstat(this.path).then(() => true, () => false);
  }

  /** Makes it, with everything that the command finds when it starts. */
  async prepare(execution: Execution, context: PrepareContext): Promise<void> {
    const making = this.#temporary;
    // What is there was prepared by a service that did not come to say so.
    await Promise.all([removeTree(making), removeTree(this.path)]);
    try {
      this.#makeFixedParts(execution);
      // All of it is over, failed or not, before anything is removed.
      const parts = await Promise.allSettled([
        context.checkout(execution.project, execution.commit, join(making, "repository")),
        writeInputs(execution, join(making, "inputs"), context),
      ]);
      for (const part of parts) if (part.status === "rejected") throw part.reason;
      await Deno.rename(making, this.path);
    } catch (error) {
      await removeTree(making);
      throw error;
    }
  }

  /**
   * Makes the folders, and the files that are small and the same for every execution. Without awaiting
   * each of them, because that takes several times as long as what is awaited.
   */
  #makeFixedParts(execution: Execution): void {
    const making = this.#temporary;
    Deno.mkdirSync(making, { recursive: true, mode: 0o700 });
    for (const name of ["config", "control", "home", "inputs", "outputs", "tmp"]) {
      Deno.mkdirSync(join(making, name), { mode: 0o700 });
    }
    for (const [name, text] of configFiles(execution, this.path)) {
      Deno.writeTextFileSync(join(making, "config", name), text, { mode: 0o600 });
    }
    for (const [name, text] of this.#controlFiles(execution)) {
      const mode = name === "command" ? 0o700 : 0o600;
      Deno.writeTextFileSync(join(making, "control", name), text, { mode });
    }
  }

  /** How long nothing was printed, in milliseconds; 0 when nothing ever was. */
  async silence_ms(now_ms: number): Promise<number> {
    const printed = await Promise.all(
      [this.control("stdout"), this.control("stderr")].map((path) =>
        Deno.stat(path).then(({ mtime }) => mtime?.getTime() ?? 0, () => 0)
      ),
    );
    const last_ms = Math.max(...printed);
    return last_ms === 0 ? 0 : Math.max(0, now_ms - last_ms);
  }

  /** Removes what only the running command needed. */
  async tidy(): Promise<void> {
    await Promise.all([
      ...ONLY_WHILE_RUNNING.map((name) => removeTree(join(this.path, name))),
      ...CONTROL_WHILE_RUNNING.map((name) => removeTree(join(this.path, "control", name))),
    ]);
  }

  /** Removes all of it. */
  async remove(): Promise<void> {
    await Promise.all([removeTree(this.path), removeTree(this.#temporary)]);
  }

  #controlFiles(execution: Execution): Map<string, string> {
    const environment = Object.entries(commandEnvironment(execution, this.path));
    return new Map([
      ["command", `${execution.command}\n`],
      [
        "environment",
        environment.map(([name, value]) => `export ${name}=${quote(value)}\n`).join(""),
      ],
    ]);
  }
}

/** The files in `control/`. */
export type ControlFile =
  | "command"
  | "exit_code"
  | "log"
  | "metadata.jsonl"
  | "started"
  | "stderr"
  | "stderr.cut"
  | "stdout"
  | "stdout.cut";

/** Removes what may not be there, also when the command has made parts of it unwritable. */
async function removeTree(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    await removeByForce(path);
  }
}
