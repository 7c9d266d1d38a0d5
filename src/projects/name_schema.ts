/**
 * The schema of the names of projects and triggers.
 *
 * @module
 */
import { z } from "zod";
import { EXPECTED_NAME, NAME } from "./name.ts";

/** A name that is safe in paths, URLs and logs. */
export const nameSchema = z.string().regex(NAME, { error: EXPECTED_NAME });
