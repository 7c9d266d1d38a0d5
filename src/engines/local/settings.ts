/**
 * The settings of the local engine in a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { inputsSchema } from "../shared/inputs/settings.ts";

/** The settings of the local engine. What is absent has its default. */
export const localSettingsSchema = z.strictObject({
  type: z.literal("local"),
  runner: z.enum(["process", "docker", "podman"]).default("process").describe(
    "What runs a step's command: a process of this machine, or a container of the step's image",
  ),
  network: z.boolean().optional().describe("Whether containers have a network; false when absent"),
  inputs: inputsSchema.optional(),
  mounts: z.strictObject({
    folders: z.array(
      z.string().min(1).max(2_048).refine(isAbsolute, { error: "Expected an absolute path" }),
    ).max(100).optional().describe("Folders that the mounts of steps may lie in; none when absent"),
  }).optional(),
  disk_mb: z.int().min(1).max(10_000_000).optional().describe(
    "MiB that an execution may take on disk; one that takes more is stopped. The mirror of the project's " +
      "repository may take as much. 20480 when absent",
  ),
});

/** The settings of the local engine, as a project has them. */
export type LocalSettings = z.infer<typeof localSettingsSchema>;
