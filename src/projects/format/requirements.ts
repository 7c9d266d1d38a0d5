/**
 * What a step asks of the machine that runs it: mounts and resources. They are checked here and used
 * by runners that have something to do with them.
 *
 * @module
 */
import { z } from "zod";
import { booleanSchema } from "./boolean.ts";

const absolute = z.string().regex(/^\/.+$/, { error: "Expected an absolute path" });

/** A mount: `/source:/destination`, or an object. */
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
  readonly: booleanSchema.optional(),
  type: z.string().optional(),
  options: z.record(z.string(), z.unknown()).optional(),
}));

/** A least and a most. */
export const rangeSchema = z.strictObject({
  min: z.number().optional(),
  max: z.number().optional(),
});

/** Resources: CPUs, memory in MB, and devices by name. */
export const resourcesSchema = z.strictObject({
  cpu: rangeSchema.optional(),
  memory: rangeSchema.optional(),
  devices: z.record(z.string().min(1), z.number().min(1)).optional(),
});
