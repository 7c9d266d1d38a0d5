/**
 * The inputs and environment variables that a step declares.
 *
 * @module
 */
import { z } from "zod";
import type { ExecutionSecret } from "../../../store/records/executions.ts";
import { booleanOfWord, booleanSchema, textListSchema } from "../fields.ts";
import { plainDefault, referenceProblem, secretReference } from "./secret_reference.ts";

export interface Input {
  name: string;
  /** URLs of its files, unless a launch brings others. */
  defaults: string[];
  /** It may have no files. */
  optional: boolean;
  /** The name of its file, if it has only one. */
  filename: string | undefined;
  /** The part of their folders that the names of its files keep. */
  keepDirectories: "none" | "full" | "suffix";
}

export interface EnvironmentVariable {
  name: string;
  default: string | undefined;
  /** The secret that it gets unless a launch brings a value. */
  secret?: ExecutionSecret;
  /** It may have no value. */
  optional: boolean;
}

export const inputSchema = z.strictObject({
  name: z.string().min(1).max(64),
  default: textListSchema.optional(),
  description: z.string().optional(),
  optional: booleanSchema.default(false),
  filename: z.string().min(1).optional(),
  "keep-directories": z.preprocess(
    booleanOfWord,
    z.custom(
      (value) => [true, false, "none", "full", "suffix"].some((known) => known === value),
      { error: 'Expected true, false, "none", "full" or "suffix"' },
    ),
  ).optional(),
  download: z.enum(["always", "on-demand"]).optional(),
}).transform((written): Input => ({
  name: written.name,
  defaults: written.default ?? [],
  optional: written.optional,
  filename: written.filename,
  keepDirectories: keptDirectories(written["keep-directories"]),
}));

/** The names of variables in a shell. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const environmentVariableSchema = z.strictObject({
  name: z.string().regex(VARIABLE_NAME, {
    error: "Expected a name of letters, digits and underscores that begins with no digit",
  }),
  default: z.string().refine((text) => !text.includes("\0"), {
    error: "Expected a string without NUL",
  }).superRefine((text, context) => {
    const message = referenceProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  }).optional(),
  description: z.string().optional(),
  optional: booleanSchema.default(true),
}).transform((written): EnvironmentVariable => ({
  name: written.name,
  default: plainDefault(written.default),
  ...secretOf(written.default),
  optional: written.optional,
}));

function secretOf(written: string | undefined): Pick<EnvironmentVariable, "secret"> {
  const secret = written === undefined ? undefined : secretReference(written);
  return secret === undefined ? {} : { secret };
}

function keptDirectories(written: unknown): Input["keepDirectories"] {
  if (written === true || written === "full") return "full";
  return written === "suffix" ? "suffix" : "none";
}
