/**
 * The inputs and environment variables that a step declares.
 *
 * @module
 */
import { z } from "zod";
import { booleanSchema, ofWord } from "./boolean.ts";
import { textListSchema } from "./text_list.ts";

/** A declared input. */
export interface Input {
  name: string;
  /** URLs of the files that it holds unless a launch brings others. */
  defaults: string[];
  /** Whether a launch may go without files. */
  optional: boolean;
  /** The name of its file, when it is only one. */
  filename: string | undefined;
  /** How much of the folders that files come from their names keep. */
  keepDirectories: "none" | "full" | "suffix";
}

/** A declared environment variable. */
export interface EnvironmentVariable {
  name: string;
  default: string | undefined;
  /** Whether a launch may go without a value. */
  optional: boolean;
}

/** An input as the project configuration file declares it. */
export const inputSchema = z.strictObject({
  name: z.string().min(1).max(64),
  default: textListSchema.optional(),
  description: z.string().optional(),
  optional: booleanSchema.default(false),
  filename: z.string().min(1).optional(),
  "keep-directories": z.preprocess(
    ofWord,
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

/** The names that a shell gives to variables. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** An environment variable as the project configuration file declares it. */
export const environmentVariableSchema = z.strictObject({
  name: z.string().regex(VARIABLE_NAME, {
    error: "Expected a name of letters, digits and underscores that begins with no digit",
  }),
  default: z.string().refine((text) => !text.includes("\0"), {
    error: "Expected a string without NUL",
  }).optional(),
  description: z.string().optional(),
  optional: booleanSchema.default(true),
}).transform((written): EnvironmentVariable => ({
  name: written.name,
  default: written.default,
  optional: written.optional,
}));

function keptDirectories(written: unknown): Input["keepDirectories"] {
  if (written === true || written === "full") return "full";
  return written === "suffix" ? "suffix" : "none";
}
