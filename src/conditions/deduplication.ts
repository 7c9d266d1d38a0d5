/**
 * A condition that a delivery launches once: a sender that did not see the answer sends again.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import type { ConditionSettings, QuotaKind, Refusal } from "./condition.ts";
import { deliveryIdField } from "./delivery_id.ts";
import { checkField, type Field, fieldInSchema, fieldNameSchema, readField } from "./field.ts";
import type { LaunchRequest } from "./request.ts";
import { settingsObject } from "./settings.ts";

const ID_CHARACTERS_MAX = 1_024;
const NOWHERE = "no preset of the trigger says where a delivery's id is";

const schema = settingsObject({
  type: z.literal("deduplication"),
  in: fieldInSchema.optional().describe("Where the delivery's id is; presets know theirs"),
  name: fieldNameSchema.optional(),
  window: z.int().min(1).max(31_536_000).default(86_400).describe(
    "For how long a repeat is recognised, in seconds",
  ),
}).superRefine((settings, context) => {
  const { in: place, name } = settings;
  if (place !== undefined && name !== undefined) checkField({ in: place, name }, context);
  else if (place !== name) {
    context.addIssue({ code: "custom", message: "Expected in and name together, or neither" });
  }
});

/** The settings of a deduplication. */
export type DeduplicationSettings = z.infer<typeof schema>;

/**
 * A repeat within the window is answered with the first run's id and starts nothing. It is decided
 * when a run is accepted, by `runs/deliveries`, since what is remembered is stored with the run.
 */
export const deduplication = {
  type: "deduplication",
  stage: "quota",
  schema,
  review(settings: DeduplicationSettings, siblings: readonly ConditionSettings[]): Problem[] {
    if (siblings.filter(isDeduplication).length > 1) {
      return [{ pointer: "/type", detail: "Expected at most one deduplication, found several" }];
    }
    if (deliveryField(settings, siblings)) return [];
    return [{ pointer: "/in", detail: `Expected in and name: ${NOWHERE}` }];
  },
} satisfies QuotaKind<DeduplicationSettings>;

/** The id of a request's delivery and how long it is remembered, for a trigger that deduplicates. */
export type DeliveryReader = (
  request: LaunchRequest,
) => { id: string; window_s: number } | Refusal;

/** How to read delivery ids; undefined for a trigger that takes repeats as launches like others. */
export function deliveryReader(
  conditions: readonly ConditionSettings[],
): { index: number; read: DeliveryReader } | undefined {
  const index = conditions.findIndex(isDeduplication);
  const settings = conditions.find(isDeduplication);
  if (settings === undefined) return undefined;
  const field = deliveryField(settings, conditions);
  if (field === undefined) return { index, read: () => ({ reason: nowhere() }) };
  const read: DeliveryReader = (request) => {
    const id = readField(request, field);
    if (typeof id === "object") return id;
    if (typeof id === "number" && Math.abs(id) > Number.MAX_SAFE_INTEGER) {
      return {
        reason: "The delivery's id is a number too large to be told from those beside it",
        expected: `a text, or a number of at most ${Number.MAX_SAFE_INTEGER}`,
      };
    }
    const text = String(id);
    if (text.length > 0 && text.length <= ID_CHARACTERS_MAX) {
      return { id: text, window_s: settings.window };
    }
    return {
      reason: "The delivery's id is empty or too long",
      expected: `1 to ${ID_CHARACTERS_MAX} characters`,
      found: `${text.length} characters`,
    };
  };
  return { index, read };
}

/** Why a deduplication refuses every request: a preset said where the id is when it was stored. */
export function nowhere(): string {
  return `Deduplication cannot be used: ${NOWHERE}, it needs in and name`;
}

/** Whether a condition is a deduplication. */
export function isDeduplication(settings: ConditionSettings): settings is DeduplicationSettings {
  return settings.type === "deduplication";
}

/** Where a request says which delivery it is: where the settings say, or else where presets know. */
export function deliveryField(
  settings: DeduplicationSettings,
  siblings: readonly ConditionSettings[],
): Field | undefined {
  const { in: place, name } = settings;
  return place !== undefined && name !== undefined
    ? { in: place, name }
    : deliveryIdField(siblings);
}
