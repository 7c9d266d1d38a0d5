/**
 * The record of an execution.
 *
 * @module
 */
import type { Launched } from "./launchers.ts";
import type { EngineSettings } from "./projects.ts";

/** The statuses of an execution. The last three are ends. */
export const EXECUTION_STATUSES = [
  "created",
  "queued",
  "started",
  "stopping",
  "stopped",
  "error",
  "complete",
] as const;

/** The status of an execution. */
export type ExecutionStatus = typeof EXECUTION_STATUSES[number];

/** Returns true for the statuses of an execution that has ended. */
export function hasEnded(status: ExecutionStatus): boolean {
  return status === "stopped" || status === "error" || status === "complete";
}

/** A file that an execution finds in one of its inputs, and where it comes from. */
export type InputFile =
  /** The payload of a run. */
  | { name: string; payload_of: string; size: number; sha256?: string }
  /** An output of an earlier execution. */
  | { name: string; output_of: string; path: string; size: number; sha256: string }
  /** Something to be fetched, or a `datum://` id: see the engine for the schemes it takes. */
  | { name: string; url: string };

/** A file that an execution left behind. */
export interface OutputFile {
  /** Relative to the outputs folder, with `/` between folders. */
  path: string;
  size: number;
  sha256: string;
}

/** Limits of the resources that an execution may use. */
export interface Resources {
  /** Processors, such as 1.5. */
  cpu?: number;
  /** MiB. */
  memory?: number;
  /** Numbers of devices by name, such as `nvidia.com/gpu`. */
  devices?: Record<string, number>;
}

/** Something of the engine's machine that an execution finds at a path. */
export interface Mount {
  /** A folder of the machine, or what else the type demands. */
  source: string;
  /** An absolute path. */
  destination: string;
  readonly?: boolean;
  /** Such as `nfs`; a folder of the machine when absent. */
  type?: string;
  options?: Record<string, unknown>;
}

/** A secret of its project that an execution gets. The value is in no record of it. */
export interface ExecutionSecret {
  /** The name of the secret in its project. */
  name: string;
  /** Set when the variable holds the path of a file with the secret. */
  file?: true;
}

/** The rule by which an execution is tried again. */
export interface Retry {
  /** The most attempts, the first one included. */
  attempts: number;
  /** Seconds between the end of the first attempt and the second one. */
  first: number;
  /** Growth of the pause. */
  factor: number;
  /** The exit codes after which it is tried again; `*` for each end as an error. */
  exit_codes: number[] | "*";
}

/** An attempt, as the record of its execution lists it. */
export interface Attempt {
  /** From 1. */
  attempt: number;
  /** Its id to the engine. */
  execution_id: string;
  status: ExecutionStatus;
  exit_code?: number;
  started_at?: string;
  ended_at?: string;
}

/** The fields of executions that have a `retry`. */
interface AttemptFields {
  retry?: Retry;
  /** The number of the attempt, from 1. */
  attempt?: number;
  /** In the record of an attempt: the id of the execution that was launched. */
  attempt_of?: string;
  /** In the record of an execution that was launched: the id of its last attempt. */
  attempt_id?: string;
  /** In the record of an attempt: those before it. In that of the execution: all. */
  attempts?: Attempt[];
  /** The time at which an attempt begins that waits for it, RFC 3339. */
  retry_at?: string;
}

/** One launch of a step: what is to be executed, and its outcome. */
export interface Execution extends Launched, AttemptFields {
  id: string;
  run_id: string;
  trigger_id: string;
  /** The pipeline that it is a node of, its title, and the node's name. */
  pipeline_id?: string;
  pipeline_title?: string;
  node?: string;
  project: string;
  /** The engine that it runs on, as the project said when it was launched. */
  engine: EngineSettings;
  /** A commit's full hash, or `~` and a hash for the snapshot of a plain folder. */
  commit: string;
  step: string;
  title: string;
  image: string;
  /** The shell script to run, parameters filled in. */
  command: string;
  inputs: Record<string, InputFile[]>;
  parameters: Record<string, unknown>;
  environment_variables: Record<string, string>;
  /** Secrets by the variables that hold them. */
  secrets?: Record<string, ExecutionSecret>;
  resources?: Resources;
  mounts?: Mount[];
  /** Set when the execution is started again if its end is unknown. Otherwise it then ends as an error. */
  rerun?: true;
  /** Seconds after which it is stopped; none when absent. */
  time_limit?: number;
  /** Seconds without a line of output after which it is stopped; none when absent. */
  no_output_timeout?: number;
  /** It is stopped as soon as this holds for its metadata, as the project configuration file says it. */
  stop_condition?: string;
  /** First line of its log, such as the edges of its pipeline that brought no file. */
  note?: string;
  status: ExecutionStatus;
  /** The engine's own reason why its command has not started. */
  waiting?: string;
  /** The machine of the engine that its command runs on. */
  machine?: string;
  /** Set while its engine cannot be asked. That says nothing about the command. */
  reachable?: false;
  /** All times are RFC 3339. */
  created_at: string;
  started_at?: string;
  ended_at?: string;
  /** Seconds between start and end. */
  duration?: number;
  exit_code?: number;
  /** The cause of its end, unless it is complete. */
  reason?: string;
  /** The latest value of each metadata key. */
  metadata: Record<string, unknown>;
  /** The metadata that its action gave it: what it has at its start, and when it is run again. */
  given_metadata?: Record<string, unknown>;
  outputs: OutputFile[];
  /** The time at which their retention has removed its outputs, or its log, RFC 3339. */
  outputs_removed_at?: string;
  log_removed_at?: string;
  /** The trace context of its launch. */
  traceparent?: string;
  /** The engine's data to find it again. */
  engine_state?: Record<string, unknown>;
}
