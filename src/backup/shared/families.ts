/**
 * The kinds of records of a shared database, as a backup reads them: which belong to running processes alone, which
 * are configuration, and which are changed together. The first part of a key is its kind.
 *
 * @module
 */

/** Kinds of records by which running instances find each other. A restored database has other instances. */
export const OF_INSTANCES: ReadonlySet<string> = new Set([
  "instance",
  "lane",
  "claimed",
  "pace_mark",
  // It would be of another moment than the replay, which writes it again as it goes on.
  "pending_replay",
  "relay_request",
  "relay_answer",
  "relay_part",
]);

/** The same, of the kind `meta`. */
export const META_OF_INSTANCES: ReadonlySet<string> = new Set([
  "owner",
  "owner_sign",
  "backup_mark",
]);

/** Kinds that operators change, several records in one commit. They are few, and seldom change. */
export const CONFIGURATION = [
  "meta",
  "token",
  "person",
  "passkey",
  "project",
  "trigger",
  "trigger_name",
  "trigger_likeness",
  "former_trigger",
  "former_name",
  "pending_schedule",
  "dismissal",
  "notifier",
] as const;

/** Kinds that list or hold parts of runs, with the place of the run's id in their keys. */
export const OF_RUNS: readonly [kind: string, place: number][] = [
  ["trigger_run", 2],
  ["sent_id", 2],
  ["replay_of", 2],
  ["payload", 1],
];

/** A kind of work, and the kinds of the records that are changed with it. All of them have its id. */
export interface WorkKind {
  kind: string;
  /** Lists the work that has not ended. */
  open: string;
  /** Kinds with one record at most. */
  beside: readonly string[];
  /** Kinds with several records. */
  lists: readonly string[];
}

/** The kinds of work. What launches other work comes before what it launches. */
export const WORK: readonly WorkKind[] = [
  { kind: "pipeline", open: "pipeline_open", beside: [], lists: ["pipeline_plan"] },
  {
    kind: "http_request",
    open: "http_request_open",
    beside: [],
    lists: ["http_request_plan", "http_answer"],
  },
  {
    kind: "execution",
    open: "execution_open",
    beside: ["execution_retry", "job"],
    lists: ["given_secrets", "job_log", "job_output"],
  },
  { kind: "notification", open: "notification_open", beside: [], lists: [] },
];
