/**
 * The condition `deduplication`: a delivery launches once, also when its sender repeats it.
 *
 * @module
 */
import { hash } from "node:crypto";
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import { headerText } from "../platform/network/header_text.ts";
import { refuseField } from "../platform/schema/schema.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import type { Refusal } from "./check.ts";
import type {
  ConditionContext,
  QuotaKind,
  QuotaRule,
  TriggerFacts,
  WarningFacts,
} from "./condition.ts";
import { describeField, type Field, isSameField, readField } from "./field.ts";
import type { LaunchRequest } from "./request.ts";
import { checkField, fieldInSchema, fieldNameSchema, settingsObject } from "./settings.ts";
import {
  isOwnTimeSigned,
  isTimeSigned,
  signsBody,
  signsId,
  signsQuery,
} from "./signing/coverage.ts";
import { type SigningContext, type SigningStep, STEP_ORDER } from "./signing/draft.ts";
import type { Scheme } from "./signing/scheme.ts";

/** Providers without ids: the SHA-256 of the body stands for one. */
const BODY_HASH = "body_hash";
const ID_CHARACTERS_MAX = 1_024;
const NOWHERE = "no preset of the trigger says where a delivery's id is";
/** The refusal of a stored trigger whose preset no longer knows the id. */
const UNUSABLE: Refusal = {
  reason: `Deduplication cannot be used: ${NOWHERE}, it needs in and name`,
};

const schema = settingsObject({
  type: z.literal("deduplication"),
  in: z.enum([...fieldInSchema.options, BODY_HASH]).optional().describe(
    "The part of the request with the delivery's id; presets know theirs. body_hash: equal bodies are one delivery",
  ),
  name: fieldNameSchema.optional(),
  key: z.string().min(1).max(4096).optional().describe(
    "An expression of CEL over the request, such as body.event.id: requests with equal values are one delivery",
  ),
  window: z.int().min(1).max(31_536_000).default(86_400).describe(
    "The time for which a repeat is recognised, in seconds",
  ),
}).superRefine((settings, context) => {
  const { in: place, name, key } = settings;
  if (key !== undefined && (place !== undefined || name !== undefined)) {
    refuseField(context, ["key"], "Expected in and name, or key: found both");
  } else if (place === BODY_HASH) {
    if (name !== undefined) refuseField(context, ["name"], "Expected none with in: body_hash");
  } else if (place !== undefined && name !== undefined) checkField({ in: place, name }, context);
  else if (place !== name) {
    context.addIssue({ code: "custom", message: "Expected in and name together, or neither" });
  }
});

/** The settings of a deduplication. */
type DeduplicationSettings = z.infer<typeof schema>;

/**
 * A repeat within the window is answered with the first run's id and starts nothing. It is decided when a
 * run is accepted, by `runs/delivery_ids`, since the id is stored with the run.
 */
export const deduplication = {
  type: "deduplication",
  stage: "quota",
  schema,
  isUnique: true,
  review(settings: DeduplicationSettings, facts: TriggerFacts): Problem[] {
    if (isComputed(settings) || deliveryField(settings, facts)) return [];
    return [{ pointer: "/in", detail: `Expected in and name: ${NOWHERE}` }];
  },
  deliveryKey: ({ key }) => key,
  warnings,
  quota,
  sign,
} satisfies QuotaKind<DeduplicationSettings>;

/** Tells whether the id is no field of the request, but made of it. */
function isComputed({ in: place, key }: DeduplicationSettings): boolean {
  return place === BODY_HASH || key !== undefined;
}

/** Returns the field of the settings, or else that of a preset of the trigger. */
function deliveryField(
  settings: DeduplicationSettings,
  { deliveryId }: Pick<TriggerFacts, "deliveryId">,
): Field | undefined {
  const { in: place, name } = settings;
  if (place === BODY_HASH || isComputed(settings)) return undefined;
  return place !== undefined && name !== undefined ? { in: place, name } : deliveryId;
}

