/**
 * Composes the parts of a service on its data folder.
 *
 * @module
 */
import type { Reload } from "../config/reload.ts";
import { getLogger } from "@logtape/logtape";
import { systemNetwork } from "../platform/network/connection.ts";
import { AddressRanges } from "../platform/network/ip_ranges.ts";
import type { Clock } from "../platform/clock.ts";
import { newId } from "../platform/ids.ts";
import type { ArtifactStore } from "../artifacts/store.ts";
import { REFUSERS } from "../conditions/kinds.ts";
import { resolveSecret } from "../conditions/secret.ts";
import { Deadlines } from "../platform/waiting/deadlines.ts";
import { ENGINE_TYPES, engineKind, type EngineMakers, Engines } from "../engines/mod.ts";
import { DatabaseDeadline } from "../http/door/database_deadline.ts";
import type { Exposure } from "../http/peer.ts";
import { HttpRequests } from "../http_requests/http_requests.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { NotifierSecrets } from "../notifications/secrets.ts";
import { Metrics } from "../telemetry/metrics.ts";
import type { ProjectCode } from "../projects/project_code.ts";
import { Pipelines } from "../pipelines/pipelines.ts";
import { noteExecutionEnd } from "./execution_end.ts";
import { newWorker } from "./new_worker.ts";
import { noteRequestEnd } from "./http_request_end.ts";
import { newNotifications } from "./notifications.ts";
import type { ServiceHeavyWork } from "./heavy_work.ts";
import { secretsOfSteps } from "./secrets_of_steps.ts";
import { tracePipeline } from "./record_spans.ts";
import type { Runtime, ServiceSpace } from "./runtime.ts";
import { Acceptor } from "../runs/accept.ts";
import { Quotas } from "../runs/quotas.ts";
import type { Worker } from "../runs/worker.ts";
import { RunWork } from "../runs/work_state.ts";
import type { ServiceSettings, Surroundings } from "../config/settings.ts";
import type { HttpRequest } from "../store/records/http_requests.ts";
import { refsKeeper } from "../store/records/project_refs.ts";
import { hasEnded } from "../store/records/executions.ts";
import { getProject } from "../store/records/projects.ts";
import { snapshotRecords } from "../store/records/stored_snapshots.ts";
import type { PendingRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import { ProjectFailures } from "../store/records/project_failures.ts";
import { DeliveryCounts } from "../store/records/delivery_counts.ts";
import { TriggerLog } from "../store/records/trigger_log.ts";
import { KeptRequests } from "../triggers/kept_requests.ts";
import { Listeners } from "../triggers/listeners.ts";
import { Callbacks } from "../triggers/callbacks.ts";
import { TriggerRegistry } from "../triggers/registry.ts";
import { valuesOfRun } from "../triggers/run_values.ts";
import { Replays } from "../triggers/replays.ts";
import { Scheduler } from "../triggers/scheduler.ts";
import { isReference, type SecretBox, tryOpen } from "../triggers/secrets.ts";
import type { CertificateKeeper } from "../acme/keeper.ts";
import type { Backups } from "../backup/scheduled/backups.ts";
import { ProjectSecrets } from "../project_secrets/settings.ts";
import type { StepSecretParts } from "../project_secrets/step_secrets.ts";

const ACTION_TIMEOUT_MS = 15 * 60_000;

const log = getLogger(["hooklaunch"]);

/** The parts of a service. */
export interface Parts {
  settings: ServiceSettings;
  clock: Clock;
  store: Store;
  /** Encrypts stored secrets, and what browsers keep for a login. */
  box: SecretBox;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  deliveryCounts: DeliveryCounts;
  keptRequests: KeptRequests;
  listeners: Listeners;
  projects: ProjectCode;
  projectSecrets: ProjectSecrets;
  projectFailures: ProjectFailures;
  artifacts: ArtifactStore;
  engines: Engines;
  pipelines: Pipelines;
  httpRequests: HttpRequests;
  callbacks: Callbacks;
  notifications: Notifications;
  notifierSecrets: NotifierSecrets;
  worker: Worker;
  runWork: RunWork;
  /** Time limits of actions. */
  deadlines: Deadlines;
  acceptor: Acceptor;
  replays: Replays;
  scheduler: Scheduler;
  databaseDeadline: DatabaseDeadline;
  space: ServiceSpace;
  metrics: Metrics;
  /** Encrypts secrets. */
  secrets: SecretBox;
  /** The keeper of the certificate that the service gets by itself. */
  certificates: CertificateKeeper | undefined;
  /** The scheduled backups; undefined where the settings name none. */
  backups: Backups | undefined;
  exposure: Exposure;
  env: Surroundings["env"];
  closing: AbortController;
  heavyWork: ServiceHeavyWork;
  /** A token that this start has made because there was none. It is shown once. */
  newToken: string | undefined;
  /** Reads anew what the service was started with; set by who has started it. */
  reload: Reload | undefined;
  baseUrl: string;
  /** Returns true while this instance performs runs, replays or requests, which a stop would break off. */
  isWorking(): boolean;
}

interface Opened {
  store: Store;
  secrets: SecretBox;
  metrics: Metrics;
  artifacts: ArtifactStore;
  runtime: Runtime;
  makers: EngineMakers;
}

/**
 * Opens the parts of a service.
 *
 * @throws {ConflictError} when another process has the data folder
 */
export async function openParts(
  settings: ServiceSettings,
  surroundings: Surroundings,
  runtime: Runtime,
): Promise<Parts> {
  const { clock } = surroundings;
  const metrics = new Metrics(REFUSERS, clock.now());
  const artifacts = surroundings.artifacts ?? await runtime.openArtifacts(settings, surroundings);
  const store = await runtime.openStore(settings, {
    id: newId(clock.now()),
    clock,
    artifacts,
    events: {
      onCommit: (changes, duration_ms) => metrics.commit(changes, duration_ms),
      onConflict: (changes) => metrics.conflict(changes),
    },
  });
  try {
    const secrets = await runtime.openSecrets(settings);
    const makers = await runtime.engines();
    const opened = { store, secrets, metrics, artifacts, runtime, makers };
    return partsOn(settings, surroundings, opened);
  } catch (error) {
    await store.close();
    throw error;
  }
}

function partsOn(
  settings: ServiceSettings,
  { clock, env, network = systemNetwork }: Surroundings,
  { store, secrets, metrics, artifacts, runtime, makers }: Opened,
): Parts {
  const closing = new AbortController();
  const heavyWork = runtime.newHeavyWork();
  const triggers = new TriggerRegistry({
    store,
    secrets,
    context: { clock, env, signal: closing.signal, heavyWork },
    payloadBytesMax: settings.payloadBytesMax,
    onChange: (id) => parts.scheduler.changed(id),
  });
  const triggerLog = new TriggerLog(store, clock);
  const projectFailures = new ProjectFailures(store, clock);
  const projects = runtime.newProjects({
    onAttempt: (project, what, error) => projectFailures.note(project, what, error),
    dataFolder: settings.data,
    clock,
    env,
    runConfigJob: (input, options) => heavyWork.run("config_file", input, options),
    network,
    refs: refsKeeper(store),
    projectOf: (name) => getProject(store, name),
    ...(artifacts.isShared && settings.kv !== undefined && {
      sharedSnapshots: { artifacts, records: snapshotRecords(store) },
    }),
  });
  const deliveryCounts = new DeliveryCounts(store, clock);
  const onWorkEnd = (runId: string) => {
    worker.pacer.ended(runId);
    callbacks.workEnded(runId);
    notifications.workEnded(runId);
  };
  const runWork = new RunWork({ store, clock, onEnd: onWorkEnd });
  const notifierSecrets = new NotifierSecrets({ box: secrets, env });
  const notifications = newNotifications(() => ({ ...parts, network, valuesOf }));
  const { engines, pipelines } = newEngines(settings, makers, {
    hasRoom: () => !space.isShort && !space.isShortForFiles,
    notifications,
    deliveryCounts,
    runWork,
    store,
    clock,
    projects,
    metrics,
    artifacts,
    triggers,
    triggerLog,
    box: secrets,
    env,
  });
  const deadlines = new Deadlines(ACTION_TIMEOUT_MS);
  const baseUrl = () => parts.baseUrl;
  const valuesOf = (of: Pick<PendingRun, "run" | "body">) =>
    valuesOfRun({ store, triggers, heavyWork, baseUrl }, of);
  const onRequestEnd = (request: HttpRequest) => {
    noteRequestEnd(request, { metrics, triggerLog, deliveryCounts, runWork });
    notifications.wake();
  };
  const httpRequests = new HttpRequests(() => ({
    store,
    clock,
    network,
    id: worker.id,
    valuesOf,
    reveal: (secret, triggerId) =>
      isReference(secret) ? resolveSecret(secret, env) : tryOpen(secret, secrets, triggerId),
    onEnd: onRequestEnd,
  }));
  const callbacks = new Callbacks(() => ({
    store,
    clock,
    runWork,
    valuesOf,
    begin: (id) => httpRequests.begin(id),
    onRefused: onRequestEnd,
  }));
  const services = {
    deadlines,
    projects,
    engines,
    pipelines,
    httpRequests,
    store,
    clock,
    valuesOf,
    baseUrl,
  };
  const telling = { triggers, triggerLog, metrics, deliveryCounts, callbacks, notifications };
  const worker = newWorker(services, settings, telling);
  const space = runtime.newSpace(settings);
  const keptRequests = new KeptRequests({ store, secrets, clock, space });
  const keepsFiles = async (triggerId: string) => {
    const name = (await triggers.prepared(triggerId))?.trigger.project ?? "";
    return await keepsFilesHere(store, name);
  };
  const acceptor = new Acceptor({
    ...{ store, clock, worker, space, quotas: new Quotas(store, clock), keepsFiles },
    onPaceProblem: ({ id: run_id, trigger_id: id, project }, problem) =>
      triggerLog.add({ id, project }, { kind: "pace_incomplete", run_id, ...problem }),
  });
  const launching = { store, clock, triggers, acceptor, baseUrl };
  const parts: Parts = {
    settings,
    clock,
    store,
    box: secrets,
    triggers,
    triggerLog,
    deliveryCounts,
    keptRequests,
    listeners: new Listeners(clock),
    projects,
    projectSecrets: new ProjectSecrets({ box: secrets, env }),
    projectFailures,
    artifacts,
    engines,
    pipelines,
    httpRequests,
    callbacks,
    notifications,
    notifierSecrets,
    worker,
    runWork,
    deadlines,
    acceptor,
    replays: new Replays({ ...launching, keptRequests }),
    scheduler: new Scheduler({ ...launching, metrics, deliveryCounts }),
    databaseDeadline: new DatabaseDeadline(),
    space,
    metrics,
    secrets,
    certificates: undefined,
    backups: undefined,
    exposure: {
      tls: settings.tls !== undefined || settings.acme !== undefined,
      dev: settings.dev,
      trustedProxies: new AddressRanges(settings.trustedProxies),
    },
    env,
    closing,
    heavyWork,
    newToken: undefined,
    reload: undefined,
    baseUrl: "",
    isWorking: () =>
      worker.backlog > 0 || httpRequests.isSending || notifications.isSending ||
      parts.scheduler.isBusy || parts.replays.isRunning || parts.backups?.isWorking === true,
  };
  return parts;
}

/** Makes the engines and the pipelines, which notify each other of executions' states. */
function newEngines(
  { data: dataFolder, executionsMax, agent }: ServiceSettings,
  makers: EngineMakers,
  { metrics, notifications, deliveryCounts, triggers, triggerLog, runWork, box, env, ...parts }:
    & Pick<StepSecretParts, "box" | "env">
    & { hasRoom(): boolean }
    & Pick<
      Parts,
      | "store"
      | "clock"
      | "projects"
      | "artifacts"
      | "metrics"
      | "deliveryCounts"
      | "triggers"
      | "triggerLog"
      | "runWork"
      | "notifications"
    >,
): Pick<Parts, "engines" | "pipelines"> {
  const engines = new Engines(makers, {
    ...parts,
    dataFolder,
    executionsMax,
    secrets: secretsOfSteps({ ...parts, box, env }),
    ...(agent && { agent }),
    onChange(execution) {
      noteExecutionEnd(execution, { metrics, triggers, triggerLog, deliveryCounts });
      pipelines.changed(execution);
      runWork.changed(execution);
      if (hasEnded(execution.status)) notifications.wake();
    },
  });
  const pipelines = new Pipelines({
    ...parts,
    engines,
    onEnd(pipeline) {
      metrics.pipeline(pipeline);
      tracePipeline(pipeline);
      if (pipeline.status === "error") deliveryCounts.note(pipeline.trigger_id, "pipeline_error");
      runWork.changed(pipeline);
      notifications.wake();
    },
  });
  return { engines, pipelines };
}

/** Returns true when the executions of a project keep their files on this machine, or nobody knows. */
async function keepsFilesHere(store: Store, projectName: string): Promise<boolean> {
  const type = (await getProject(store, projectName))?.engine.type;
  return type === undefined || !ENGINE_TYPES.includes(type) || engineKind(type).keepsFiles;
}

/** Closes the parts of a service. Work under way may end until the deadline. */
export async function closeParts(
  parts: Parts,
  deadline_ms: number,
  lastly: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { closing, worker, deadlines, engines, pipelines, httpRequests, projects } = parts;
  const { heavyWork, triggerLog, space, store, clock } = parts;
  closing.abort();
  const until_ms = clock.steady() + deadline_ms;
  parts.databaseDeadline[Symbol.dispose]();
  await parts.replays.close();
  await parts.scheduler.close();
  await worker.close(deadline_ms);
  deadlines[Symbol.dispose]();
  await parts.callbacks.close();
  await httpRequests.close(Math.max(0, until_ms - clock.steady()));
  await engines.close(Math.max(0, until_ms - clock.steady()));
  await pipelines.close();
  await parts.notifications.close(Math.max(0, until_ms - clock.steady()));
  await projects.close();
  await parts.backups?.close(Math.max(0, until_ms - clock.steady()));
  await parts.projectFailures.settled();
  heavyWork[Symbol.dispose]();
  parts.listeners[Symbol.dispose]();
  await parts.keptRequests.close();
  await triggerLog.close()
    .catch((error) => log.error("Cannot write the last of the trigger log: {error}", { error }));
  await parts.deliveryCounts.close()
    .catch((error) => log.warn("Cannot write the last counts of deliveries: {error}", { error }));
  await space.close();
  await lastly();
  await store.close();
  parts.artifacts[Symbol.dispose]();
}
