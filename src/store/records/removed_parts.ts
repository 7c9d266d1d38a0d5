/**
 * Parts of records that retention removes while the records stay.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import type { Execution } from "./executions.ts";
import { removePayloadWrites } from "./payloads.ts";
import { recordWrite } from "./record_size.ts";
import type { EndedRun } from "./runs.ts";

/** The writes that remove the payload of an ended run, and note that in its record. */
export function removePayloadOfRunWrites({ body, ...run }: EndedRun, removed_at: string): Write[] {
  const value: EndedRun = { ...run, payload: { ...run.payload, removed_at } };
  return [
    ...body === undefined ? removePayloadWrites(run.id, run.payload.size) : [],
    recordWrite(keys.run(run.id), value),
  ];
}

/** The write that notes in the record of an ended execution that its log or its outputs were removed. */
export function removedPartWrite(
  execution: Execution,
  part: "log" | "outputs",
  removed_at: string,
): Write {
  const changed: Execution = part === "log"
    ? { ...execution, log_removed_at: removed_at }
    : { ...execution, outputs: [], outputs_removed_at: removed_at };
  return recordWrite(keys.execution(execution.id), changed);
}
