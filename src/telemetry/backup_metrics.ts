/**
 * The metrics of scheduled backups.
 *
 * @module
 */
import { Counter, type Registry } from "./prometheus.ts";

const JOBS = ["make", "prove"] as const;

/** The state of scheduled backups. */
export interface GaugedBackup {
  /** The time from one to the next. */
  every_ms: number;
  last?: { made_at: string; size: number };
  proof?: { proven_at: string };
}

/** Counts the jobs of scheduled backups, and shows how old the last ones are. */
export class BackupMetrics {
  readonly #jobs: InstanceType<typeof Counter<"job" | "outcome">>;

  constructor(registry: InstanceType<typeof Registry>) {
    this.#jobs = new Counter({
      name: "hooklaunch_backup_jobs_total",
      help: "Scheduled backups that were made (make), and restored and checked (prove), by outcome",
      labelNames: ["job", "outcome"],
      registers: [registry],
    });
    for (const job of JOBS) {
      for (const outcome of ["succeeded", "failed"]) this.#jobs.inc({ job, outcome }, 0);
    }
  }

  /** Counts a job that has ended. */
  jobEnded(job: typeof JOBS[number], isGood: boolean): void {
    this.#jobs.inc({ job, outcome: isGood ? "succeeded" : "failed" });
  }

  /** Adds the gauges. */
  watch(
    read: () => Promise<GaugedBackup | undefined>,
    gauge: (name: string, help: string, look: () => Promise<number>) => void,
  ): void {
    gauge(
      "hooklaunch_backup_interval_seconds",
      "Time from one scheduled backup to the next; 0 where there are none",
      async () => ((await read())?.every_ms ?? 0) / 1_000,
    );
    gauge(
      "hooklaunch_backup_last_timestamp_seconds",
      "Time of the last scheduled backup; 0 when there is none",
      async () => secondsOf((await read())?.last?.made_at),
    );
    gauge(
      "hooklaunch_backup_proof_timestamp_seconds",
      "Time at which a scheduled backup was last restored and checked; 0 when none was",
      async () => secondsOf((await read())?.proof?.proven_at),
    );
    gauge(
      "hooklaunch_backup_size_bytes",
      "Size of the last scheduled backup; 0 when there is none",
      async () => (await read())?.last?.size ?? 0,
    );
  }
}

function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time) / 1_000;
}
