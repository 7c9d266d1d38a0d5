/**
 * The metrics of a service, which `GET /metrics` shows in Prometheus' text format.
 *
 * @module
 */
import { systemClock } from "../platform/clock.ts";
import { SharedRead } from "../platform/waiting/shared_read.ts";
import { within } from "../platform/waiting/timers.ts";
import { BackupMetrics } from "./backup_metrics.ts";
import { Counter, Gauge, Histogram, openMetricsOf, Registry } from "./prometheus.ts";
import type { Gauged } from "./gauged.ts";
import { type RunReads, RunTimes, secondsBetween } from "./run_times.ts";
import { type LabelsOf, TriggerCounts } from "./trigger_counts.ts";
import { TriggerTimes } from "./trigger_times.ts";
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from "../store/records/deliveries.ts";
import { type Execution, EXECUTION_STATUSES, hasEnded } from "../store/records/executions.ts";
import { PACE_LIMITS, type PaceLimit } from "../store/records/pace.ts";
import {
  hasHttpRequestEnded,
  HTTP_REQUEST_STATUSES,
  type HttpRequest,
} from "../store/records/http_requests.ts";
import {
  hasNotificationEnded,
  NOTIFICATION_STATUSES,
  type NotificationStatus,
} from "../store/records/notifications.ts";
import { hasPipelineEnded, type Pipeline, PIPELINE_STATUSES } from "../store/records/pipelines.ts";
import { type Run, RUN_STATUSES } from "../store/records/runs.ts";

