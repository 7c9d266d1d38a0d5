/**
 * A trigger made ready for launches: keys and expressions parsed, conditions in the order of the door.
 *
 * @module
 */
import type { Check, ConditionEnvironment, Refusal, Stage } from "../conditions/condition.ts";
import { type DeliveryReader, deliveryReader } from "../conditions/deduplication.ts";
import { type Handshakes, prepareHandshakes } from "../conditions/handshake.ts";
import type { CredentialField } from "../conditions/field.ts";
import type { Condition } from "../conditions/mod.ts";
import {
  credentialFields,
  prepareConditions,
  type PreparedCondition,
  type Refuser,
} from "../conditions/prepare.ts";
import { type Quota, smallestByPeriod } from "../conditions/rate_window.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { secretEnd_ms, type SecretSetting } from "../conditions/secret.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import { prepareResponse, type Responder } from "./response.ts";
import type { Trigger } from "./trigger.ts";

/** A condition that did not pass, and why. */
export interface Refused extends Refusal {
  condition: Refuser;
  /** Its place among the trigger's conditions, from 0. */
  index: number;
}

/** A trigger, ready for launches. */
export interface PreparedTrigger {
  trigger: Trigger;
  /** Its conditions, without secrets that have ended. */
  conditions: readonly Condition[];
  /** Where a request carries credentials: what is found there is shown in no log. */
  credentials: readonly CredentialField[];
  /** Why it refuses every request: a secret of its own cannot be decrypted. */
  locked: { condition: "secrets"; reason: string } | undefined;
  /** When it must be prepared anew because a secret ends, in milliseconds since the epoch. */
  until_ms: number;
  quotas: readonly Quota[];
  /** Whether run info can be asked for by GET: a request without a body cannot be signed. */
  answersGet: boolean;
  respond: Responder;
  handshakes: Handshakes;
  /** Reads delivery ids, where the trigger deduplicates; `index` is that condition's place. */
  deliveries: { index: number; read: DeliveryReader } | undefined;
  /**
   * Checks the conditions of these stages in the order of the door; the first that fails answers. Most
   * answer at once, and to wait for each costs more than some of them.
   */
  check(request: LaunchRequest, stages: readonly Stage[]): Checked;
  /**
   * Checks every condition of these stages that looks at a request, whatever became of the ones before.
   * With the first stage comes what refuses it and is no condition, of the index -1.
   */
  explain(request: LaunchRequest, stages: readonly Stage[]): Promise<Verdict[]>;
}

/** The condition that refuses a request; undefined when all let it pass. */
type Checked = Refused | undefined | Promise<Refused | undefined>;

/** What one condition says of a request. Of one that passes the reason says what is to be known of it. */
export interface Verdict extends Partial<Refusal> {
  condition: string;
  index: number;
  passed: boolean;
}

/**
 * Makes a trigger ready for launches.
 *
 * @param lockedSecrets pointers to those of its secrets that cannot be decrypted
 */
export async function prepareTrigger(
  trigger: Trigger,
  environment: ConditionEnvironment,
  lockedSecrets: readonly string[],
): Promise<PreparedTrigger> {
  const now_ms = environment.clock.now();
  const live = trigger.conditions.map((condition) => withoutEnded(condition, now_ms));
  const checks = await prepareConditions(live, environment);
  const locked = lockOf(lockedSecrets);
  return {
    trigger,
    conditions: live,
    credentials: await credentialFields(live),
    locked,
    until_ms: Math.min(...live.flatMap(secretsOf).map(secretEnd_ms)),
    quotas: smallestByPeriod(
      trigger.conditions.filter((condition) => condition.type === "rate_limit"),
    ),
    answersGet: !trigger.conditions.some(({ type }) => type === "hmac" || type === "signature"),
    respond: prepareResponse(trigger.response),
    handshakes: prepareHandshakes(live, environment),
    deliveries: deliveryReader(trigger.conditions),
    check: (request, stages) => checkFrom(0, checks, request, stages),
    async explain(request, stages) {
      const isLocked = locked !== undefined && stages.includes("address");
      const verdicts: Verdict[] = isLocked ? [{ ...locked, index: -1, passed: false }] : [];
      for (const { type, index, stage, check } of checks) {
        if (!stages.includes(stage)) continue;
        const refusal = await checkOne(check, request);
        verdicts.push({ condition: type, index, passed: refusal === undefined, ...refusal });
      }
      return verdicts;
    },
  };
}

function lockOf(pointers: readonly string[]): PreparedTrigger["locked"] {
  if (pointers.length === 0) return undefined;
  const reason = `Its secrets cannot be decrypted with this key: ${pointers.join(", ")}`;
  return { condition: "secrets", reason };
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

/** Checks the conditions from one place on. */
function checkFrom(
  start: number,
  checks: readonly PreparedCondition[],
  request: LaunchRequest,
  stages: readonly Stage[],
): Checked {
  for (let place = start; place < checks.length; place++) {
    const condition = checks[place];
    if (condition === undefined || !stages.includes(condition.stage)) continue;
    const refusal = checkOne(condition.check, request);
    if (refusal instanceof Promise) {
      return refusal.then((found) =>
        found ? refusedBy(condition, found) : checkFrom(place + 1, checks, request, stages)
      );
    }
    if (refusal) return refusedBy(condition, refusal);
  }
  return undefined;
}

function refusedBy({ type, index }: PreparedCondition, refusal: Refusal): Refused {
  return { ...refusal, condition: type, index };
}

function checkOne(check: Check, request: LaunchRequest): ReturnType<Check> {
  try {
    const refusal = check(request);
    return refusal instanceof Promise ? refusal.catch(uncheckable) : refusal;
  } catch (error) {
    return uncheckable(error);
  }
}

/** @throws {UnavailableError} as it is: the same request may be checked a little later */
function uncheckable(error: unknown): Refusal {
  if (error instanceof UnavailableError) throw error;
  return { reason: `The condition could not be checked: ${messageOf(error)}` };
}
