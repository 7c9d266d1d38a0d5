/**
 * The interface of an engine. The service stores an execution and submits it to the engine of its project.
 * From then on the engine keeps the record true, until the execution has ended.
 *
 * @module
 */
import type { z } from "zod";
import type { ArtifactStore } from "../artifacts/store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Execution } from "../store/records/executions.ts";
import type { JobCode } from "../projects/code/job_code.ts";
import type { EngineSettings, Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import type { AgentAddress } from "./remote/agent.ts";
import type { JobDesk } from "./remote/desk.ts";

/** A kind of engine. */
export interface EngineKind {
  /** Loads the schema of its settings in a project, in which `type` is a literal. */
  settings(): Promise<z.ZodObject>;
  /** Loads what makes the engine. */
  maker(): Promise<(parts: EngineParts) => Engine>;
  /** Returns what a step asks for and this engine cannot give, each as the rest of a sentence. */
  refuses?(settings: EngineSettings, step: StepNeeds): string[];
  /** Returns which keys of steps change nothing with these settings, each as a sentence without a full stop. */
  leavesOut?(settings: EngineSettings): string[];
  /** True when it keeps logs and outputs in the data folder. Launches need room there then. */
  keepsFiles: boolean;
}

/** The part of a step that not every engine can give. */
export interface StepNeeds {
  resources?: Execution["resources"] | undefined;
  mounts?: Execution["mounts"] | undefined;
}

/** The secrets of projects that steps name. */
export interface SecretsOfSteps {
  /**
   * Reads the secrets of an execution that is prepared, by name, and keeps them for {@linkcode given}.
   *
   * @throws {ActionError} with every reason for which it does not get one
   */
  give(execution: Execution): Promise<ReadonlyMap<string, string>>;
  /** Returns what an execution that has not ended was given last. */
  given(execution: Execution): Promise<readonly string[]>;
}

/** The parts of the service that engines use. */
export interface EnginesOptions {
  store: Store;
  /** The service's data folder. */
  dataFolder: string;
  /** False where nothing is written there: files of jobs are in memory and in the artifact store. Default true. */
  hasDisk?: boolean;
  /** The most executions that run at once on the service's own machine. Default: one a processor. */
  executionsMax?: number;
  /** The code of projects. */
  projects: {
    /** Writes the files of a commit into a new folder. */
    checkout(projectName: string, commit: string, destination: string): Promise<void>;
    /** Returns the code that a job fetches itself; undefined where it gets the files of the commit. */
    jobCode?(projectName: string, commit: string): Promise<JobCode | undefined>;
    /** Returns false for a repository that was never fetched on this machine. */
    isKept?(project: Project): Promise<boolean>;
    /** Tells whether a commit can be read without a fetch. */
    hasCommit?(project: Project, commit: string): Promise<boolean>;
    fetch?(project: Project): Promise<unknown>;
  };
  /** Returns false while the disk has no room for the files of more executions of other instances. */
  hasRoom?(): boolean;
  /** Absent where no step has secrets. */
  secrets?: SecretsOfSteps;
  clock: Clock;
  /** Keeps outputs and logs of engines that do not keep them themselves. */
  artifacts: ArtifactStore;
  /** The address at which jobs reach the service; absent when there is none. */
  agent?: AgentAddress;
  /** Called after each change of an execution's record is stored. */
  onChange?: (execution: Execution) => void;
}

/** The parts that an engine is made of. */
export interface EngineParts extends EnginesOptions {
  /** Opens an output of an execution of any engine; undefined when there is none. */
  openOutput(executionId: string, path: string): Promise<EngineOutput | undefined>;
}

/**
 * Runs executions. Nothing outside of an engine's folder knows of its processes, files or clusters.
 *
 * An engine sees its own executions alone: those whose record names its type. A record that has not ended tells
 * in `waiting` why the command does not start, in `machine` where it runs, and in `reachable` that the engine
 * cannot be asked.
 */
export interface Engine {
  /**
   * Takes over this engine's executions of an earlier service: those that run, and those that wait in the
   * database. Executions that are submitted before wait for it. Called again when it fails.
   */
  start(): Promise<void>;
  /**
   * Continues the executions of this machine while another instance leads. It is called before `start`, or never.
   * An engine whose jobs run on a cluster does not need it.
   */
  resume?(): Promise<void>;
  /**
   * Accepts an execution whose record is stored with status `queued`. Returns at once; the execution starts
   * when the engine has room. Submitting an execution again changes nothing.
   */
  submit(execution: Execution): void;
  /**
   * Asks an execution to stop. One that waits ends as `stopped` at once. One that runs is `stopping` until its
   * command has ended.
   *
   * @param reason the reason in its record, as a sentence without a full stop. Default: it was asked to
   * @returns false when the execution has ended, or is unknown
   */
  stop(executionId: string, reason?: string): Promise<boolean>;
  /** Reads a page of an execution's log. */
  log(executionId: string, options?: LogOptions): Promise<LogPage>;
  /**
   * Watches a log. An engine may miss a change, such as one by another instance of the service.
   *
   * @param onGrowth called when the log may have grown, or the execution may have ended
   * @returns ends the watch
   */
  watchLog(executionId: string, onGrowth: () => void): () => void;
  /** Opens an output of an execution; undefined when there is none of this path. */
  output(executionId: string, path: string): Promise<EngineOutput | undefined>;
  /**
   * Returns the machine that has the log and the outputs of an execution; undefined when every instance can read
   * them.
   */
  machineOf?(execution: Execution): string | undefined;
  /** Returns what acts for the agents of its jobs, if it has such. */
  desk?(): Promise<JobDesk>;
  /** Numbers of executions that run and that are known to wait. */
  readonly load: EngineLoad;
  /** True while executions wait that other instances may begin on their machines. */
  readonly wantsRoom?: boolean;
  /** The clusters that do not answer, if it asks any. */
  readonly outages?: readonly Outage[];
  /**
   * Removes files of this machine whose executions are gone, and beside the leader those of ended executions that every
   * instance can read.
   */
  tidy?(): Promise<void>;
  /**
   * Removes everything of an ended execution but its record.
   *
   * @param part what is removed alone
   * @throws {ConflictError} when it has not ended
   */
  forget(executionId: string, part?: "log" | "outputs"): Promise<void>;
  /**
   * Starts no more executions. Those that run may end within `deadline_ms` milliseconds. The others go on by
   * themselves, and the next start takes them over.
   */
  close(deadline_ms: number): Promise<void>;
}

/** The load of an engine. */
export interface EngineLoad {
  running: number;
  waiting: number;
}

/** A cluster, or an engine, that does not answer. */
export interface Outage {
  /** The time of the first question without an answer, RFC 3339. */
  since: string;
  /** The reason of the latest failure. */
  detail: string;
  /** The projects whose executions run there. */
  projects: readonly string[];
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
