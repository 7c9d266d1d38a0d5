/**
 * The settings of an engine about the inputs that it fetches.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";

/** The allowed sources and sizes of inputs that are given as URLs. */
export const inputsSchema = z.strictObject({
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

/** The settings about inputs. What is absent has its default. */
export type InputSettings = z.infer<typeof inputsSchema>;
