/**
 * The schema of secrets, as conditions have them.
 *
 * @module
 */
import { z } from "zod";
import { VARIABLE } from "./secret.ts";

const SECRET_CHARACTERS_MAX = 4096;
const SECRETS_MAX = 16;

const secretSchema = z.string().min(1, { error: "Must not be empty" }).max(SECRET_CHARACTERS_MAX)
  .refine((text) => VARIABLE.test(text) || !text.includes("{env:"), {
    error: "Must be a literal, or {env:NAME} and nothing else",
  });

/** The schema of a condition's `secrets`: any one may match, so that they can be changed in turn. */
export const secretsSchema = z.array(z.union([
  secretSchema,
  z.strictObject({
    secret: secretSchema,
    until: z.iso.datetime({
      offset: true,
      error: "Expected a date and time with its offset, such as 2027-01-31T00:00:00Z",
    }).describe("From then on it matches nothing (RFC 3339)"),
  }),
])).min(1).max(SECRETS_MAX).describe(
  "Secrets of which any one may match, each a literal or {env:NAME}, with or without an end date",
);
