/**
 * The setting `retry` of actions that launch executions.
 *
 * @module
 */
import { z } from "zod";
import type { Retry } from "../store/records/execution_record.ts";

const PAUSE_S_MAX = 24 * 60 * 60;

const schema: z.ZodType<Retry, unknown> = z.strictObject({
  attempts: z.int().min(2).max(20).default(3).describe("The most attempts, the first included"),
  first: z.number().min(0).max(PAUSE_S_MAX).default(30)
    .describe("Seconds between the first attempt and the second"),
  factor: z.number().min(1).max(10).default(2)
    .describe("Growth of the pause, which is a day at most"),
  exit_codes: z.union([
    z.array(z.int().min(1).max(255)).min(1).max(255),
    z.literal("*"),
  ], { error: 'Expected a list of exit codes from 1 to 255, or "*" for each failure' })
    .default("*"),
});

/** The field of settings. */
export const retryField = {
  /** An execution that fails is tried again after a pause: after these exit codes, or after each failure. */
  retry: schema.optional(),
};
