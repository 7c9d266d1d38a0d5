/**
 * What comes before an execution's command, and can be broken off when it is to stop.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import { PreparationLog } from "./inputs/mod.ts";
import type { StoredLine } from "../shared/log_file.ts";
import type { RunContext } from "./run_context.ts";
import type { PrepareContext, WorkFolder } from "./work_folder.ts";

/** The preparation of one execution: of its work folder, and then of its command's start. */
export class Preparation {
  readonly #execution: Execution;
  readonly #context: RunContext;
  readonly #folder: WorkFolder;
  /** Aborts what is being done. */
  #underWay: AbortController | undefined;
  #log: PreparationLog | undefined;
  #isBrokenOff = false;

  constructor(
    execution: Execution,
    { context, folder }: { context: RunContext; folder: WorkFolder },
  ) {
    this.#execution = execution;
    this.#context = context;
    this.#folder = folder;
  }

  /** The log of a work folder that is not made, or could not be. */
  get log(): PreparationLog | undefined {
    return this.#log;
  }

  /** Breaks off what is being done, and what would be done from now on. */
  breakOff(): void {
    this.#isBrokenOff = true;
    this.#underWay?.abort();
  }

  /**
   * Makes the work folder.
   *
   * @param isAgain whether an earlier service may have begun to
   */
  async makeFolder({ isAgain = false } = {}): Promise<void> {
    const log = this.#newLog();
    if (isAgain) await log.keep();
    await this.#folder.prepare(this.#execution, this.#prepareContext(log));
    this.#underWay = this.#log = undefined;
  }

  /** Makes it anew, in place of one that was used, and adds a line to the log. */
  async renewFolder(line: StoredLine): Promise<void> {
    const { logBytesMax } = this.#context.settings;
    const context = this.#prepareContext(this.#newLog());
    await this.#folder.renew(this.#execution, context, { line, logBytesMax });
    this.#underWay = this.#log = undefined;
  }

  /** Does work whose signal is aborted when it is broken off. */
  async do<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const result = await work(this.#begin().signal);
    this.#underWay = undefined;
    return result;
  }

  #begin(): AbortController {
    const underWay = this.#underWay = new AbortController();
    if (this.#isBrokenOff) underWay.abort();
    return underWay;
  }

  #newLog(): PreparationLog {
    const { clock, settings: { logBytesMax: bytesMax } } = this.#context;
    return this.#log = new PreparationLog(this.#folder.preparationLog, { clock, bytesMax });
  }

  #prepareContext(log: PreparationLog): PrepareContext {
    const { store, clock, root, remote, checkout } = this.#context;
    const underWay = this.#begin();
    const { signal } = underWay;
    return {
      store,
      sources: { clock, root, remote, signal, tell: (message) => log.tell(message) },
      checkout: (...args) =>
        checkout(...args).catch((error) => {
          // Without its code, its inputs are of no use.
          underWay.abort();
          throw error;
        }),
    };
  }
}
