/**
 * The answers of a trigger to requests that it refuses, by cause.
 *
 * @module
 */
import { z } from "zod";

const oneOf = <const Status extends number>(statuses: readonly [Status, ...Status[]]) =>
  z.union(statuses.map((status) => z.literal(status)), {
    error: ({ input }) => `Expected ${statuses.join(", ")}, found ${JSON.stringify(input)}`,
  });

/** The schema of a trigger's answers to requests that it refuses. */
export const refusedSchema = z.strictObject({
  authentication: oneOf([400, 401, 403]).optional().describe(
    "The status where the sender is not proved: static_token, hmac, jwt and signature",
  ),
  rate_limit: oneOf([400, 429, 503]).optional().describe(
    "The status where a rate limit is used up; 429 and 503 have Retry-After",
  ),
  filter: z.union([z.literal(400), z.int().min(200).max(299)], {
    error: "Expected 400, or 200 to 299",
  }).optional().describe(
    "The status where the sender is proved and a payload filter refuses",
  ),
}).describe("The status of refusals by their cause; 400 where none is set");
