/**
 * The values that metrics show as they are.
 *
 * @module
 */
import type { GaugedBackup } from "./backup_metrics.ts";
import type { RunReads } from "./run_times.ts";
import type { LabelsOf } from "./trigger_counts.ts";

/** Values that are read when the metrics are asked for, instead of being counted. */
export interface Gauged {
  /** Returns true where a launch could be accepted now. */
  isReady(): Promise<boolean>;
  /** The codes of what fails of the service, its instances, engines, projects and notifiers. */
  causes(): Promise<string[]>;
  /** Runs that have work before them. */
  backlog(): number;
  waiting(): number;
  /** Executions of this machine. */
  executions(): { running: number; waiting: number };
  /** Refused requests that are kept, and the bytes that count for them. */
  kept(): { requests: number; bytes: number };
  /** Returns false after a request to the artifact store has failed, until one succeeds. */
  artifactStoreWorks(): boolean;
  /** Bytes of the database's files. */
  storeBytes(): Promise<number>;
  /** Bytes that the process has in memory. */
  memoryBytes(): number;
  /** The scheduled backups; undefined where there are none. */
  backup(): Promise<GaugedBackup | undefined>;
  /** The certificate that the service gets by itself: when it ends, and when an order last failed. */
  certificate(): { until_ms: number | undefined; failed_ms: number | undefined } | undefined;
  /** Instances that share the database; 0 with a database of its own. */
  instances(): number;
  triggerLabels: LabelsOf;
  runs: RunReads;
}
