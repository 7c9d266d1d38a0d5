/**
 * The settings of a trigger's schedules.
 *
 * @module
 */
import { z } from "zod";
import { didYouMean } from "../platform/text/nearest.ts";
import type { Problem } from "../platform/errors.ts";
import { cronMistake } from "../runs/schedule/cron.ts";

export const SCHEDULES_MAX = 32;
const CRON_CHARACTERS_MAX = 256;
const ZONE_CHARACTERS_MAX = 64;
export const PAYLOAD_BYTES_MAX = 16 * 1024;

const jsonSchema = z.json();

/** The schema of `schedule`. */
export const scheduleSchema = z.array(z.strictObject({
  cron: z.string().max(CRON_CHARACTERS_MAX).describe(
    "Minute, hour, day of the month, month and day of the week, such as 0 3 * * *; or a name such as @daily",
  ),
  timezone: z.string().max(ZONE_CHARACTERS_MAX).default("UTC").describe(
    "The time zone, by its name in the IANA database, such as Europe/Helsinki",
  ),
  payload: z.unknown().refine((value) => jsonSchema.safeParse(value).success, {
    error: "Expected a value of JSON",
    abort: true,
  }).refine((value) => lengthOf(value) <= PAYLOAD_BYTES_MAX, {
    error: `Expected at most ${PAYLOAD_BYTES_MAX} bytes of JSON`,
  }).default({}).describe("The payload of its runs, any value of JSON"),
  missed: z.enum(["run", "skip"]).default("run").describe(
    "The newest occurrence that was missed while nothing ran: `run` it once, or `skip` it",
  ),
})).max(SCHEDULES_MAX).describe("Times at which the trigger launches by itself");

/** The schedules of a trigger. */
export type ScheduleSettings = z.output<typeof scheduleSchema>;

function lengthOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Finds the mistakes in a trigger's schedules. */
export function scheduleMistakes(schedules: ScheduleSettings = []): Problem[] {
  return schedules.flatMap(({ cron, timezone }, index) => {
    const ofCron = cronMistake(cron);
    const ofZone = zoneMistake(timezone);
    return [
      ...(ofCron === undefined ? [] : [{ pointer: `/schedule/${index}/cron`, detail: ofCron }]),
      ...(ofZone === undefined ? [] : [{ pointer: `/schedule/${index}/timezone`, detail: ofZone }]),
    ];
  });
}

function zoneMistake(zone: string): string | undefined {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    // An offset such as +02:00 knows no daylight saving.
    if (/^[A-Za-z]/.test(zone)) return undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const meant = didYouMean(zone, Intl.supportedValuesOf("timeZone"));
  return `Expected a time zone such as Europe/Helsinki, found "${zone}"${meant}`;
}
