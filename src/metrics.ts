/**
 * What the service counts and measures, for Prometheus: `GET /metrics` shows it as text.
 *
 * @module
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ExecutionStatus } from "./store/executions.ts";
import type { RunStatus } from "./store/runs.ts";

/** Seconds, from a commit of a fast disk to a request that waits for a slow one. */
const LATENCY_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds, from a step that does nothing to a day's training. */
const DURATION_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 28_800, 86_400];
const BATCH = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** What is looked up when somebody asks, instead of being counted all the time. */
export interface Gauged {
  /** Runs that have work before them. */
  backlog(): number;
  /** Executions of this machine. */
  executions(): { running: number; waiting: number };
  /** Bytes of the database's files. */
  storeBytes(): Promise<number>;
  /** Bytes that the process has in memory. */
  memoryBytes(): number;
}

/** The metrics of one service. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #launches = this.#add(
    new Counter({
      name: "hooklaunch_launches_total",
      help: "Requests at launch URLs, by what became of them and the condition that refused them",
      labelNames: ["outcome", "condition"],
      registers: [],
    }),
  );
  readonly #answered = this.#add(
    new Histogram({
      name: "hooklaunch_launch_seconds",
      help: "From a launch's arrival to its answer, by what became of it",
      labelNames: ["outcome"],
      buckets: LATENCY_S,
      registers: [],
    }),
  );
  readonly #batch = this.#add(
    new Histogram({
      name: "hooklaunch_commit_changes",
      help: "Changes that went into one commit of the database together",
      buckets: BATCH,
      registers: [],
    }),
  );
  readonly #commit = this.#add(
    new Histogram({
      name: "hooklaunch_commit_seconds",
      help: "How long a commit of the database took",
      buckets: LATENCY_S,
      registers: [],
    }),
  );
  readonly #runs = this.#add(
    new Histogram({
      name: "hooklaunch_run_seconds",
      help: "From a run's acceptance to its end, by how it ended",
      labelNames: ["status"],
      buckets: DURATION_S,
      registers: [],
    }),
  );
  readonly #executions = this.#add(
    new Histogram({
      name: "hooklaunch_execution_seconds",
      help: "From an execution's start to its end, by how it ended",
      labelNames: ["status"],
      buckets: DURATION_S,
      registers: [],
    }),
  );

  constructor(gauged: Gauged) {
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
    this.#gauge("hooklaunch_store_bytes", "Bytes of the database's files", gauged.storeBytes);
    this.#gauge("hooklaunch_memory_bytes", "Bytes of the process in memory", gauged.memoryBytes);
  }

  /** Counts a launch: what became of it, and how many milliseconds that took. */
  launch(outcome: string, duration_ms: number): void {
    if (outcome !== "refused") this.#launches.inc({ outcome, condition: "" });
    this.#answered.observe({ outcome }, duration_ms / 1_000);
  }

  /** Counts a launch that a condition refused. */
  refused(condition: string): void {
    this.#launches.inc({ outcome: "refused", condition });
  }

  /** Counts a commit. */
  commit(changes: number, duration_ms: number): void {
    this.#batch.observe(changes);
    this.#commit.observe(duration_ms / 1_000);
  }

  /** Counts a run that has ended. */
  run(status: RunStatus, duration_ms: number): void {
    this.#runs.observe({ status }, duration_ms / 1_000);
  }

  /** Counts an execution that has ended. */
  execution(status: ExecutionStatus, duration_s: number): void {
    this.#executions.observe({ status }, duration_s);
  }

  /** All of it in Prometheus' text format, and the content type of that. */
  async text(): Promise<{ body: string; contentType: string }> {
    return { body: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #add<T extends Counter | Histogram>(metric: T): T {
    this.#registry.registerMetric(metric);
    return metric;
  }

  #gauge(name: string, help: string, look: () => number | Promise<number>): void {
    const gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        gauge.set(await look());
      },
    });
  }
}
