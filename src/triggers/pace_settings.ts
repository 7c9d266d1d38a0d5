/**
 * The settings of a trigger's pace: bursts that become one run, a limit of runs with work under way, and a delay.
 *
 * @module
 */
import { z } from "zod";
import { compileValue, mistakeOf, templateMistakes } from "../conditions/values/compile.ts";
import type { Problem } from "../platform/errors.ts";
import { refuseField } from "../platform/schema/schema.ts";

const KEY_CHARACTERS_MAX = 4_096;
const DAY_S = 86_400;
/** The longest wait of a burst, which the longest window has where none is set. */
const WAIT_S_MAX = 10 * DAY_S;
const LIMIT_MAX = 1_000;
/** The longest delay: a hundred years. */
const DELAY_S_MAX = 100 * 366 * DAY_S;

const keySchema = z.string().max(KEY_CHARACTERS_MAX);

/** The schema of `coalesce`. */
export const coalesceSchema = z.strictObject({
  key: keySchema.default("").describe(
    "The runs of one key become one, such as {body.pull_request.number}; all of the trigger where it is empty",
  ),
  window: z.int().min(1).max(DAY_S).describe(
    "The time after the newest of them, in seconds, in which others may join",
  ),
  max_wait: z.int().min(1).max(WAIT_S_MAX).optional().describe(
    "The longest time after the first of them, in seconds; ten windows where it is absent",
  ),
  keep: z.enum(["newest", "first", "all"]).default("newest").describe(
    "The run that is performed; `all`: a new one, whose payload has a line of JSON for each",
  ),
}).superRefine(({ window, max_wait = window }, context) => {
  if (max_wait >= window) return;
  refuseField(context, ["max_wait"], `Expected at least the window, ${window}, found ${max_wait}`);
}).describe("Runs of one key that arrive together become one");

/** The schema of `concurrency`. */
export const concurrencySchema = z.strictObject({
  key: keySchema.default("").describe(
    "The limit counts for each key, such as {body.repository.full_name}; for the trigger where it is empty",
  ),
  limit: z.int().min(1).max(LIMIT_MAX).default(1).describe(
    "The most runs of a key with work under way, until that work has ended",
  ),
  when_full: z.enum(["queue", "newest", "refuse"]).default("queue").describe(
    "`queue`: they begin in the order of acceptance; `newest`: one waits, and a newer one takes its place; " +
      "`refuse`: they end without being performed",
  ),
}).describe("At most so many runs of one key have work under way");

/** The schema of `delay`. */
export const delaySchema = z.union([
  z.int().min(0).max(DELAY_S_MAX),
  z.string().min(1).max(KEY_CHARACTERS_MAX),
]).describe(
  "The time before a run is performed: seconds, or an expression of CEL whose value is a number of seconds, " +
    "a timestamp or a text of one, such as timestamp(body.run_at)",
);

/** The settings of a trigger's pace. */
export interface PaceSettings {
  coalesce?: z.output<typeof coalesceSchema> | undefined;
  concurrency?: z.output<typeof concurrencySchema> | undefined;
  delay?: z.output<typeof delaySchema> | undefined;
}

/** Finds the mistakes in the expressions of a trigger's pace. */
export function paceMistakes({ coalesce, concurrency, delay }: PaceSettings): Problem[] {
  const keys = [["/coalesce/key", coalesce?.key], ["/concurrency/key", concurrency?.key]] as const;
  const mistakes = keys.flatMap(([pointer, key]) =>
    templateMistakes(key).map(({ message: detail }) => ({ pointer, detail }))
  );
  const mistake = typeof delay === "string" ? mistakeOf(() => compileValue(delay)) : undefined;
  return mistake === undefined ? mistakes : [...mistakes, { pointer: "/delay", detail: mistake }];
}
