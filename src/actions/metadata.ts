/**
 * The setting `metadata` of actions: what their executions have at their start.
 *
 * @module
 */
import { z } from "zod";
import { Metadata } from "../engines/shared/metadata.ts";
import { ActionError } from "../platform/errors.ts";

/** The setting of the actions that launch executions. */
export const metadataField = {
  /** Metadata that the executions have at their start, such as the commit that an event is about. */
  metadata: z.record(z.string().min(1).max(256), z.json()).optional(),
};

/**
 * Returns the metadata that an action gives.
 *
 * @throws {ActionError} when an execution cannot hold it
 */
export function givenMetadata(
  { metadata: given }: { metadata?: Record<string, unknown> | undefined },
): Record<string, unknown> | undefined {
  if (given === undefined) return undefined;
  const { latest, leftOut: [problem] } = new Metadata(given);
  if (problem !== undefined) throw new ActionError(`Cannot set the metadata: ${problem}`);
  return latest;
}
