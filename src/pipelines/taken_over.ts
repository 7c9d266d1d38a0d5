/**
 * Executions that a pipeline takes over from an earlier one.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import type { Execution } from "../store/records/executions.ts";
import type { PipelinePlan } from "../store/records/pipelines.ts";

/** Returns an execution with the metadata of a plan in place of what its own run gave, and what its step has printed. */
export function takenOver(execution: Execution, { metadata: given }: PipelinePlan): Execution {
  const { metadata, given_metadata: before = {} } = execution;
  const printed = Object.entries(metadata)
    .filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  return { ...execution, metadata: { ...given, ...Object.fromEntries(printed) } };
}
