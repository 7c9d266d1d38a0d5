/**
 * The parts that an operation of the API uses.
 *
 * @module
 */
import type { TokenCheck } from "./auth.ts";
import type { DeliveryChanges } from "./delivery_changes.ts";
import type { DiagnosisLimits } from "./diagnosis_limits.ts";
import type { EventStreams } from "./event_stream.ts";
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
  /** Returns what the token of a hash allows now. */
  checkToken: TokenCheck;
}
