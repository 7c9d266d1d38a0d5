/**
 * What an engine is: the thing that executes. The service stores an execution, hands it to the engine
 * of its project, and from then on the engine keeps the record true until the execution has ended.
 *
 * @module
 */
import type { Execution } from "../store/records/executions.ts";

/** Executes. An engine is one folder here; nothing outside of it knows how it does its work. */
export interface Engine {
  /**
   * Takes over what an earlier service has left: what ran, and what waits in the database. Executions
   * that are handed over before wait for it.
   */
  start(): Promise<void>;
  /**
   * Takes on an execution whose record is stored with status `queued`. Returns at once; the engine
   * starts it when it has room. Handing the same execution over again changes nothing.
   */
  submit(execution: Execution): void;
  /**
   * Asks an execution to stop: one that waits ends as `stopped` at once, one that runs is
   * `stopping` until its command has ended.
   *
   * @param reason the one that its record gives, as a sentence without a full stop; that it was asked to
   * when absent
   * @returns false when it had ended already, or is not known
   */
  stop(executionId: string, reason?: string): Promise<boolean>;
  /** Lines of an execution's log, and where to read on. */
  log(executionId: string, options?: LogOptions): Promise<LogPage>;
  /** Opens a file that an execution has left in its outputs, or undefined when there is none. */
  output(executionId: string, path: string): Promise<Deno.FsFile | undefined>;
  /** How many executions run, and how many are known to wait. */
  readonly load: EngineLoad;
  /**
   * Removes everything that is kept of an ended execution but its record.
   *
   * @throws {ConflictError} when it has not ended
   */
  forget(executionId: string): Promise<void>;
  /**
   * Starts nothing more. Running executions may end until `deadline_ms` milliseconds have passed;
   * those that have not are left to themselves and found again at the next start.
   */
  close(deadline_ms: number): Promise<void>;
}

/** How much an engine has to do. */
export interface EngineLoad {
  running: number;
  waiting: number;
}

/** Which part of a log to read. */
export interface LogOptions {
  /** The byte offset to read on from, as `next` of the page before. Default 0. */
  after?: number;
  /** At most so many lines. Default 1,000. */
  limit?: number;
}

/** Some lines of a log. */
export interface LogPage {
  lines: LogLine[];
  /** Where to read on. */
  next: number;
}

/** One line of what an execution printed. */
export interface LogLine {
  /** When it was read, RFC 3339. */
  time: string;
  /** `event` lines come from Hooklaunch itself. */
  stream: "stdout" | "stderr" | "event";
  message: string;
}
