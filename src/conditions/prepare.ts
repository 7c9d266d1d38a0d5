/**
 * Conditions, ready for launches. A kind is loaded for the first trigger that has a condition of it: one
 * that nobody uses takes neither time nor memory.
 *
 * @module
 */
import type {
  Check,
  ConditionContext,
  ConditionEnvironment,
  ConditionKind,
  Stage,
} from "./condition.ts";
import type { CredentialField } from "./field.ts";
import type { Condition } from "./mod.ts";

/** A check that is ready to look at requests. */
export interface PreparedCondition {
  /** The condition's place in the trigger. */
  index: number;
  type: Condition["type"];
  stage: Exclude<Stage, "quota">;
  check: Check;
}

/** Those of one stage are checked in this order, the cheapest first. */
const KINDS: Readonly<Record<Condition["type"], () => Promise<ConditionKind>>> = {
  ip_allowlist: async () => (await import("./ip_allowlist.ts")).ipAllowlist,
  static_token: async () => (await import("./static_token.ts")).staticToken,
  hmac: async () => (await import("./hmac.ts")).hmac,
  jwt: async () => (await import("./jwt.ts")).jwt,
  signature: async () => (await import("./signature.ts")).signature,
  timestamp: async () => (await import("./timestamp.ts")).timestamp,
  payload_filter: async () => (await import("./payload_filter.ts")).payloadFilter,
  deduplication: async () => (await import("./deduplication.ts")).deduplication,
  rate_limit: async () => (await import("./rate_limit.ts")).rateLimit,
};

/** What a request may be refused by that is no condition. */
const NO_CONDITIONS = ["enabled", "secrets", "body_size", "run_info"] as const;

/** The kind of condition that refused a request, or what else did. */
export type Refuser = Condition["type"] | (typeof NO_CONDITIONS)[number];

/** Everything that a request may be refused by. */
export const REFUSERS: readonly string[] = [...Object.keys(KINDS), ...NO_CONDITIONS];

/** When conditions are checked, in the order of the door. */
export const STAGES: readonly Stage[] = [
  "address",
  "authentication",
  "timestamp",
  "filter",
  "quota",
];

/** These carry credentials whatever a trigger's conditions are. */
const CREDENTIAL_HEADERS = ["authorization", "cookie", "proxy-authorization"];

/** Prepares the checks of a trigger, in the order in which they run. */
export async function prepareConditions(
  conditions: readonly Condition[],
  environment: ConditionEnvironment,
): Promise<PreparedCondition[]> {
  const context: ConditionContext = {
    clock: environment.clock,
    env: (name) => environment.env(name),
    signal: environment.signal,
    siblings: conditions,
    credentials: await credentialFields(conditions),
  };
  const prepared: PreparedCondition[] = [];
  for (const [index, settings] of conditions.entries()) {
    const kind = await loadKind(settings);
    if (kind.stage === "quota") continue;
    const check = kind.prepare(settings, context);
    prepared.push({ index, type: settings.type, stage: kind.stage, check });
  }
  const types = Object.keys(KINDS);
  return prepared.sort((a, b) =>
    STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage) ||
    types.indexOf(a.type) - types.indexOf(b.type)
  );
}

/** Where a request to a trigger carries credentials, which logs must not show. */
export async function credentialFields(
  conditions: readonly Condition[],
): Promise<CredentialField[]> {
  const fields = CREDENTIAL_HEADERS.map((name): CredentialField => ({ in: "header", name }));
  for (const settings of conditions) {
    const kind = await loadKind(settings);
    fields.push(...kind.credentials?.(settings) ?? []);
  }
  return fields;
}

async function loadKind({ type }: Condition): Promise<ConditionKind> {
  if (!Object.hasOwn(KINDS, type)) throw new TypeError(`Unknown type of condition: ${type}`);
  return await KINDS[type]();
}
