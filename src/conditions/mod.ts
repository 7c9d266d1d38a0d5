/**
 * Conditions: what a request must hold to launch. This is the list of their kinds.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../errors.ts";
import type {
  Check,
  ConditionContext,
  ConditionEnvironment,
  ConditionKind,
  ConditionSettings,
  Stage,
} from "./condition.ts";
import { deduplication } from "./deduplication.ts";
import type { Field } from "./field.ts";
import { hmac } from "./hmac.ts";
import { ipAllowlist } from "./ip_allowlist.ts";
import { jwt } from "./jwt.ts";
import { payloadFilter } from "./payload_filter.ts";
import { rateLimit } from "./rate_limit.ts";
import { signature } from "./signature.ts";
import { staticToken } from "./static_token.ts";
import { timestamp } from "./timestamp.ts";

/** Every kind of condition. */
export const conditionKinds: readonly ConditionKind[] = [
  ipAllowlist,
  staticToken,
  hmac,
  signature,
  jwt,
  timestamp,
  payloadFilter,
  deduplication,
  rateLimit,
];

/** The schema of one condition's settings, told apart by `type`. */
export const conditionSchema = z.discriminatedUnion("type", [
  ipAllowlist.schema,
  staticToken.schema,
  hmac.schema,
  signature.schema,
  jwt.schema,
  timestamp.schema,
  payloadFilter.schema,
  deduplication.schema,
  rateLimit.schema,
], {
  error: (issue) =>
    issue.code === "invalid_union"
      ? `Unknown type of condition: there are ${conditionKinds.map(({ type }) => type).join(", ")}`
      : undefined,
});

/** The settings of a condition, complete with defaults. */
export type Condition = z.output<typeof conditionSchema>;

/** The settings of a condition as an operator writes them. */
export type ConditionInput = z.input<typeof conditionSchema>;

/** A check that is ready to look at requests. */
export interface PreparedCondition {
  /** The condition's place in the trigger. */
  index: number;
  type: Condition["type"];
  stage: Exclude<Stage, "quota">;
  check: Check;
}

const STAGES: readonly Stage[] = ["address", "authentication", "timestamp", "filter", "quota"];

/** These carry credentials whatever a trigger's conditions are. */
const CREDENTIAL_HEADERS = ["authorization", "cookie", "proxy-authorization"];

/** Prepares the checks of a trigger, in the order in which they run. */
export function prepareConditions(
  conditions: readonly Condition[],
  environment: ConditionEnvironment,
): PreparedCondition[] {
  const context: ConditionContext = {
    clock: environment.clock,
    env: (name) => environment.env(name),
    signal: environment.signal,
    siblings: conditions,
    credentials: credentialFields(conditions),
  };
  const prepared = conditions.flatMap((settings, index): PreparedCondition[] => {
    const kind = kindOf(settings);
    if (kind.stage === "quota") return [];
    const check = kind.prepare(settings, context);
    return [{ index, type: settings.type, stage: kind.stage, check }];
  });
  return prepared.sort((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage));
}

/**
 * Looks at a trigger's conditions together when it is saved.
 *
 * @returns what is wrong, each with a pointer relative to the list (`/0/signed_content`)
 */
export function reviewConditions(conditions: readonly Condition[]): Problem[] {
  return conditions.flatMap((settings, index) => {
    const problems = kindOf(settings).review?.(settings, conditions) ?? [];
    return problems.map(({ pointer, detail }) => ({ pointer: `/${index}${pointer}`, detail }));
  });
}

/** Where a request to a trigger carries credentials, which logs must not show. */
export function credentialFields(conditions: readonly Condition[]): Field[] {
  return [
    ...CREDENTIAL_HEADERS.map((name): Field => ({ in: "header", name })),
    ...conditions.flatMap((settings) => kindOf(settings).credentials?.(settings) ?? []),
  ];
}

function kindOf(settings: ConditionSettings): ConditionKind {
  const kind = conditionKinds.find(({ type }) => type === settings.type);
  if (!kind) throw new TypeError(`Unknown type of condition: ${settings.type}`);
  return kind;
}
