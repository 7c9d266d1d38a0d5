/**
 * The setting of the actions that launch pipelines: which input takes the payload.
 *
 * @module
 */
import { z } from "zod";

/** The schema of the input that takes the payload, `<node>.<input>`. */
export const payloadTargetSchema = z.string().max(512).regex(/^.+\.[^.]+$/, {
  error: 'Expected a node and an input of its step, such as "ingest.labels"',
});