/** Seconds, from a commit of a fast disk to a request that waits for a slow one. */
const LATENCY_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds, from a step that does nothing to a day's training. */
const DURATION_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 28_800, 86_400];
/** The usual statuses of launches, and those of failures. */
const ANSWER_STATUSES = [200, 400, 500, 503];
/** The time that the database has to answer. */
const ANSWER_MS = 1_000;
const BATCH = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The metrics of one service. */
export class Metrics {
  readonly #registry = new Registry();
  /** The metrics of scheduled backups. */
  readonly backups = new BackupMetrics(this.#registry);
  readonly #launches = new Histogram({
    name: "hooklaunch_launch_seconds",
    help:
      "Time from the arrival of a request at a launch URL to its answer, by the answer's status",
    labelNames: ["status"],
    buckets: LATENCY_S,
    registers: [this.#registry],
  });
  readonly #deliveries = new Counter({
    name: "hooklaunch_deliveries_total",
    help: "Requests at launch URLs, by what came of them",
    labelNames: ["outcome"],
    registers: [this.#registry],
  });
  readonly #refusals = new Counter({
    name: "hooklaunch_refusals_total",
    help: "Requests of senders that a condition refused, by the condition",
    labelNames: ["condition"],
    registers: [this.#registry],
  });
  readonly #paceRefusals = new Counter({
    name: "hooklaunch_waiting_refusals_total",
    help: "Launches that were turned away since too many runs wait for their turn, by the limit",
    labelNames: ["limit"],
    registers: [this.#registry],
  });
  readonly #batch = new Histogram({
    name: "hooklaunch_commit_changes",
    help: "Changes that went into one commit of the database together",
    buckets: BATCH,
    registers: [this.#registry],
  });
  readonly #commit = new Histogram({
    name: "hooklaunch_commit_seconds",
    help: "Duration of a commit of the database",
    buckets: LATENCY_S,
    registers: [this.#registry],
  });
  readonly #conflicts = new Counter({
    name: "hooklaunch_conflicts_total",
    help: "Changes that were decided again, since another instance had changed what they depend on",
    registers: [this.#registry],
  });
  readonly #takeovers = new Counter({
    name: "hooklaunch_takeovers_total",
    help: "Times that this instance has begun to lead",
    registers: [this.#registry],
  });
  readonly #messagesSent = new Counter({
    name: "hooklaunch_queue_messages_sent_total",
    help: "Messages that wake the worker, stored in a commit that accepts launches",
    registers: [this.#registry],
  });
  readonly #messages = new Histogram({
    name: "hooklaunch_queue_delivery_seconds",
    help: "From the sending of a message that wakes the worker to its delivery",
    buckets: LATENCY_S,
    registers: [this.#registry],
  });
  readonly #runs = new Histogram({
    name: "hooklaunch_run_seconds",
    help: "From a run's acceptance to its end, by how it ended",
    labelNames: ["status"],
    buckets: DURATION_S,
    registers: [this.#registry],
  });
  readonly #executions = new Histogram({
    name: "hooklaunch_execution_seconds",
    help: "From an execution's start to its end, by how it ended",
    labelNames: ["status"],
    buckets: DURATION_S,
    registers: [this.#registry],
  });
  readonly #pipelines = new Histogram({
    name: "hooklaunch_pipeline_seconds",
    help: "From a pipeline's launch to its end, by how it ended",
    labelNames: ["status"],
    buckets: DURATION_S,
    registers: [this.#registry],
  });
  readonly #httpRequests = new Counter({
    name: "hooklaunch_http_requests_total",
    help: "HTTP requests of actions that have ended, by how they ended",
    labelNames: ["status"],
    registers: [this.#registry],
  });

  readonly #notifications = new Counter({
    name: "hooklaunch_notifications_total",
    help: "Notifications that have ended, by how they ended",
    labelNames: ["status"],
    registers: [this.#registry],
  });

  readonly #triggerRefusals = this.#byTrigger(
    "hooklaunch_trigger_refusals_total",
    "Requests that a condition refused, by the condition",
    "condition",
  );
  readonly #triggerRuns = this.#byTrigger(
    "hooklaunch_trigger_runs_total",
    "Runs that have ended, by how",
    "status",
  );
  readonly #triggerExecutions = this.#byTrigger(
    "hooklaunch_trigger_executions_total",
    "Executions that have ended, by how",
    "status",
  );
  readonly #runTimes: RunTimes;
  #labelsOf: LabelsOf = () => Promise.resolve(undefined);
  #runReads: RunReads | undefined;

  /**
   * @param refusers the causes of a refusal, each of which has a count from the start
   * @param since_ms the start of the process
   */
  constructor(refusers: readonly string[], since_ms = Date.now()) {
    this.#runTimes = new RunTimes({
      onStart: this.#timesByTrigger(
        "hooklaunch_trigger_start_seconds",
        "From a run's acceptance to the start of each execution of its actions",
      ),
      onEnd: this.#timesByTrigger(
        "hooklaunch_trigger_work_seconds",
        "From a run's acceptance to the end of all that it has launched",
      ),
      reads: () => this.#runReads,
      since_ms,
    });
    // Prometheus sees no rise in a count that is 1 when it first appears, as of the first failure.
    for (const outcome of DELIVERY_OUTCOMES) this.#deliveries.inc({ outcome }, 0);
    for (const limit of PACE_LIMITS) this.#paceRefusals.inc({ limit }, 0);
    for (const condition of refusers) this.#refusals.inc({ condition }, 0);
    for (const status of ANSWER_STATUSES) this.#launches.zero({ status });
    for (const status of RUN_STATUSES) if (status !== "pending") this.#runs.zero({ status });
    for (const status of EXECUTION_STATUSES.filter(hasEnded)) this.#executions.zero({ status });
    for (const status of HTTP_REQUEST_STATUSES.filter(hasHttpRequestEnded)) {
      this.#httpRequests.inc({ status }, 0);
    }
    for (const status of NOTIFICATION_STATUSES.filter(hasNotificationEnded)) {
      this.#notifications.inc({ status }, 0);
    }
    for (const status of PIPELINE_STATUSES.filter(hasPipelineEnded)) {
      this.#pipelines.zero({ status });
    }
  }

  /** Adds the gauges. */
  watch(gauged: Gauged): void {
    this.#labelsOf = lastKnown(gauged.triggerLabels);
    this.#runReads = gauged.runs;
    this.#gauge(
      "hooklaunch_ready",
      "1 when a launch could be accepted now, as /readyz says, else 0",
      async () => await gauged.isReady() ? 1 : 0,
    );
    this.#watchCauses(gauged.causes);
    this.backups.watch(lastKnown(gauged.backup), (...gauge) => this.#gauge(...gauge));
    this.#gauge(
      "hooklaunch_waiting_runs",
      "Accepted runs that wait for their turn: their burst, a time, or a place of their key",
      gauged.waiting,
    );
    this.#gauge("hooklaunch_backlog", "Accepted runs that have work before them", gauged.backlog);
    this.#gauge(
      "hooklaunch_executions_running",
      "Executions that run",
      () => gauged.executions().running,
    );
    this.#gauge(
      "hooklaunch_executions_waiting",
      "Executions that wait for room, as far as they are in memory",
      () => gauged.executions().waiting,
    );
    this.#gauge(
      "hooklaunch_kept_requests",
      "Refused requests that triggers keep",
      () => gauged.kept().requests,
    );
    this.#gauge(
      "hooklaunch_kept_request_bytes",
      "Bytes of refused requests that triggers keep",
      () => gauged.kept().bytes,
    );
    this.#gauge(
      "hooklaunch_artifact_store_up",
      "1 when the last request to the artifact store was answered, 0 when it was not",
      () => gauged.artifactStoreWorks() ? 1 : 0,
    );
    this.#gauge("hooklaunch_store_bytes", "Bytes of the database's files", gauged.storeBytes);
    this.#gauge(
      "hooklaunch_instances",
      "Instances that share the database; 0 when it is in the data folder",
      gauged.instances,
    );
    this.#gauge(
      "hooklaunch_certificate_end_timestamp_seconds",
      "Time at which the certificate of --acme ends; 0 where there is none",
      () => (gauged.certificate()?.until_ms ?? 0) / 1_000,
    );
    this.#gauge(
      "hooklaunch_certificate_failure_timestamp_seconds",
      "Time of the last order of a certificate that failed, or since which none is possible; 0 when the last succeeded",
      () => (gauged.certificate()?.failed_ms ?? 0) / 1_000,
    );
    this.#gauge("hooklaunch_memory_bytes", "Bytes of the process in memory", gauged.memoryBytes);
  }

  /** Counts a request at a launch URL: how it was answered, after how many milliseconds. */
  launch(status: number, duration_ms: number): void {
    this.#launches.observe({ status }, duration_ms / 1_000);
  }

  /** Counts a request at a launch URL by what came of it. */
  delivery(outcome: DeliveryOutcome): void {
    this.#deliveries.inc({ outcome });
  }

  /** Counts a request that was refused. */
  refused(condition: string, trigger: { id: string; project: string }): void {
    this.#refusals.inc({ condition });
    this.#triggerRefusals.inc(trigger, condition);
  }

  /** Counts a launch that was turned away since too many runs wait for their turn. */
  paceFull(limit: PaceLimit): void {
    this.#paceRefusals.inc({ limit });
  }

  /** Counts a commit. */
  commit(changes: number, duration_ms: number): void {
    this.#batch.observe(changes);
    this.#commit.observe(duration_ms / 1_000);
  }

  /** Counts changes that are decided again. */
  conflict(changes: number): void {
    this.#conflicts.inc(changes);
  }

  /** Counts that this instance has begun to lead. */
  leads(): void {
    this.#takeovers.inc(1);
  }

  /** Counts a message that wakes the worker. */
  messageSent(): void {
    this.#messagesSent.inc({});
  }

  /** Counts the delivery of such a message, and how long it took. */
  messageDelivered(delay_ms: number): void {
    this.#messages.observe(delay_ms / 1_000);
  }

  /** Counts a run that has ended. */
  run(run: Run): void {
    const { status, created_at, ended_at = created_at, trigger_id: id, project } = run;
    this.#runTimes.runEnded(run);
    this.#triggerRuns.inc({ id, project }, status);
    this.#runs.observe({ status }, secondsBetween(created_at, ended_at));
  }

  /** Notes the start of an execution, and counts it once it has ended. */
  execution(execution: Execution): void {
    const { status, duration = 0, trigger_id: id, project } = execution;
    this.#runTimes.execution(execution);
    if (!hasEnded(status)) return;
    this.#executions.observe({ status }, duration);
    this.#triggerExecutions.inc({ id, project }, status);
  }

  /** Counts a pipeline that has ended. */
  pipeline(pipeline: Pipeline): void {
    const { status, created_at, ended_at = created_at } = pipeline;
    this.#runTimes.objectEnded(pipeline);
    this.#pipelines.observe({ status }, secondsBetween(created_at, ended_at));
  }

  /** Counts an HTTP request that has ended. */
  httpRequest(request: HttpRequest): void {
    this.#runTimes.objectEnded(request);
    this.#httpRequests.inc({ status: request.status });
  }

  /** Counts a notification that has ended. */
  notification(status: NotificationStatus): void {
    this.#notifications.inc({ status });
  }

  /** Returns all metrics in Prometheus' text format, or in that of OpenMetrics, with its content type. */
  async text(isOpen = false): Promise<{ body: string; contentType: string }> {
    const registry = isOpen ? openMetricsOf(this.#registry) : this.#registry;
    return { body: await registry.metrics(), contentType: registry.contentType };
  }

  #timesByTrigger(name: string, help: string) {
    const labelsOf: LabelsOf = (id) => this.#labelsOf(id);
    const buckets = DURATION_S;
    const times = new TriggerTimes({ name, help, buckets, labelsOf, registers: [this.#registry] });
    return (triggerId: string, seconds: number, traceparent?: string) =>
      void times.observe(triggerId, seconds, traceparent);
  }

  #byTrigger(name: string, help: string, label: string): TriggerCounts {
    const labelsOf: LabelsOf = (id) => this.#labelsOf(id);
    return new TriggerCounts({ name, help, label, labelsOf, registers: [this.#registry] });
  }

  #watchCauses(causes: () => Promise<string[]>): void {
    const known = lastKnown(causes);
    new Gauge({
      name: "hooklaunch_causes",
      help:
        "What fails of the service, its instances, engines, projects, notifiers and schedules, by code",
      labelNames: ["code"],
      registers: [this.#registry],
      async collect() {
        const codes = await known() ?? [];
        this.reset();
        for (const code of codes) this.inc({ code });
      },
    });
  }

  #gauge(name: string, help: string, look: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        this.set(await look());
      },
    });
  }
}

/**
 * Reads from the database. While it does not answer, what was read last is returned, by its key, and one read of that
 * waits for it.
 */
function lastKnown<T>(read: (key: string) => Promise<T>): (key?: string) => Promise<T | undefined> {
  const known = new Map<string, T>();
  const reads = new Map<string, SharedRead<unknown>>();
  return async (key = "") => {
    const shared = reads.get(key) ??
      new SharedRead(async () => known.set(key, await read(key)), systemClock);
    reads.set(key, shared);
    await within(systemClock, ANSWER_MS, shared.run());
    return known.get(key);
  };
}
