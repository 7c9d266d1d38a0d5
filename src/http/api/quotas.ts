/**
 * `/api/v0/triggers/<id>/quotas/`: what is left of a trigger's rate limits.
 *
 * @module
 */
import { z } from "zod";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { answer, count, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";

/** The rest of the quota of one condition. */
export interface ShownQuota {
  /** The type of the condition. */
  condition: string;
  /** Its place among the conditions. */
  index: number;
  quota: number;
  /** Seconds. */
  period: number;
  left: number;
  /** The time at which more is left; absent when all of it is. */
  more_at?: string;
}

/** The rests of the quotas of a trigger. */
export interface TriggerQuotas {
  quotas: ShownQuota[];
}

const triggerQuotas = answer<TriggerQuotas>()(
  "TriggerQuotas",
  z.object({
    quotas: z.array(z.object({
      condition: text.describe("The type of the condition"),
      index: count.describe("Its place among the conditions"),
      quota: count,
      period: count.describe("The length of the span that the quota is for, in seconds"),
      left: count.describe("The launches that it would let pass now"),
      more_at: time.exactOptional().describe(
        "The time at which more is left; absent when all of it is",
      ),
    })).describe("One for each condition that limits launches, in the order of the conditions"),
  }),
);

/** The operation that reads what is left of a trigger's quotas. */
export const quotaOperations = [
  operation({
    id: "getTriggerQuotas",
    method: "get",
    path: "/triggers/{id}/quotas/",
    summary: "Read what is left of a trigger's rate limits",
    description: "Exact, and uses up nothing. A launch that is being stored counts already.",
    answers: { 200: { schema: triggerQuotas } },
    async perform({ api, context, params: { id } }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      return context.json(await quotasOf(api, prepared));
    },
  }),
];

async function quotasOf(
  { acceptor }: Pick<Operator, "acceptor">,
  { trigger, launch }: PreparedTrigger,
): Promise<TriggerQuotas> {
  const limits = launch.limits.toSorted((one, other) => one.index - other.index);
  const left = await acceptor.left(trigger.id, limits.map(({ quota }) => quota));
  return {
    quotas: limits.flatMap(({ condition, index, quota }, place) => {
      const now = left[place];
      if (now === undefined) return [];
      const more = now.more_ms === undefined
        ? {}
        : { more_at: new Date(now.more_ms).toISOString() };
      return [{ condition, index, ...quota, left: now.left, ...more }];
    }),
  };
}
