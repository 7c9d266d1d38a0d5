/**
 * One text or a list of texts, where the project configuration file takes either.
 *
 * @module
 */
import { z } from "zod";

/** One text or a list of texts, read as a list. */
export const textListSchema = z.union([z.string(), z.array(z.string())])
  .transform((texts) => [texts].flat());
