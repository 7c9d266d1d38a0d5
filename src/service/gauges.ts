/**
 * The values that metrics show as they are when they are asked for.
 *
 * @module
 */
import { serviceCauses } from "../attention/service_causes.ts";
import { runReads } from "../runs/work_state.ts";
import type { Parts } from "./composition.ts";

/** Shows the parts of a service in its metrics. */
export function watchParts(
  parts: Parts,
  { databaseBytes, isReady }: {
    databaseBytes: () => Promise<number>;
    isReady: () => Promise<boolean>;
  },
): void {
  const { worker, engines, keptRequests, artifacts, store, triggers } = parts;
  parts.metrics.watch({
    isReady,
    causes: async () => (await serviceCauses(parts)).map(({ code }) => code),
    backlog: () => worker.backlog,
    waiting: () => worker.pacer.waiting,
    executions: () => engines.load,
    kept: () => keptRequests.size,
    artifactStoreWorks: () => artifacts.failure === undefined,
    storeBytes: databaseBytes,
    certificate: () => parts.certificates,
    backup: async () => {
      const { backups } = parts;
      return backups && { ...await backups.state(), every_ms: backups.settings.every_ms };
    },
    instances: () => store.shared?.instances.all.length ?? 0,
    memoryBytes: () => Deno.memoryUsage().rss,
    triggerLabels: (id) => triggers.labelsOf(id),
    runs: runReads(store),
  });
}
