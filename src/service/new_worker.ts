/**
 * The worker of a service: it performs the actions of runs, and what it tells of their ends.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { canPerformAnywhere } from "../actions/anywhere.ts";
import type { ActionServices } from "../actions/mod.ts";
import type { ServiceSettings } from "../config/settings.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { Worker } from "../runs/worker.ts";
import type { Run } from "../store/records/runs.ts";
import type { TriggerLog } from "../store/records/trigger_log.ts";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Callbacks } from "../triggers/callbacks.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { traceRuns } from "./record_spans.ts";

const log = getLogger(["hooklaunch"]);

/** The parts of a service that hear of the ends of runs. */
interface WorkerSurroundings {
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  metrics: Metrics;
  deliveryCounts: DeliveryCounts;
  callbacks: Callbacks;
  notifications: Pick<Notifications, "runEnded">;
}

/** Makes the worker, which performs the actions of runs. */
export function newWorker(
  services: ActionServices,
  { paceLimits, performs }: Pick<ServiceSettings, "paceLimits" | "performs">,
  { triggers, triggerLog, metrics, deliveryCounts, callbacks, notifications }: WorkerSurroundings,
): Worker {
  const { store, clock } = services;
  // One without a machine may be stopped whenever it is idle.
  const isSteady = performs !== false && store.shared?.machineId !== store.shared?.id;
  return new Worker({
    store,
    clock,
    // The leader sends callbacks, and sets the statuses of commits.
    canPerform: ({ run, actions }) =>
      isSteady && run.callback === undefined && store.tellsStatus?.(run) !== true &&
      canPerformAnywhere(actions),
    paceLimits,
    onPaceFull: (limit) => metrics.paceFull(limit),
    perform: traceRuns(
      async (id) => (await triggers.prepared(id))?.trigger.name,
      async (waiting, signal) => {
        const { performActions } = await import("../actions/mod.ts");
        return await performActions(waiting, services, signal);
      },
    ),
    onEnd(run) {
      metrics.run(run);
      callbacks.runEnded(run);
      if (run.status !== "completed") deliveryCounts.note(run.trigger_id, "run_error");
      logFailures(triggerLog, run);
      notifications.runEnded(run);
      const { id: run_id, project, status } = run;
      log.debug("Run {run_id} ended: {status}", { run_id, project, status });
    },
  });
}

/** Writes why actions of a run failed into its trigger's log. */
function logFailures(triggerLog: TriggerLog, run: Run): void {
  const { id: run_id, project } = run;
  const owner = { id: run.trigger_id, project };
  for (const [action_index, { action, error }] of run.actions.entries()) {
    if (error === undefined) continue;
    log.warn("Run {run_id}: {action} failed: {error}", { run_id, project, action, error });
    triggerLog.add(owner, { kind: "action_failed", run_id, action, action_index, error });
  }
}
