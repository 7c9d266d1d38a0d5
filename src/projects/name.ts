/**
 * The names of projects and triggers.
 *
 * @module
 */
import { z } from "zod";

/** A name that is safe in paths, URLs and logs. */
export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: "Expected 1 to 64 letters, digits, dots, underscores or hyphens, a letter or digit first",
});
