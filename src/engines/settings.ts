/**
 * The settings of engines, as a project names one: a line for each engine.
 *
 * @module
 */
import { z } from "zod";
import { localSettingsSchema } from "./local/settings.ts";

/** The settings of an engine of any type. */
export const engineSettingsSchema = z.discriminatedUnion("type", [localSettingsSchema]);
