/**
 * The ids of callbacks.
 *
 * @module
 */
import { derivedId } from "../platform/ids.ts";

/** Returns the id of the HTTP request that is a run's callback. */
export function callbackId(runId: string): string {
  return derivedId(runId, "callback");
}
