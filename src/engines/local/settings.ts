/**
 * The settings of the local engine in a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";

/** The allowed sources and sizes of inputs that are given as URLs. */
const inputsSchema = z.strictObject({
  folders: z.array(
    z.string().min(1).max(2_048).refine(isAbsolute, { error: "Expected an absolute path" }),
  ).max(100).optional().describe("Folders that file: URLs may lead into; none when absent"),
  private_networks: z.boolean().optional().describe(
    "Whether http(s) URLs may lead to loopback, link-local and private addresses; false when absent",
  ),
  max_mb: z.int().min(1).max(10_000_000).optional().describe(
    "MiB that all files of one execution may have together; 10240 when absent",
  ),
  timeout: z.int().min(1).max(7 * 24 * 60 * 60).optional().describe(
    "Seconds that fetching all files of one execution may take; 3600 when absent",
  ),
});

/** The settings of the local engine. What is absent has its default. */
export const localSettingsSchema = z.strictObject({
  type: z.literal("local"),
  runner: z.enum(["process", "docker", "podman"]).default("process").describe(
    "What runs a step's command: a process of this machine, or a container of the step's image",
  ),
  network: z.boolean().optional().describe("Whether containers have a network; false when absent"),
  inputs: inputsSchema.optional(),
  disk_mb: z.int().min(1).max(10_000_000).optional().describe(
    "MiB that an execution may take on disk; one that takes more is stopped. The mirror of the project's " +
      "repository may take as much. 20480 when absent",
  ),
});

/** The settings of the local engine, as a project has them. */
export type LocalSettings = z.infer<typeof localSettingsSchema>;
