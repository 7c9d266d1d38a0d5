/**
 * Every key of the database, on one page. Ids are UUIDv7, so records under a prefix are listed in the order
 * in which they were made.
 *
 * @module
 */

/**
 * The format of what is stored. What an earlier version has stored is brought up to it when it is opened,
 * by `migrations.ts`; a newer format is refused.
 */
export const FORMAT_VERSION = 8;

/** The advice where the data has a format that this version does not know. */
export const NEWER_FORMAT =
  "a newer version of Hooklaunch has written it. Start that version, or restore " +
  "a backup that was made before the upgrade";

/** The keys, by what they hold. */
export const keys = {
  /** Number: {@linkcode FORMAT_VERSION}. */
  format: (): Deno.KvKey => ["meta", "format"],
  /** `Owner`: the process that has a remote database. */
  owner: (): Deno.KvKey => ["meta", "owner"],
  /** Nothing that is read: it is written where a commit is to show that the owner is alive. */
  ownerSign: (): Deno.KvKey => ["meta", "owner_sign"],
  /** `InstanceRecord`: an instance that shares a remote database. */
  instance: (id: string): Deno.KvKey => ["instance", id],
  /** `GoneInstance`: one that was taken for gone and is not back, by its machine. */
  goneInstance: (machineId: string): Deno.KvKey => ["gone_instance", machineId],
  /** `LaneRecord`: the commits of an instance, those of each lane one after the other. */
  lane: (instanceId: string, index: number): Deno.KvKey => ["lane", instanceId, index],
  /** The newest versionstamp of an instance's runs that others have claimed, or "". */
  claimed: (instanceId: string): Deno.KvKey => ["claimed", instanceId],
  /** The SHA-256 of the configuration that a hosted service has applied last. */
  appliedConfiguration: (): Deno.KvKey => ["meta", "applied_configuration"],
  /** The number of parts of a request to an instance, which another one passes on. */
  relayRequest: (to: string, id: string): Deno.KvKey => ["relay_request", to, id],
  /** The number of parts of the answer to it. */
  relayAnswer: (id: string): Deno.KvKey => ["relay_answer", id],
  /** Bytes: a part of either. */
  relayPart: (
    kind: string,
    id: string,
    index: number,
  ): Deno.KvKey => ["relay_part", kind, id, index],
  /** `TriggerChanges`: each change of a trigger rewrites it. */
  registry: (): Deno.KvKey => ["meta", "registry"],
  /** True: rewritten with each acceptance of a trigger with quotas or deduplication. */
  ledger: (triggerId: string): Deno.KvKey => ["ledger", triggerId],
  /** `SecretBox.fingerprint` of the keys that no trigger was locked with when all were last looked at. */
  noneLocked: (): Deno.KvKey => ["meta", "none_locked"],
  /** `AdminToken`, by the SHA-256 of the token. */
  token: (hash: string): Deno.KvKey => ["token", hash],
  /** The time at which a token was last used, RFC 3339, by the SHA-256 of the token. */
  tokenUsed: (hash: string): Deno.KvKey => ["token_used", hash],
  /** `Session`, by the SHA-256 of its secret. */
  session: (hash: string): Deno.KvKey => ["session", hash],
  /** `LoginProvider[]`. */
  loginProviders: (): Deno.KvKey => ["meta", "login_providers"],
  /** `Person`, by the SHA-256 of issuer and subject. */
  person: (hash: string): Deno.KvKey => ["person", hash],
  /** `Passkey`, by the SHA-256 of its credential's id. */
  passkey: (hash: string): Deno.KvKey => ["passkey", hash],
  /** `DeviceLogin`, by the SHA-256 of its device code. */
  deviceLogin: (hash: string): Deno.KvKey => ["device_login", hash],
  /** True: the braces in the actions of a trigger or a pending run, by its id, were doubled on the way to format 6. */
  textBraces: (id: string): Deno.KvKey => ["meta", "text_braces", id],
  /** `Replay`. */
  replay: (id: string): Deno.KvKey => ["replay", id],
  /** True, for each replay that has not ended. One range finds it and pending runs. */
  runningReplay: (id: string): Deno.KvKey => ["pending_replay", id],
  /** The ids of deliveries that a replay launches again, 1,000 a value. */
  replayRuns: (id: string, index: number): Deno.KvKey => ["replay_runs", id, index],
  /** Text: the encrypted key of the account at a certificate authority, by the URL of its directory. */
  acmeAccount: (directory: string): Deno.KvKey => ["acme_account", directory],
  /** `StoredCertificate`: the one that the service serves. */
  acmeCertificate: (): Deno.KvKey => ["acme", "certificate"],
  /** `OrderFailure`: absent when the last order did not fail. */
  acmeFailure: (): Deno.KvKey => ["acme", "failure"],
  /** Text: the answer to a challenge of a certificate authority, by its token. */
  acmeChallenge: (token: string): Deno.KvKey => ["acme_challenge", token],
  /** `BackupState`: how far scheduled backups are. */
  backupState: (): Deno.KvKey => ["meta", "backup_state"],
  /** The name of the scheduled backup before which it was written: one that holds it is of a later moment. */
  backupSentinel: (): Deno.KvKey => ["meta", "backup_sentinel"],
  /** Written before a shared database is read: what has a later versionstamp was changed since. */
  backupMark: (): Deno.KvKey => ["meta", "backup_mark"],
  /** `AuditEntry`. */
  audit: (id: string): Deno.KvKey => ["audit", id],
  /** `Project`. */
  project: (name: string): Deno.KvKey => ["project", name],
  /** `ProjectFailure` of a fetch, or of the project configuration file. */
  projectFailure: (name: string, what: string): Deno.KvKey => ["project_failure", name, what],
  /** `KeptRefs`: the commits of a repository that no mirror keeps. */
  projectRefs: (name: string): Deno.KvKey => ["project_refs", name],
  /** `StoredSnapshot`, by the project and the hash in its commit. */
  storedSnapshot: (name: string, hash: string): Deno.KvKey => ["stored_snapshot", name, hash],
  /** `StoredTrigger`. */
  trigger: (id: string): Deno.KvKey => ["trigger", id],
  /** `FormerTrigger`: a trigger that was deleted. It stays for good: no other trigger gets its id. */
  formerTrigger: (id: string): Deno.KvKey => ["former_trigger", id],
  /** The time at which a trigger of this name was deleted (RFC 3339). Cleanup removes it after the retention. */
  formerName: (name: string, id: string): Deno.KvKey => ["former_name", name, id],
  /** The trigger's id, by its name. */
  triggerName: (name: string): Deno.KvKey => ["trigger_name", name],
  /** The trigger's id, by the likeness of its name; absent where an earlier version has stored it. */
  triggerLikeness: (likeness: string): Deno.KvKey => ["trigger_likeness", likeness],
  /** `Dismissal`: a warning of the trigger that needs no attention, by the warning's id. */
  dismissal: (triggerId: string, id: string): Deno.KvKey => ["dismissal", triggerId, id],
  /** `ShapeSample` of the trigger's deliveries. */
  shapeSample: (triggerId: string): Deno.KvKey => ["shape_sample", triggerId],
  /** `RateWindow` of one period, in seconds. */
  rate: (triggerId: string, period_s: number): Deno.KvKey => ["rate", triggerId, period_s],
  /** `KnownDelivery`, by the SHA-256 of the sender's id; cleanup removes it when its window is over. */
  delivery: (triggerId: string, hash: string): Deno.KvKey => ["delivery", triggerId, hash],
  /** `EndedRun`. */
  run: (id: string): Deno.KvKey => ["run", id],
  /** Nothing, for each ended run of a trigger. Cleanup removes it before the run. */
  triggerRun: (triggerId: string, runId: string): Deno.KvKey => ["trigger_run", triggerId, runId],
  /** `StoredSchedule[]` of a trigger that is enabled and has schedules. One range finds it and pending runs. */
  schedule: (triggerId: string): Deno.KvKey => ["pending_schedule", triggerId],
  /** `Occurrences` of a trigger's schedules that have made a run. */
  occurrences: (triggerId: string): Deno.KvKey => ["occurrences", triggerId],
  /** `PendingRun`: a run until it has ended. Its trigger is known though the record be damaged. */
  pending: (runId: string, triggerId: string): Deno.KvKey => ["pending", runId, triggerId],
  /** `HeldRun`: a pending run that waits for its turn by the pace of its trigger. */
  held: (runId: string, triggerId: string): Deno.KvKey => ["held", runId, triggerId],
  /** `Burst`, by the SHA-256 of its key: the runs of a trigger that become one, while more may join them. */
  burst: (triggerId: string, hash: string): Deno.KvKey => ["burst", triggerId, hash],
  /** True: rewritten before an instance lists runs that have a pace. */
  paceMark: (instanceId: string): Deno.KvKey => ["pace_mark", instanceId],
  /** `Turn`: a run whose work, until it has ended, takes one of the places of its concurrency key. */
  turn: (runId: string): Deno.KvKey => ["turn", runId],
  /** The id of the trigger of a run that has ended, whose callback is not sent yet. */
  callbackDue: (runId: string): Deno.KvKey => ["callback_due", runId],
  /** The state that was told, for each run whose actions have ended and whose commit has no final status yet. */
  statusDue: (runId: string): Deno.KvKey => ["status_due", runId],
  /** The id of the notification that sets a status of a commit, by the SHA-256 of which one it is. */
  commitStatus: (notifier: string, hash: string): Deno.KvKey => ["commit_status", notifier, hash],
  /** Bytes: one chunk of a payload that does not lie in its run's record. */
  payload: (runId: string, index: number): Deno.KvKey => ["payload", runId, index],
  /** True, while the chunks of a payload are written whose run is not accepted yet. */
  upload: (runId: string): Deno.KvKey => ["upload", runId],
  /** `TriggerLogEntry`. */
  triggerLog: (triggerId: string, entryId: string): Deno.KvKey => [
    "trigger_log",
    triggerId,
    entryId,
  ],
  /** `EntrySummary`, for each entry of a trigger log that is, or counts, deliveries that made no run. */
  deliveryEntry: (entryId: string): Deno.KvKey => ["delivery_entry", entryId],
  /** Nothing, for each run that launched the payload of an earlier delivery again, by that delivery. */
  replayOf: (deliveryId: string, runId: string): Deno.KvKey => ["replay_of", deliveryId, runId],
  /** `KeptIndex`: a request that made no run and that is kept, by its entry. Its body has the chunks of a payload. */
  kept: (triggerId: string, entryId: string): Deno.KvKey => ["kept", triggerId, entryId],
  /** Text: the encrypted head of a kept request. */
  keptHead: (entryId: string): Deno.KvKey => ["kept_head", entryId],
  /** `DeliveryDay`: the numbers of a trigger's deliveries on a day such as 2026-01-31, as an instance counts them. */
  deliveryCount: (day: string, triggerId: string, instanceId: string): Deno.KvKey => [
    "delivery_count",
    day,
    triggerId,
    instanceId,
  ],
  /** Nothing, for each ended run and each entry with a sender's id, by the SHA-256 of that id. */
  sentId: (hash: string, id: string): Deno.KvKey => ["sent_id", hash, id],
  /** `Execution`. */
  execution: (id: string): Deno.KvKey => ["execution", id],
  /** The status, for each execution that has not ended. */
  executionOpen: (id: string): Deno.KvKey => ["execution_open", id],
  /** True, for each execution that another instance than the leader has begun, until the leader has seen its end. */
  executionClaimed: (id: string): Deno.KvKey => ["execution_claimed", id],
  /** The time at which an attempt of an execution begins, for each attempt that waits for it. */
  executionRetry: (attemptId: string): Deno.KvKey => ["execution_retry", attemptId],
  /** Text: a part of the encrypted secrets that an execution was given, until it has ended. */
  givenSecrets: (executionId: string, index: number): Deno.KvKey => [
    "given_secrets",
    executionId,
    index,
  ],
  /** `Job` of an execution on a remote engine. */
  job: (executionId: string): Deno.KvKey => ["job", executionId],
  /** Bytes: a record of a job's log, by its offset in the log. */
  jobLog: (executionId: string, offset: number): Deno.KvKey => ["job_log", executionId, offset],
  /** `OutputFile` that a job has uploaded, by the SHA-256 of its path. */
  jobOutput: (executionId: string, hash: string): Deno.KvKey => ["job_output", executionId, hash],
  /** `Pipeline`. */
  pipeline: (id: string): Deno.KvKey => ["pipeline", id],
  /** True, for each pipeline that has not ended. */
  pipelineOpen: (id: string): Deno.KvKey => ["pipeline_open", id],
  /** Bytes: one chunk of a `PipelinePlan` as JSON. */
  pipelinePlan: (id: string, index: number): Deno.KvKey => ["pipeline_plan", id, index],
  /** `HttpRequest`. */
  httpRequest: (id: string): Deno.KvKey => ["http_request", id],
  /** The id of the instance whose own it is, or true, for each HTTP request that has not ended. */
  httpRequestOpen: (id: string): Deno.KvKey => ["http_request_open", id],
  /** Bytes: one chunk of an `HttpRequestPlan` as JSON. */
  httpRequestPlan: (id: string, index: number): Deno.KvKey => ["http_request_plan", id, index],
  /** Bytes: one chunk of what came back to an HTTP request. */
  httpAnswer: (id: string, part: string, index: number): Deno.KvKey => [
    "http_answer",
    id,
    part,
    index,
  ],
  /** `StoredNotifier`. */
  notifier: (name: string): Deno.KvKey => ["notifier", name],
  /** `NotifierState`: how far a notifier is. */
  notifierState: (name: string): Deno.KvKey => ["notifier_state", name],
  /** `TriggerSilence` by trigger: a part of the silences that a notifier watches. */
  notifierSilences: (name: string, index: number): Deno.KvKey => ["notifier_silences", name, index],
  /** `Notice`: an end of work that notifiers have not looked at yet. */
  notice: (id: string): Deno.KvKey => ["notice", id],
  /** `ToldCause`: a cause that a notifier tells of. */
  toldCause: (notifier: string, id: string): Deno.KvKey => ["told_cause", notifier, id],
  /** `Notification`. */
  notification: (id: string): Deno.KvKey => ["notification", id],
  /** The name of its notifier, for each notification that has not ended. */
  notificationOpen: (id: string): Deno.KvKey => ["notification_open", id],
  /** The id of a complete execution, by a hash of everything that decides what it does. */
  reusable: (project: string, hash: string): Deno.KvKey => ["reusable", project, hash],
};
