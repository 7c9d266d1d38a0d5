/**
 * The gauges of a service that does nothing.
 *
 * @module
 */
import type { GaugedBackup } from "../../src/telemetry/backup_metrics.ts";
import type { Metrics } from "../../src/telemetry/metrics.ts";

/** Adds the gauges of a service that does nothing. */
export function watchNothing(
  metrics: Metrics,
  triggerLabels: (id: string) => Promise<{ name: string; project: string } | undefined>,
  causes: () => Promise<string[]> = () => Promise.resolve([]),
  backup: () => Promise<GaugedBackup | undefined> = () => Promise.resolve(undefined),
): void {
  metrics.watch({
    isReady: () => Promise.resolve(true),
    causes,
    waiting: () => 0,
    backlog: () => 0,
    executions: () => ({ running: 0, waiting: 0 }),
    kept: () => ({ requests: 0, bytes: 0 }),
    artifactStoreWorks: () => true,
    storeBytes: () => Promise.resolve(0),
    memoryBytes: () => 0,
    certificate: () => undefined,
    backup,
    instances: () => 0,
    runs: { run: () => Promise.resolve(undefined), launchedBy: () => Promise.resolve([]) },
    triggerLabels,
  });
}
