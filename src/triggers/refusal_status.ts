/**
 * The status of a refusal. This file loads no schema, since the door needs it.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { RefusalCause } from "./checks.ts";
import type { TriggerSettings } from "./trigger.ts";

/** Returns the status that a trigger answers to a refusal; 400 where it sets none for the cause. */
export function refusalStatus(
  { refused, filtered }: Pick<TriggerSettings, "refused" | "filtered">,
  cause: RefusalCause | undefined,
): number {
  if (cause === undefined) return STATUS_CODE.BadRequest;
  const status = refused?.[cause] ?? (cause === "filter" ? filtered?.status : undefined);
  return status ?? STATUS_CODE.BadRequest;
}
