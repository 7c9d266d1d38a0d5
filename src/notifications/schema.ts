/**
 * The schema of a notifier.
 *
 * @module
 */
import { z } from "zod";
import { FAILURE_CODES } from "../attention/cause.ts";
import { templateMistakes } from "../conditions/values/compile.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import { refuseField, schemasOf } from "../platform/schema/schema.ts";
import { isTimeSpan, timeSpan_ms } from "../platform/text/time_span.ts";
import { nameSchema, newNameSchema } from "../projects/name_schema.ts";
import { type NotifierSettings, withoutReadOnly } from "../store/records/notifiers.ts";
import { triggerNameText } from "../triggers/name_schema.ts";
import { quietMistake } from "./quiet.ts";
import { STATUS_TYPES } from "./targets/commit_statuses.ts";
import { targetKinds } from "./targets/mod.ts";
import { messageVariables } from "./variables.ts";

const NAMES_MAX = 200;
const QUIET_MAX = 16;
const TEMPLATE_LENGTH_MAX = 4_096;
const GROUP_MAX = "1d";
const SILENT_MAX = "90d";
const WITHIN_MAX = "24h";

const EXPECTED_ABOVE = "Expected a number of deliveries such as 20, or a share such as 10%";

const kinds = schemasOf(targetKinds);

/** The schema of a notifier as its owner writes it. */
export const notifierSchema = z.strictObject({
  name: newNameSchema.describe("Unique among the notifiers"),
  on: z.array(z.enum([...FAILURE_CODES, "recovered"])).default([]).describe(
    "The causes that it tells of, by their codes; recovered adds their ends. None where `to` sets statuses on commits",
  ),
  triggers: z.array(triggerNameText).min(1).max(NAMES_MAX).exactOptional().describe(
    "Only the causes of these triggers, and those of the service; those of all when absent",
  ),
  projects: z.array(nameSchema).min(1).max(NAMES_MAX).exactOptional().describe(
    "Only the causes of these projects and their triggers, and those of the service",
  ),
  silent: span(SILENT_MAX).exactOptional().describe(
    "The time without an accepted delivery after which a trigger is silent, such as 24h",
  ),
  quiet: z.array(
    z.string().max(200).superRefine((text, context) => {
      const message = quietMistake(text);
      if (message !== undefined) context.addIssue({ code: "custom", message, input: text });
    }),
  ).min(1).max(QUIET_MAX).exactOptional().describe(
    "The times in which silence is normal, such as `22:00-06:00 Europe/Helsinki`, or `sat`: they do not count",
  ),
  refused: z.strictObject({
    above: z.union([
      z.int().min(0),
      z.string().regex(/^(?:\d{1,2}(?:\.\d{1,2})?|100)%$/, { error: EXPECTED_ABOVE }),
    ], { error: EXPECTED_ABOVE }),
    within: span(WITHIN_MAX).default(WITHIN_MAX).describe("Counted by whole hours"),
  }).exactOptional().describe(
    "The number or the share of refused deliveries above which it tells; 10% in 24h when absent",
  ),
  group: span(GROUP_MAX).exactOptional().describe(
    "The time after a message in which what comes waits for the next one; 1m when absent",
  ),
  title: template("The first line, in place of the usual one: {…} holds an expression of CEL"),
  text: template("The text, in place of the usual one"),
  include: z.array(z.enum(["payload"])).exactOptional().describe(
    "What is told besides facts: `payload` adds the beginning of the payload of a failed run",
  ),
  to: z.discriminatedUnion("type", kinds).describe("The place that it tells"),
}).superRefine((notifier, context) => {
  const { on, triggers, projects, silent, quiet, refused } = notifier;
  if (STATUS_TYPES.includes(notifier.to.type)) refuseCauses(notifier, context);
  else if (on.length === 0) refuseField(context, ["on"], "Expected at least one code");
  if (triggers && projects) {
    refuseField(context, ["projects"], "Must not stand beside triggers");
  }
  if (silent === undefined && on.includes("silent")) {
    refuseField(context, ["silent"], "Expected a time such as 24h, since `on` has silent");
  }
  const lonely: [field: string, isThere: boolean, code: typeof on[number]][] = [
    ["silent", silent !== undefined, "silent"],
    ["quiet", quiet !== undefined, "silent"],
    ["refused", refused !== undefined, "refused"],
  ];
  for (const [field, isThere, code] of lonely) {
    if (isThere && !on.includes(code)) {
      refuseField(context, [field], `Must only stand beside ${code} in \`on\``);
    }
  }
});

/**
 * Reads a notifier.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function parseNotifier(value: unknown): NotifierSettings {
  const made = parseInput(notifierSchema, withoutReadOnly(value), "the notifier");
  // The schema has the fields of the record.
  return made as NotifierSettings;
}

/** Refuses what only tells of causes, where a target sets statuses on commits. */
function refuseCauses(notifier: object, context: z.RefinementCtx<unknown>): void {
  for (const field of ["on", "group", "title", "text", "include"]) {
    const [value] = Object.entries(notifier).flatMap(([name, found]) =>
      name === field ? [found] : []
    );
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    const why = "Must not stand beside a target that sets statuses: it tells of each run";
    refuseField(context, [field], why);
  }
}

function span(most: string) {
  return z.string().refine(isTimeSpan, {
    error: "Expected a time such as 30m, 24h or 7d",
    abort: true,
  }).refine((text) => timeSpan_ms(text) <= timeSpan_ms(most), {
    error: `Expected at most ${most}`,
  });
}

function template(meaning: string) {
  return z.string().min(1).max(TEMPLATE_LENGTH_MAX).superRefine((text, context) => {
    for (const { message } of templateMistakes(text, messageVariables)) {
      context.addIssue({ code: "custom", message, input: text });
    }
  }).describe(meaning).exactOptional();
}
