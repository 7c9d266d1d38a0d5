/**
 * The interface of a runner, by which the local engine runs a command, such as a process of the machine.
 * The engine prepares a work folder, keeps the record, takes in what is printed and minds the limits;
 * all that depends on what the command runs in is behind this interface.
 *
 * @module
 */
import type { Execution } from "../../../store/records/executions.ts";
import type { Layout } from "../layout.ts";
import type { WorkFolder } from "../work_folder.ts";

/** One execution, with what a runner needs for it. */
export interface Job {
  readonly execution: Execution;
  readonly folder: WorkFolder;
  /** Limit of stdout that is kept, and of stderr. */
  readonly streamBytesMax: number;
  /** Aborted when what is done with it is not wanted any more. */
  readonly signal: AbortSignal;
  /** Takes in that the runner does not answer, with the reason, or that it does again. */
  onOutage(reason?: string): Promise<void>;
  /** Aborted when it is not to be waited for a runner that does not answer. */
  readonly givenUp: AbortSignal;
  /** Adds a line of Hooklaunch's own to the execution's log. */
  logEvent(message: string): Promise<void>;
}

/** Runs commands. */
export interface Runner {
  readonly layout: Layout;
  /**
   * Starts the command of an execution whose work folder is prepared, once, however often this is called.
   *
   * @throws when it cannot be started, with a message for the owner
   */
  start(job: Job): Promise<CommandHandle>;
  /** Finds out what became of an execution whose record says that it was started. */
  find(job: Job): Promise<Found>;
  /** Ends and removes what is left of an execution that nobody follows, so that it can be started again. */
  clear(job: Job): Promise<void>;
  /** Measures what the execution takes on disk, in MiB. */
  diskUse_mb(job: Job): Promise<number>;
}

/** A running command, started by this service or found again by it. */
export interface CommandHandle {
  /** Resolves when it has ended, where that can be known without asking. */
  readonly over: Promise<unknown>;
  /** True when it did nothing because another one came first. */
  readonly cameSecond: boolean;
  /**
   * Resolves to true when it has ended.
   *
   * @param isDue whether it should have, so that asking is worth its while
   */
  isOver(isDue: boolean): Promise<boolean>;
  /** Sends a signal to the command and all that it has started. */
  signal(signal: "TERM" | "KILL"): Promise<void>;
  /**
   * Kills what a command that has ended has left running. It holds what captures the output, which takes in all
   * that was printed before it ends.
   */
  endRest(): Promise<void>;
  /**
   * Removes what is left of it when it is over.
   *
   * @param exitCode what the command left; undefined when it left none
   */
  settle(exitCode: number | undefined): Promise<Settled>;
  /** Stops waiting for it, so that the service can end before it. */
  release(): void;
}

/** The facts of an end beside its exit code. Reasons are sentences without a full stop. */
export interface Settled {
  /** The cause of the command's end, when it is known. */
  cause?: string;
  /** The reason why an exit code is missing, as far as it is known. */
  lost: string;
  /** True when the exit code only says that it was told to end. */
  isInterrupted?: boolean;
}

/** The state of an execution that an earlier service has started. */
export type Found =
  /** It did not start; it may now. Something that is just starting comes first or second, and is found again then. */
  | { kind: "not_started" }
  /** It has ended, or may have, in an unknown way. */
  | { kind: "lost"; reason: string }
  /** It has started, and may have ended. */
  | { kind: "started"; command: CommandHandle };
