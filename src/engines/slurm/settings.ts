/**
 * The settings of the Slurm engine in a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { isBaseUrl } from "../../platform/network/urls.ts";
import { credentialSchema } from "../shared/credential_schema.ts";
import { inputsSchema } from "../shared/inputs/settings.ts";

const name = z.string().min(1).max(256);

/** The settings of the Slurm engine. What is absent has the cluster's default. */
export const slurmSettingsSchema = z.strictObject({
  type: z.literal("slurm"),
  url: z.string().max(2_048).refine(isBaseUrl, {
    error: "Expected a URL such as https://slurm.example.com:6820",
  }).describe("The address of slurmrestd"),
  api: z.string().regex(/^v\d+\.\d+\.\d+$/, { error: "Expected a version such as v0.0.38" })
    .default("v0.0.38").describe("The version of slurmrestd's API"),
  user: name.describe("The user whose jobs they are"),
  token: credentialSchema,
  ca: z.string().max(100_000).startsWith("-----BEGIN CERTIFICATE-----").optional()
    .describe("Certificates that the address is trusted by, PEM"),
  partition: name.optional(),
  account: name.optional(),
  qos: name.optional(),
  time_limit: z.int().min(1).max(365 * 24 * 60).optional().describe(
    "Minutes of a job whose step has no time limit",
  ),
  cpus: z.int().min(1).max(100_000).optional().describe("CPUs of a step that asks for none"),
  memory: z.int().min(1).max(100_000_000).optional().describe("MiB of a step that asks for none"),
  folder: z.string().max(2_048).refine(isAbsolute, { error: "Expected an absolute path" })
    .default("/tmp").describe("The folder on the cluster's machines that jobs work in"),
  wrap: z.string().min(1).max(2_048).optional().describe(
    "What runs a step's command in its image, such as `apptainer exec --bind {folder} docker://{image}`; " +
      "without it the machine itself does",
  ),
  extra: z.record(z.string().min(1).max(256), z.json()).optional().describe(
    "Further fields of the job, as slurmrestd takes them",
  ),
  inputs: inputsSchema.optional(),
  disk_mb: z.int().min(1).max(10_000_000).optional().describe(
    "MiB that the outputs of an execution may have together. The mirror of the project's repository may take " +
      "as much. 20480 when absent",
  ),
});

/** The settings of the Slurm engine, as a project has them. */
export type SlurmSettings = z.infer<typeof slurmSettingsSchema>;
