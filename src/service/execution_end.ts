/**
 * The report of an execution that has ended.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import { type Execution, hasEnded } from "../store/records/executions.ts";
import type { TriggerLog } from "../store/records/trigger_log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { inTrace } from "../telemetry/spans.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { traceExecution } from "./record_spans.ts";

const log = getLogger(["hooklaunch"]);

/** The parts of a service that tell of it. */
interface EndParts {
  metrics: Metrics;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  deliveryCounts: DeliveryCounts;
}

/**
 * Notes that an execution has ended: in the metrics, the traces, the log, and that of its trigger where it
 * failed. Before its end, only the metrics hear of it.
 */
export function noteExecutionEnd(
  execution: Execution,
  { metrics, triggers, triggerLog, deliveryCounts }: EndParts,
): void {
  const { id: execution_id, run_id, trigger_id, project, step, status, reason = "" } = execution;
  metrics.execution(execution);
  if (!hasEnded(status)) return;
  traceExecution(execution);
  inTrace(execution.traceparent, () => logEnd(execution, triggers));
  if (status !== "error") return;
  deliveryCounts.note(trigger_id, "execution_error");
  const owner = { id: trigger_id, project };
  triggerLog.add(owner, { kind: "execution_failed", run_id, execution_id, step, status, reason });
}

async function logEnd(execution: Execution, triggers: TriggerRegistry): Promise<void> {
  const { id, run_id, pipeline_id, project, step, status, exit_code, reason } = execution;
  const details = { execution_id: id, run_id, pipeline_id, project, step, status, exit_code };
  if (status !== "error") {
    log.info("Execution {execution_id} of step {step} ended: {status}", details);
    return;
  }
  const labels = await triggers.labelsOf(execution.trigger_id).catch(() => undefined);
  log.warn("Execution {execution_id} of step {step} of trigger {trigger} failed: {reason}", {
    ...details,
    trigger: labels?.name ?? execution.trigger_id,
    reason,
  });
}
