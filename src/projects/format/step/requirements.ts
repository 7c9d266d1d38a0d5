/**
 * Mounts and resources that a step asks for. A runner uses those that it can provide.
 *
 * @module
 */
import { z } from "zod";
import { booleanSchema } from "../fields.ts";

const absolute = z.string().regex(/^\/.+$/, { error: "Expected an absolute path" });

/** The schema of a mount: `/source:/destination`, or an object. */
export const mountSchema = z.unknown().transform((value, context): unknown => {
  if (typeof value !== "string") return value;
  const [, source, destination] = value.match(/^(\/.+):(\/.+)$/) ?? [];
  if (source !== undefined) return { source, destination };
  context.issues.push({
    code: "custom",
    input: value,
    message: 'Expected absolute paths as in "/source:/destination"',
  });
  return z.NEVER;
}).pipe(z.strictObject({
  source: z.string(),
  destination: absolute,
  readonly: booleanSchema.exactOptional(),
  type: z.string().exactOptional(),
  options: z.record(z.string(), z.unknown()).exactOptional(),
}));

export const rangeSchema = z.strictObject({
  min: z.number().optional(),
  max: z.number().optional(),
});

/** The schema of resources: CPUs, memory in MB, and devices by name. */
export const resourcesSchema = z.strictObject({
  cpu: rangeSchema.optional(),
  memory: rangeSchema.optional(),
  devices: z.record(z.string().min(1), z.number().min(1)).optional(),
});
