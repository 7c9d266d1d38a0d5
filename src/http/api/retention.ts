/**
 * `/api/v0/retention/`: what is past their retention, before it is removed.
 *
 * @module
 */
import { z } from "zod";
import { timeSpan_ms } from "../../platform/text/time_span.ts";
import { lookAtRetention, type PastKind, RETAINED_KINDS } from "../../runs/retention_look.ts";
import { answer, count, text, time } from "./answer.ts";
import { getFormerTrigger } from "../../store/records/triggers.ts";
import type { Operator } from "./operator.ts";
import { operation } from "./operation.ts";
import { retentionQuery, triggerIdOf } from "./queries.ts";

/** The records that are past their retention. */
export interface RetentionLook {
  /** The retention of the service. */
  retention_days: number;
  /** False where the time was too short to see all. */
  complete: boolean;
  kinds: PastKind[];
}

const look = answer<RetentionLook>()(
  "RetentionLook",
  z.object({
    retention_days: count.describe("The retention of the service, `--retention-days`"),
    complete: z.boolean().describe(
      "False where there is more than could be counted in five seconds",
    ),
    kinds: z.array(z.object({
      kind: z.enum(RETAINED_KINDS),
      count,
      bytes: count.describe(
        "Of the records, with payloads and outputs; logs of executions are not counted",
      ),
      oldest: time.exactOptional().describe("The time of the oldest; absent when there is none"),
      records: z.array(z.object({ id: text, trigger_id: text, created_at: time, bytes: count }))
        .describe("The oldest of them"),
    })),
  }),
);

/** The operation that looks at the retention. */
export const retentionOperations = [
  operation({
    id: "lookAtRetention",
    method: "get",
    path: "/retention/",
    summary: "List what the next cleanup would remove; nothing is removed by it",
    description:
      "Counts, bytes, the oldest and which, by kind: what is past the `retention` of its trigger, else of its project, " +
      "else of the service, and what nothing needs any more. `payloads`, `logs` and `outputs` are those whose records " +
      "stay. With `records`, `payloads`, `logs` or `outputs` it is what another retention would remove.",
    query: retentionQuery,
    answers: { 200: { schema: look } },
    async perform({ api, context, query: { limit, trigger, project, ...spans } }) {
      const { store, clock, settings: { retention_days } } = api;
      const triggerId = await triggerIdOf(store, trigger);
      const spans_ms = Object.fromEntries(
        Object.entries(spans).flatMap(([kind, span]) =>
          span === undefined ? [] : [[kind, timeSpan_ms(span)]]
        ),
      );
      const trial = { triggerId, project, spans_ms };
      const found = await lookAtRetention({
        store,
        clock,
        signal: context.req.raw.signal,
        retention_days,
        trial,
        limit,
        isWanted: (record) =>
          (triggerId === undefined || record.trigger_id === triggerId) &&
          (project === undefined || record.project === project),
        async isWantedLog(id) {
          if (triggerId !== undefined && id !== triggerId) return false;
          return project === undefined || await projectOf(api, id) === project;
        },
      });
      const answered: RetentionLook = { retention_days, ...found };
      return context.json(answered);
    },
  }),
];

/** Returns the project that a trigger is in, or was in at last. */
async function projectOf({ store, triggers }: Operator, id: string): Promise<string | undefined> {
  return (await triggers.labelsOf(id) ?? await getFormerTrigger(store, id))?.project;
}