async function quota(
  settings: DeduplicationSettings,
  context: ConditionContext,
): Promise<QuotaRule> {
  const { key, window: window_s } = settings;
  if (key !== undefined) {
    const { prepareKey } = await import("./delivery_key.ts");
    return { readDelivery: prepareKey({ source: key, window_s }, context) };
  }
  if (settings.in === BODY_HASH) {
    return { readDelivery: ({ body }) => ({ id: hash("sha256", body), window_s }) };
  }
  const field = deliveryField(settings, context);
  if (field === undefined) return { readDelivery: () => UNUSABLE };
  // The ids of deliveries are shown.
  const isSecret = context.credentials.some((other) => isSameField(other, field));
  return {
    readDelivery(request) {
      const found = readDelivery(request, field, window_s);
      return isSecret && "id" in found ? { ...found, isSecret } : found;
    },
  };
}

function readDelivery(request: LaunchRequest, field: Field, window_s: number): Delivery | Refusal {
  const id = readField(request, field);
  if (typeof id === "object") return id;
  if (typeof id === "number" && Math.abs(id) > Number.MAX_SAFE_INTEGER) {
    return {
      reason: "The delivery's id is a number too large to be told from those beside it",
      expected: `a text, or a number of at most ${Number.MAX_SAFE_INTEGER}`,
    };
  }
  const text = field.in === "header" ? headerText(String(id)) : String(id);
  if (text.length > 0 && text.length <= ID_CHARACTERS_MAX) {
    const scope = field.scope === undefined
      ? {}
      : readField(request, { in: field.in, name: field.scope });
    if (typeof scope === "object") return { id: text, window_s };
    return { id: JSON.stringify([String(scope), text]), shown: text, window_s };
  }
  return {
    reason: "The delivery's id is empty or too long",
    expected: `1 to ${ID_CHARACTERS_MAX} characters`,
    found: `${text.length} characters`,
  };
}

/**
 * Without a signed time, only a signed id tells a request that is sent again. Of a provider that signs neither the page
 * of providers tells: its owner can change nothing.
 */
function warnings(settings: DeduplicationSettings, facts: WarningFacts): Problem[] {
  const field = deliveryField(settings, facts);
  if (field === undefined && !isComputed(settings)) {
    return [{ pointer: "", detail: `Refuses every request: ${UNUSABLE.reason}` }];
  }
  const { schemes, times, deliveryId, hasPresetId } = facts;
  if (schemes.length === 0) return [];
  if (field && deliveryId && hasPresetId && isSameField(field, deliveryId)) return [];
  const hasSignedTime = schemes.some((scheme) => isOwnTimeSigned(scheme, schemes)) ||
    times.some((time) => isTimeSigned(time, schemes));
  const isSigned = schemes.some((scheme) =>
    field === undefined ? signsAll(scheme, settings, facts) : signsId(scheme, field)
  );
  if (hasSignedTime || isSigned) return [];
  const detail =
    "No signature covers the delivery's id: anyone who has seen a request can send it again with another one";
  return [{ pointer: "", detail }];
}

/** Tells whether a scheme covers all that an id is made of. */
function signsAll(
  scheme: Scheme,
  { key }: DeduplicationSettings,
  { keyVariables }: WarningFacts,
): boolean {
  const isSigned: Readonly<Record<string, boolean>> = {
    body: signsBody(scheme),
    raw: signsBody(scheme),
    query: signsQuery(scheme),
    jwt: true,
  };
  return key === undefined
    ? signsBody(scheme)
    : [...keyVariables].every((name) => isSigned[name] === true);
}

function sign(settings: DeduplicationSettings, context: SigningContext): SigningStep[] {
  const { draft } = context;
  const field = deliveryField(settings, context);
  const run = () => {
    // An id in the body belongs to the payload.
    if (field === undefined || field.in === "body") return undefined;
    if (typeof readField(draft.request(), field) !== "object") return undefined;
    const id = crypto.randomUUID();
    draft.put(field, id);
    return `${describeField(field)} is ${id}`;
  };
  return [{ order: STEP_ORDER.beforeSigning, run }];
}
