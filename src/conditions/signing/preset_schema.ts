/**
 * The setting `preset` of a condition.
 *
 * @module
 */
import { z } from "zod";
import { presetsByType, type PresetType } from "./presets/mod.ts";

/** Makes the schema of a preset's name. Of one of another type of condition it says of which. */
export function presetSchema(type: PresetType) {
  return z.enum(Object.keys(presetsByType[type]), {
    error: ({ input }) => {
      const [other] = Object.entries(presetsByType).find(([, presets]) =>
        typeof input === "string" && Object.hasOwn(presets, input)
      ) ?? [];
      return other && `Must be a preset of ${type}: this is one of ${other}`;
    },
  }).optional().describe(
    "A provider that is known; any other field stands in the place of the provider's own",
  );
}
