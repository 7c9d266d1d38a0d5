/**
 * Conditions: what a request must hold to launch. This is the list of their kinds, for who writes them.
 *
 * @module
 */
import { z } from "zod";
import { prefixed, type Problem } from "../platform/errors.ts";
import { schemasOf } from "../platform/schema.ts";
import type { ConditionKind, ConditionSettings } from "./condition.ts";
import { deduplication } from "./deduplication.ts";
import { hmac } from "./hmac.ts";
import { ipAllowlist } from "./ip_allowlist.ts";
import { jwt } from "./jwt.ts";
import { payloadFilter } from "./payload_filter.ts";
import { rateLimit } from "./rate_limit.ts";
import { signature } from "./signature.ts";
import { staticToken } from "./static_token.ts";
import { timestamp } from "./timestamp.ts";

const kinds = [
  ipAllowlist,
  staticToken,
  hmac,
  signature,
  jwt,
  timestamp,
  payloadFilter,
  deduplication,
  rateLimit,
] as const;

/** Every kind of condition. */
export const conditionKinds: readonly ConditionKind[] = kinds;

/** The schema of one condition's settings, told apart by `type`. */
export const conditionSchema = z.discriminatedUnion("type", schemasOf(kinds), {
  error: (issue) =>
    issue.code === "invalid_union"
      ? `Unknown type of condition: there are ${conditionKinds.map(({ type }) => type).join(", ")}`
      : undefined,
});

/** The settings of a condition, complete with defaults. */
export type Condition = z.output<typeof conditionSchema>;

/**
 * Looks at a trigger's conditions together when it is saved.
 *
 * @returns what is wrong, each with a pointer relative to the list (`/0/signed_content`)
 */
export function reviewConditions(conditions: readonly Condition[]): Problem[] {
  return conditions.flatMap((settings, index) =>
    prefixed(`/${index}`, kindOf(settings).review?.(settings, conditions) ?? [])
  );
}

/** Whether a condition proves who the sender is. */
export function isAuthenticating({ type }: ConditionSettings): boolean {
  return conditionKinds.some((kind) => kind.type === type && kind.stage === "authentication");
}

function kindOf(settings: ConditionSettings): ConditionKind {
  const kind = conditionKinds.find(({ type }) => type === settings.type);
  if (!kind) throw new TypeError(`Unknown type of condition: ${settings.type}`);
  return kind;
}
