/**
 * The JSON Schema of the configuration file, by which editors complete and check it.
 *
 * @module
 */
import { z } from "zod";
import { backupSchema } from "../backup/scheduled/settings.ts";
import { loginProvidersSchema } from "../logins/settings.ts";
import { notifierSchema } from "../notifications/schema.ts";
import { triggerSchema } from "../triggers/trigger.ts";
import { projectSchema } from "./project.ts";

type Json = Record<string, unknown>;

const schema = z.strictObject({
  storage: z.string().describe(
    "An S3 bucket for artifacts, such as s3://bucket/prefix, or a shared folder; the data folder when absent",
  ).optional(),
  backup: backupSchema.describe("The backups that the service makes and checks by itself")
    .optional(),
  oidc: loginProvidersSchema.describe(
    "The identity providers at which people log in to the console: one, or a list",
  ).optional(),
  projects: z.array(projectSchema).describe("The code that can run").optional(),
  triggers: z.array(triggerSchema).describe("What starts it, each with a launch URL").optional(),
  notifications: z.array(notifierSchema).describe("What is told to whom").optional(),
});

/**
 * Makes the JSON Schema of the configuration file.
 *
 * @param url the address at which it is served
 */
export function configJsonSchema(url: string): Json {
  const made = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      // Paths in the file may be relative to it.
      if (zodSchema !== projectSchema) return;
      for (const name of ["directory", "repository"]) {
        delete Object(jsonSchema.properties?.[name]).pattern;
      }
    },
  });
  const { $schema, ...rest } = made;
  return { $schema, $id: url, title: "hooklaunch.yaml", ...rest };
}
