/**
 * The parts of the service that the endpoints for senders use.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { PartWork } from "../../conditions/body_part.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { Acceptor } from "../../runs/accept.ts";
import type { RunWork } from "../../runs/work_state.ts";
import type { Worker } from "../../runs/worker.ts";
import type { Store } from "../../store/store.ts";
import type { DeliveryOutcome } from "../../store/records/deliveries.ts";
import type { DeliveryCounts } from "../../store/records/delivery_counts.ts";
import type { TriggerLog } from "../../store/records/trigger_log.ts";
import type { KeptRequests } from "../../triggers/kept_requests.ts";
import type { Listeners } from "../../triggers/listeners.ts";
import type { TriggerRegistry } from "../../triggers/registry.ts";
import type { BodyReader } from "../body.ts";
import type { DatabaseDeadline } from "./database_deadline.ts";
import type { ParsedValueBudget } from "./parsed_value_budget.ts";
import type { Peer } from "../peer.ts";

/** The parts of the service that the endpoints for senders use. */
export interface Door {
  clock: Clock;
  store: Store;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  deliveryCounts: Pick<DeliveryCounts, "note">;
  keptRequests: Pick<KeptRequests, "hasRoom" | "until_ms" | "keep">;
  listeners: Pick<Listeners, "has" | "during" | "copy">;
  acceptor: Acceptor;
  databaseDeadline: DatabaseDeadline;
  worker: Worker;
  runWork: RunWork;
  bodies: BodyReader;
  values: ParsedValueBudget;
  heavyWork: PartWork;
  metrics: Pick<Metrics, "launch" | "delivery" | "refused">;
  peerOf(context: Context): Peer;
  /** Returns the address of the service as senders reach it, without a slash at the end. */
  baseUrl(): string;
  /** Aborted when the service begins to stop: it then takes no more launches. */
  closing: AbortSignal;
  /** Returns the seconds after which another process is likely to serve, while this one stops. */
  retryAfterStop_s(): number;
  /** Returns true while the service itself breaks off bodies that are arriving. */
  breaksOff(): boolean;
}

/** Counts a request at a launch URL by its outcome. */
export function countDelivery(
  { metrics, deliveryCounts }: Pick<Door, "metrics" | "deliveryCounts">,
  triggerId: string,
  outcome: DeliveryOutcome,
): void {
  metrics.delivery(outcome);
  deliveryCounts.note(triggerId, outcome);
}
