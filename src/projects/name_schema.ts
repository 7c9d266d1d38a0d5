/**
 * The schema of the names of projects and triggers.
 *
 * @module
 */
import { z } from "zod";
import { newNameProblem } from "../platform/new_name.ts";
import { EXPECTED_NAME, NAME } from "./name.ts";

/** A name that is safe in paths, URLs and logs. */
export const nameSchema = z.string().regex(NAME, { error: EXPECTED_NAME });

/** The schema of a name for something new, which is found by its name or its id. Earlier versions took any name. */
export const newNameSchema = nameSchema.superRefine((name, context) => {
  const message = newNameProblem(name);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});
