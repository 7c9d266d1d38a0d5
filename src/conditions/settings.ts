/**
 * The common frame of all conditions' settings.
 *
 * @module
 */
import { z } from "zod";

/** An object schema that takes its own fields alone, and says so of `preset` in words of its own. */
export function settingsObject<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" && issue.keys.includes("preset")
        ? "Presets are of hmac, signature and static_token"
        : undefined,
  });
}
