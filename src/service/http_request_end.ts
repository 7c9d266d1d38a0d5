/**
 * The report of an HTTP request that has ended.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { RunWork } from "../runs/work_state.ts";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import type { HttpRequest } from "../store/records/http_requests.ts";
import type { TriggerLog } from "../store/records/trigger_log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

const log = getLogger(["hooklaunch"]);

/** The parts of a service that tell of it. */
interface EndParts {
  metrics: Metrics;
  triggerLog: TriggerLog;
  deliveryCounts: DeliveryCounts;
  runWork: RunWork;
}

/** Notes that an HTTP request has ended: in the metrics, the log, and that of its trigger. */
export function noteRequestEnd(
  request: HttpRequest,
  { metrics, triggerLog, deliveryCounts, runWork }: EndParts,
): void {
  const { id: http_request_id, run_id, trigger_id, project, url, status, reason = "" } = request;
  metrics.httpRequest(request);
  runWork.changed(request);
  const details = { http_request_id, run_id, project, url, status, reason };
  if (status === "complete") {
    log.info("HTTP request {http_request_id} to {url} ended: {status}", details);
    return;
  }
  log.warn("HTTP request {http_request_id} to {url} ended: {status}: {reason}", details);
  if (status !== "error") return;
  if (!request.tells_sender) deliveryCounts.note(trigger_id, "execution_error");
  const owner = { id: trigger_id, project };
  triggerLog.add(owner, {
    kind: "http_request_failed",
    run_id,
    http_request_id,
    url,
    error: reason,
  });
}
