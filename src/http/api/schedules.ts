/**
 * `/api/v0/triggers/<id>/schedule/`: the coming occurrences of a trigger's schedules, and a launch by one of them now.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError } from "../../platform/errors.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { nextTimes } from "../../runs/schedule/cron.ts";
import { launchScheduled } from "../../triggers/schedule_launch.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import { answer, count, input, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { authorOf } from "./origins.ts";
import { run } from "./runs.ts";
import { wholeNumberTo } from "./queries.ts";
import { shownRun } from "./shown_run.ts";
import { TriggerLabels } from "./trigger_labels.ts";

const OCCURRENCES = 10;
const OCCURRENCES_MAX = 200;

/** A coming occurrence of a schedule. */
interface Occurrence {
  /** The place of the schedule among the trigger's. */
  index: number;
  cron: string;
  timezone: string;
  time: string;
  /** The same by the clock of the time zone. */
  local: string;
}

/** The coming occurrences of a trigger's schedules. */
export interface ComingOccurrences {
  results: Occurrence[];
}

const coming = answer<ComingOccurrences>()(
  "ComingOccurrences",
  z.object({
    results: z.array(z.object({
      index: count.describe("The place of the schedule among the trigger's"),
      cron: text,
      timezone: text,
      time,
      local: text.describe(
        "The same by the clock of the time zone, such as 2026-03-29T04:00+03:00",
      ),
    })).describe("Earliest first; empty while the trigger is disabled"),
  }),
);

const runInput = input(
  "ScheduleRunInput",
  z.strictObject({
    index: z.int().min(0).default(0).describe("The place of the schedule among the trigger's"),
  }),
);

/** The operations on schedules. */
export const scheduleOperations = [
  operation({
    id: "listOccurrences",
    method: "get",
    path: "/triggers/{id}/schedule/",
    summary: "List the coming occurrences of a trigger's schedules",
    query: z.strictObject({ limit: wholeNumberTo(OCCURRENCES_MAX).default(OCCURRENCES) }),
    answers: { 200: { schema: coming } },
    async perform({ api, context, params: { id }, query: { limit } }) {
      const trigger = await found("trigger", id, api.triggers.get(id));
      return context.json({ results: comingOf(trigger, api.clock.now(), limit) });
    },
  }),
  operation({
    id: "runSchedule",
    method: "post",
    path: "/triggers/{id}/schedule/run/",
    scope: "operate",
    summary: "Launch a trigger by one of its schedules now",
    description: "With the schedule's payload. The coming occurrences stay as they are.",
    body: { schema: runInput },
    answers: {
      201: { schema: run, headers: { Location: "The address of the new run" } },
    },
    async perform({ api, context, params: { id }, body }) {
      const { index } = parseInput(runInput, body, "the launch");
      const launchedBy = { kind: "operator", ...authorOf(context) } as const;
      const run = await launchNow(api, id, { index, launchedBy });
      const shown = await shownRun(api, new TriggerLabels(api), run);
      return context.json(shown, STATUS_CODE.Created, {
        location: `${api.baseUrl()}/api/v0/runs/${run.id}/`,
      });
    },
  }),
];

async function launchNow(
  api: Operator,
  id: string,
  { index, launchedBy }: {
    index: number;
    launchedBy: Parameters<typeof launchScheduled>[3]["launchedBy"];
  },
) {
  for (;;) {
    const prepared = await found("trigger", id, api.triggers.prepared(id));
    const { name, enabled, schedule = [] } = prepared.trigger;
    const settings = schedule[index];
    if (settings === undefined) {
      throw new ConflictError(
        `Cannot launch trigger "${name}": it has ${schedule.length} schedules, and none at the place ${index}`,
      );
    }
    if (!enabled) {
      throw new ConflictError(`Cannot launch trigger "${name}": it is disabled. Enable it first`);
    }
    const launch = { schedule: {}, launchedBy };
    const acceptance = await launchScheduled(api, prepared, settings.payload, launch);
    if ("run" in acceptance) return acceptance.run;
  }
}

/** Returns the coming occurrences of a trigger, earliest first. */
function comingOf(
  { enabled, schedule = [] }: Trigger,
  now_ms: number,
  limit: number,
): Occurrence[] {
  if (!enabled) return [];
  const all = schedule.flatMap(({ cron, timezone }, index) =>
    nextTimes({ cron, timezone }, now_ms, limit).map((time_ms) => ({
      time_ms,
      occurrence: {
        index,
        cron,
        timezone,
        time: new Date(time_ms).toISOString(),
        local: localTime(time_ms, timezone),
      },
    }))
  );
  return all.sort((one, other) => one.time_ms - other.time_ms).slice(0, limit)
    .map(({ occurrence }) => occurrence);
}

/** Returns a time as the clocks of a zone show it, with their offset. */
function localTime(time_ms: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(time_ms);
  const { year, month, day, hour, minute, timeZoneName = "" } = Object.fromEntries(
    parts.map(({ type, value }) => [type, value]),
  );
  return `${year}-${month}-${day}T${hour}:${minute}${timeZoneName.slice("GMT".length) || "+00:00"}`;
}
