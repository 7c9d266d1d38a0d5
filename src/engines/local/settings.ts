/**
 * What a project may say of how the local engine runs its executions.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";

/** Where inputs that are given as URLs may come from, and how much they may be. */
const inputsSchema = z.strictObject({
  /** Folders that `file:` URLs may lead into; none when absent. */
  folders: z.array(
    z.string().min(1).max(2_048).refine(isAbsolute, { error: "Expected an absolute path" }),
  ).max(100).optional(),
  /** Whether http(s) URLs may lead to loopback, link-local and private addresses. Default: no. */
  private_networks: z.boolean().optional(),
  /** MiB that all files of one execution may have together. Default 10 GiB. */
  max_mb: z.int().min(1).max(10_000_000).optional(),
  /** Seconds that fetching all files of one execution may take. Default one hour. */
  timeout: z.int().min(1).max(7 * 24 * 60 * 60).optional(),
});

/** The settings of the local engine. What is absent has its default. */
export const localSettingsSchema = z.strictObject({
  type: z.literal("local"),
  /** What runs a step's command: a process of this machine, or a container of the step's image. */
  runner: z.enum(["process", "docker", "podman"]).default("process"),
  /** Whether containers have a network. Default: no. */
  network: z.boolean().optional(),
  inputs: inputsSchema.optional(),
  /** MiB that an execution may take on disk; one that takes more is stopped. Default 20 GiB. */
  disk_mb: z.int().min(1).max(10_000_000).optional(),
});

/** The settings of the local engine, as a project has them. */
export type LocalSettings = z.infer<typeof localSettingsSchema>;
