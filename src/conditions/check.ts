/**
 * The check of a request, and its refusal.
 *
 * @module
 */
import type { LaunchRequest, RequestHead } from "./request.ts";

/** The reason why a request is refused. It goes to the trigger log alone, never to the sender. */
export interface Refusal {
  /** One sentence without a full stop. It names no secret, and no signature that would pass. */
  reason: string;
  /** The form that the condition expects, where that tells no secret. */
  expected?: string;
  /** The value in the request, where that is no credential. */
  found?: string;
}

/** Checks one request: undefined lets it pass. A check that throws refuses the request. */
export type Check = (
  request: LaunchRequest,
) => Refusal | undefined | Promise<Refusal | undefined>;

/**
 * Runs costly checks of a trigger, one request at a time.
 *
 * @param address of the sender
 * @throws {UnavailableError} when too many wait
 */
export type RunSerially = (
  address: string,
  check: () => Promise<Refusal | undefined>,
) => Promise<Refusal | undefined>;

/** Checks a request before its body is read: undefined lets the body be read. */
export type HeadCheck = (head: RequestHead) => Refusal | undefined;
