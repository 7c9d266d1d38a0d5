/**
 * The parts that an operation of the API uses.
 *
 * @module
 */
import type { DeliveryChanges } from "./delivery_changes.ts";
import type { DiagnosisLimits } from "./diagnosis_limits.ts";
import type { EventStreams } from "./event_stream.ts";
import type { GrantCheck } from "./grants.ts";
import type { Operator } from "./operator.ts";
import type { SealedCursors } from "./sealed_cursors.ts";

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
}
