/**
 * The status of an answer as it is sent. This file loads no schema, since every launch needs it.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";

/**
 * Returns the status that is sent for one of the settings. 205 is sent as 204: with 205 Deno 2.9 does not say
 * where the answer ends, and a sender that keeps the connection waits in vain.
 */
export function sentStatus(status: number): number {
  return status === STATUS_CODE.ResetContent ? STATUS_CODE.NoContent : status;
}
