/**
 * The steps before an execution's command. A stop cancels them.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import type { StoredLine } from "../shared/log_format.ts";
import { PreparationLog } from "./preparation_log.ts";
import type { RunContext } from "./run_context.ts";
import type { WorkFolder } from "./work_folder.ts";
import { renewFolder, type SetupContext, setUpFolder } from "./work_folder_setup.ts";

/** The preparation of one execution: its work folder, and then the start of its command. */
export class Preparation {
  readonly #execution: Execution;
  readonly #context: RunContext;
  readonly #folder: WorkFolder;
  /** Aborts the step that is under way. */
  #underWay: AbortController | undefined;
  #log: PreparationLog | undefined;
  #isCancelled = false;

  constructor(
    execution: Execution,
    { context, folder }: { context: RunContext; folder: WorkFolder },
  ) {
    this.#execution = execution;
    this.#context = context;
    this.#folder = folder;
  }

  /** The log while the work folder is prepared, and after that has failed. */
  get log(): PreparationLog | undefined {
    return this.#log;
  }

  /** Aborts the step that is under way, and all later ones. */
  cancel(): void {
    this.#isCancelled = true;
    this.#underWay?.abort();
  }

  /**
   * Creates the work folder.
   *
   * @param isAgain true when an earlier service may have begun to
   */
  async setUpFolder({ isAgain = false } = {}): Promise<void> {
    const log = this.#newLog();
    if (isAgain) await log.keepEarlier();
    await setUpFolder(this.#folder, this.#execution, this.#setupContext(log));
    this.#underWay = this.#log = undefined;
  }

  /** Replaces a used work folder by a new one, and adds a line to the log. */
  async renewFolder(line: StoredLine): Promise<void> {
    const { logBytesMax } = this.#context.settings;
    const context = this.#setupContext(this.#newLog());
    await renewFolder(this.#folder, this.#execution, context, { line, logBytesMax });
    this.#underWay = this.#log = undefined;
  }

  /** Does work. Cancelling aborts its signal. */
  async do<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const result = await work(this.#begin().signal);
    this.#underWay = undefined;
    return result;
  }

  #begin(): AbortController {
    const underWay = this.#underWay = new AbortController();
    if (this.#isCancelled) underWay.abort();
    return underWay;
  }

  #newLog(): PreparationLog {
    const { clock, settings: { logBytesMax: bytesMax } } = this.#context;
    const onLog = () => this.#context.onLog(this.#execution.id);
    return this.#log = new PreparationLog(this.#folder.preparationLog, { clock, bytesMax, onLog });
  }

  #setupContext(log: PreparationLog): SetupContext {
    const { store, clock, remote, openOutput, checkout, secrets } = this.#context;
    const underWay = this.#begin();
    const { signal } = underWay;
    const logEvent = (message: string) => log.logEvent(message);
    return {
      sources: { store, clock, remote, openOutput, signal, logEvent },
      secrets,
      checkout: (...args) =>
        checkout(...args).catch((error) => {
          // Without its code, the execution does not need its inputs.
          underWay.abort();
          throw error;
        }),
    };
  }
}
