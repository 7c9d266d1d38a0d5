/**
 * `/api/v0/triggers/<id>/activity/`: the numbers of a trigger's deliveries in the last 24 hours.
 *
 * @module
 */
import { z } from "zod";
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from "../../store/records/deliveries.ts";
import type { DeliveryHour } from "../../store/records/delivery_counts.ts";
import { answer, count, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import type { Records } from "./records.ts";

/** The deliveries of a trigger in one hour, and the work that failed in it. */
export interface ActiveHour {
  from: string;
  /** Numbers by outcome; 0 where absent. */
  deliveries: Partial<Record<DeliveryOutcome, number>>;
  /** Executions that ended as `error`; 0 when absent. */
  failed_executions?: number;
  /** Runs of which an action failed; 0 when absent. */
  failed_runs?: number;
}

/** The deliveries of a trigger in the last 24 hours. */
export interface Activity {
  /** The last 24 hours, oldest first; the last one is not over. */
  hours: ActiveHour[];
  /** The time of the newest delivery; absent when there was none today and yesterday. */
  last_delivery_at?: string;
}

/** The schema of {@linkcode Activity}. */
export const activity = answer<Activity>()(
  "Activity",
  z.object({
    hours: z.array(z.object({
      from: time,
      deliveries: z.partialRecord(z.enum(DELIVERY_OUTCOMES), count).describe(
        "Their number, by outcome; 0 where absent",
      ),
      failed_executions: count.exactOptional().describe(
        "The executions that ended as `error`; 0 when absent",
      ),
      failed_runs: count.exactOptional().describe(
        "The runs of which an action failed; 0 when absent",
      ),
    })).describe("The last 24 hours, oldest first. The last one is not over"),
    last_delivery_at: time.exactOptional().describe(
      "The time of the newest delivery; absent when there was none today and yesterday (UTC)",
    ),
  }),
);

/** The operation that counts a trigger's deliveries. */
export const activityOperations = [
  operation({
    id: "getTriggerActivity",
    method: "get",
    path: "/triggers/{id}/activity/",
    summary: "Count a trigger's deliveries in the last 24 hours, by hour and outcome",
    description: "The counts are for overviews: a crash of the service loses those of seconds.",
    answers: { 200: { schema: activity } },
    async perform({ api, records, context, params: { id } }) {
      await found("trigger", id, api.triggers.labelsOf(id));
      return context.json(await activityOf(api, records, id));
    },
  }),
];

/**
 * Reads the deliveries of a trigger in the last 24 hours. Hours in which it was in another project are empty for
 * tokens that are limited to projects.
 */
export async function activityOf(
  { deliveryCounts }: Pick<Operator, "deliveryCounts">,
  records: Pick<Records, "countedSince_ms">,
  triggerId: string,
): Promise<Activity> {
  const since_ms = await records.countedSince_ms(triggerId);
  const { hours, last_ms = -Infinity } = await deliveryCounts.read(triggerId);
  return {
    hours: hours.map(({ from_ms, counts }) => ({
      from: new Date(from_ms).toISOString(),
      ...from_ms < since_ms ? { deliveries: {} } : shown(counts),
    })),
    ...(last_ms > since_ms && { last_delivery_at: new Date(last_ms).toISOString() }),
  };
}

function shown(
  { execution_error, pipeline_error: _pipelines, run_error, ...deliveries }: DeliveryHour["counts"],
): Omit<ActiveHour, "from"> {
  return {
    deliveries,
    ...(execution_error === undefined ? {} : { failed_executions: execution_error }),
    ...(run_error === undefined ? {} : { failed_runs: run_error }),
  };
}
