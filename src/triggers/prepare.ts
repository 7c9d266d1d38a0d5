/**
 * A trigger made ready for launches: keys and expressions parsed, conditions in the order of the door.
 *
 * @module
 */
import type { ConditionEnvironment } from "../conditions/condition.ts";
import type { CredentialField } from "../conditions/field.ts";
import type { Condition } from "../conditions/mod.ts";
import { prepareConditions } from "../conditions/prepare.ts";
import { secretEnd_ms, type SecretSetting } from "../conditions/secret.ts";
import { type Quota, smallestByPeriod } from "../runs/rate_window.ts";
import { sizeOf } from "./max_payload.ts";
import { launchOrder, type Order, type OrderParts, runInfoOrder } from "./order.ts";
import { prepareResponse, type Responder } from "./response.ts";
import type { Trigger } from "./trigger.ts";

/** A trigger, ready for launches. */
export interface PreparedTrigger {
  trigger: Trigger;
  /** Its conditions, without secrets that have ended. */
  conditions: readonly Condition[];
  /** Where a request carries credentials: what is found there is shown in no log. */
  credentials: readonly CredentialField[];
  /** When it must be prepared anew because a secret ends, in milliseconds since the epoch. */
  until_ms: number;
  quotas: readonly Quota[];
  /** Whether run info can be asked for by GET: a request without a body cannot be signed. */
  answersGet: boolean;
  respond: Responder;
  /** The checks of a launch. */
  launch: Order;
  /** The checks of run info. */
  runInfo: Order;
}

/**
 * Makes a trigger ready for launches.
 *
 * @param lockedSecrets pointers to those of its secrets that cannot be decrypted
 * @param payloadBytesMax the longest body that the service takes
 */
export async function prepareTrigger(
  trigger: Trigger,
  environment: ConditionEnvironment,
  { lockedSecrets, payloadBytesMax }: { lockedSecrets: readonly string[]; payloadBytesMax: number },
): Promise<PreparedTrigger> {
  const now_ms = environment.clock.now();
  const live = trigger.conditions.map((condition) => withoutEnded(condition, now_ms));
  const conditions = await prepareConditions(live, environment, trigger.id);
  const limits = conditions.quotas.map(({ limit }) => limit).filter((limit) => limit !== undefined);
  const parts: OrderParts = {
    enabled: trigger.enabled,
    locked: lockOf(lockedSecrets),
    conditions,
    bodyBytesMax: Math.min(payloadBytesMax, sizeOf(trigger.max_payload)),
  };
  return {
    trigger,
    conditions: live,
    credentials: conditions.credentials,
    until_ms: Math.min(...live.flatMap(secretsOf).map(secretEnd_ms)),
    quotas: smallestByPeriod(limits),
    answersGet: conditions.signedBy === undefined,
    respond: prepareResponse(trigger.response),
    launch: launchOrder(parts),
    runInfo: runInfoOrder(parts),
  };
}

function lockOf(pointers: readonly string[]): OrderParts["locked"] {
  if (pointers.length === 0) return undefined;
  return { reason: `Its secrets cannot be decrypted with this key: ${pointers.join(", ")}` };
}

/** A condition without those of its secrets that have ended. */
function withoutEnded(condition: Condition, now_ms: number): Condition {
  if (!("secrets" in condition) || condition.secrets === undefined) return condition;
  const secrets = condition.secrets.filter((secret) => secretEnd_ms(secret) > now_ms);
  return { ...condition, secrets };
}

function secretsOf(condition: Condition): readonly SecretSetting[] {
  return "secrets" in condition ? condition.secrets ?? [] : [];
}
