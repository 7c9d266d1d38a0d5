/**
 * The interface of an engine, which executes. The service stores an execution, hands it to the engine
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
  /** Opens an output of an execution; undefined when there is none of this path. */
  output(executionId: string, path: string): Promise<EngineOutput | undefined>;
  /** Numbers of executions that run and that are known to wait. */
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

/** The load of an engine. */
export interface EngineLoad {
  running: number;
  waiting: number;
}

/** An open output. Its stream is read to the end, or cancelled. */
export interface EngineOutput {
  /** The length in bytes. */
  size: number;
  stream: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** The part of a log to read. */
export interface LogOptions {
  /** The position to read from, a `next` of an earlier page. Default: the start. */
  after?: string;
  /** The most lines. Default 1,000. */
  limit?: number;
}

/** A page of a log. */
export interface LogPage {
  lines: PositionedLine[];
  /** The position behind the page. Only the engine knows what it means. */
  next: string;
}

/** A line of a log, and the position behind it. */
export interface PositionedLine extends LogLine {
  next: string;
}

/** A line of a log. */
export interface LogLine {
  /** The time at which it was read from the command, RFC 3339. */
  time: string;
  /** Lines of Hooklaunch itself have `event`. */
  stream: "stdout" | "stderr" | "event";
  message: string;
}
