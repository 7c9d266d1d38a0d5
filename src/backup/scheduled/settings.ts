/**
 * The setting `backup` of the configuration file: where backups go, how often, and which are kept.
 *
 * @module
 */
import { isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { parseS3Location } from "../../artifacts/s3/location.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { isTimeSpan, timeSpan_ms } from "../../platform/text/time_span.ts";
import type { Keep } from "./retention.ts";

const EVERY_MS_MAX = timeSpan_ms("7d");
const KEPT_MAX = 10_000;

const EXPECTED_TO = "Expected s3://bucket/prefix, or a folder";

/** The place of backups, the time between them, and the numbers that are kept. */
export interface BackupSettings {
  /** `s3://bucket/prefix`, or the path of a folder. */
  to: string;
  every_ms: number;
  keep: Keep;
}

const kept = z.int().min(0).max(KEPT_MAX);

/** The schema of the setting as its owner writes it. */
export const backupSchema = z.strictObject({
  to: z.string().min(1, { error: EXPECTED_TO }).describe(
    "The place: s3://bucket/prefix, with endpoint and region as in storage, or a folder that exists",
  ),
  every: z.string().refine(isTimeSpan, {
    error: "Expected a time such as 15m, 1h or 1d",
    abort: true,
  }).refine((text) => timeSpan_ms(text) <= EVERY_MS_MAX, { error: "Expected at most 7d" })
    .default("1h").describe("The time from one backup to the next, such as 1h"),
  keep: z.strictObject({
    hourly: kept.default(24),
    daily: kept.default(7),
    weekly: kept.default(4),
  }).prefault({}).describe(
    "The numbers of hours, days and weeks (UTC) of which the newest backup is kept; the newest of all always is",
  ),
});

/**
 * Reads the setting.
 *
 * @param folder the folder that a relative path starts at; without one it is refused
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function parseBackup(value: unknown, folder?: string): BackupSettings {
  const { to, every, keep } = parseInput(backupSchema, value, "the setting backup");
  return { to: placeIn(to, folder), every_ms: timeSpan_ms(every), keep };
}

function placeIn(to: string, folder: string | undefined): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(to)) {
    try {
      parseS3Location(to, () => undefined);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      const [problem] = error.problems;
      throw new InvalidInputError("the setting backup", [{
        pointer: "/to",
        detail: problem?.detail ?? EXPECTED_TO,
      }]);
    }
    return to;
  }
  if (isAbsolute(to)) return to;
  if (folder !== undefined) return resolve(folder, to);
  throw new InvalidInputError("the setting backup", [{
    pointer: "/to",
    detail: `${EXPECTED_TO} by its whole path, found "${to}"`,
  }]);
}
