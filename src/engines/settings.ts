/**
 * The settings of engines, as a project names one.
 *
 * @module
 */
import { z } from "zod";
import type { EngineSettings } from "../store/records/projects.ts";
import { engineSettingsSchemas } from "./kinds.ts";

const [first, ...others] = await engineSettingsSchemas();
if (first === undefined) throw new RangeError("Cannot read settings of engines: there are none");

/** The settings of an engine of any type. */
export const engineSettingsSchema: z.ZodType<EngineSettings> = z.discriminatedUnion(
  "type",
  [first, ...others] as [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]],
) as unknown as z.ZodType<EngineSettings>;
