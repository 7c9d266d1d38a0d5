/**
 * A kind of place that notifications are sent to.
 *
 * @module
 */
import type { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Network } from "../../platform/network/connection.ts";
import type { SentPlan } from "../../http_requests/exchange.ts";
import type { Notification } from "../../store/records/notifications.ts";
import type { NotifierTarget } from "../../store/records/notifiers.ts";

/** The end of an attempt to send. */
export type Sent =
  | { isSent: true }
  | {
    isSent: false;
    reason: string;
    /** The pause that the receiver asks for. */
    wait_ms?: number | undefined;
    /** Set where another attempt ends in the same way. */
    isFinal?: true;
  };

/** The parts of the service that an attempt uses. */
export interface SendParts {
  clock: Clock;
  network: Network;
  /** Returns the text of a secret; undefined when it cannot be had. */
  reveal(secret: string): string | undefined;
  /** Aborted when the service stops. */
  signal: AbortSignal;
  timeout_ms: number;
}

/** A request that carries a notification. */
type NotificationRequest = Omit<SentPlan, "timeout_ms">;

/** A kind. Its settings are those that its schema gives. */
interface TargetKind {
  /** The value of `type`. */
  type: string;
  schema: z.ZodObject;
}

/** An answer of a receiver that is no success. */
export interface Refused {
  status: number;
  text(): string;
}

/** A kind that is reached by an HTTP request. */
export interface HttpTargetKind extends TargetKind {
  /**
   * Makes the request.
   *
   * @throws {FetchError} when it cannot be made
   */
  request(
    notification: Notification,
    settings: NotifierTarget,
    reveal: SendParts["reveal"],
  ): NotificationRequest;
  /** Says more about an answer other than 2xx; undefined where its status says all. */
  judge?(notification: Notification, refused: Refused): Sent | undefined;
}

/** A kind that is reached in another way. */
export interface OtherTargetKind extends TargetKind {
  send(notification: Notification, settings: NotifierTarget, parts: SendParts): Promise<Sent>;
}
