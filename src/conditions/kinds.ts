/**
 * The list of the kinds of condition, in the order in which they are checked: the cheapest first. A kind
 * is loaded for the first trigger that has a condition of it.
 *
 * @module
 */
import type { ConditionKind } from "./condition.ts";

/** Loads each kind of condition. */
export const KINDS = {
  ip_allowlist: async () => (await import("./ip_allowlist.ts")).ipAllowlist,
  static_token: async () => (await import("./static_token.ts")).staticToken,
  hmac: async () => (await import("./hmac.ts")).hmac,
  jwt: async () => (await import("./jwt.ts")).jwt,
  signature: async () => (await import("./signature.ts")).signature,
  timestamp: async () => (await import("./timestamp.ts")).timestamp,
  payload_filter: async () => (await import("./payload_filter.ts")).payloadFilter,
  json_schema: async () => (await import("./json_schema.ts")).jsonSchema,
  deduplication: async () => (await import("./deduplication.ts")).deduplication,
  rate_limit: async () => (await import("./rate_limit.ts")).rateLimit,
} as const satisfies Record<string, () => Promise<ConditionKind>>;

/** The name of a kind of condition. */
export type ConditionType = keyof typeof KINDS;

/** The names of all kinds, in the order in which they are checked. */
export const CONDITION_TYPES = Object.keys(KINDS) as readonly ConditionType[];

/** Causes of a refusal that are no conditions. */
const NO_CONDITIONS = [
  "enabled",
  "secrets",
  "body_size",
  "content_encoding",
  "handshake",
  "run_info",
  "overload",
] as const;

/** The kind of condition that refused a request, or another cause. */
export type Refuser = ConditionType | (typeof NO_CONDITIONS)[number];

/** Every cause of a refusal. */
export const REFUSERS: readonly Refuser[] = [...CONDITION_TYPES, ...NO_CONDITIONS];
