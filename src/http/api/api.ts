/**
 * The parts that an operation of the API uses.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Authenticated } from "./auth.ts";
import type { DeliveryChanges } from "./delivery_changes.ts";
import type { DiagnosisLimits } from "./diagnosis_limits.ts";
import type { EventStreams } from "./event_stream.ts";
import type { GrantCheck } from "./grants.ts";
import type { Operator } from "./operator.ts";
import type { SealedCursors } from "./sealed_cursors.ts";

/** The other instances that share the database. */
export interface Elsewhere {
  /** Asks the leader what an operator has asked here; undefined where this instance is the leader. */
  askLeader(context: Context, by: Authenticated): Promise<Response> | undefined;
}

/** The parts of the service, and of the API, that an operation uses. */
export interface Api extends Operator {
  streams: EventStreams;
  diagnoses: DiagnosisLimits;
  deliveryChanges: DeliveryChanges;
  cursors: SealedCursors;
  /** `HOOKLAUNCH_ADMIN_TOKEN` is set. */
  hasEnvironmentToken: boolean;
  /** Returns what somebody may do on some grounds now. */
  checkGrant: GrantCheck;
  /** Absent where this instance has the database alone. */
  elsewhere?: Elsewhere;
}
