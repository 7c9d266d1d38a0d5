/**
 * What the endpoints for senders work with.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Clock } from "../../platform/clock.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { Acceptor } from "../../runs/accept.ts";
import type { Worker } from "../../runs/worker.ts";
import type { Store } from "../../store/store.ts";
import type { TriggerLog } from "../../store/records/trigger_log.ts";
import type { TriggerRegistry } from "../../triggers/registry.ts";
import type { BodyReader } from "../body.ts";
import type { DatabaseDeadline } from "./database_deadline.ts";
import type { ParsedValues } from "./parsed_value_budget.ts";
import type { Peer } from "../peer.ts";

/** The parts of the service that a sender's request meets. */
export interface Door {
  clock: Clock;
  store: Store;
  triggers: TriggerRegistry;
  triggerLog: TriggerLog;
  acceptor: Acceptor;
  databaseDeadline: DatabaseDeadline;
  worker: Worker;
  bodies: BodyReader;
  values: ParsedValues;
  metrics: Pick<Metrics, "launch" | "refused">;
  peerOf(context: Context): Peer;
  /** How the service is reached from outside, without a slash at the end. */
  baseUrl(): string;
  /** Aborted when the service begins to stop and takes nothing more. */
  closing: AbortSignal;
  /** Whether the service itself breaks off bodies that are arriving, which is no fault of their senders. */
  breaksOff(): boolean;
}
