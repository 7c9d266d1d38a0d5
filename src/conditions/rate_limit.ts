/**
 * The condition `rate_limit`: a trigger accepts a limited number of launches in any span of time.
 *
 * @module
 */
import { z } from "zod";
import type { QuotaKind, QuotaRule } from "./condition.ts";
import { settingsObject } from "./settings.ts";

const schema = settingsObject({
  type: z.literal("rate_limit"),
  period: z.int().min(1).max(31_536_000).describe("The length of the span, in seconds"),
  quota: z.int().min(1).max(1_000_000).describe("The most launches in any such span"),
});

/** The settings of a rate limit. */
type RateLimitSettings = z.infer<typeof schema>;

/** A limit on accepted launches. The commit that stores a run decides it, by `runs/rate_window.ts`. */
export const rateLimit = {
  type: "rate_limit",
  stage: "quota",
  schema,
  quota: ({ period, quota }: RateLimitSettings): QuotaRule => ({ limit: { period, quota } }),
} satisfies QuotaKind<RateLimitSettings>;
