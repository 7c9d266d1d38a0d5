/**
 * A trigger made ready for launches: keys and expressions parsed, conditions in the order of the door.
 *
 * @module
 */
import type { Check, ConditionEnvironment, Refusal, Stage } from "../conditions/condition.ts";
import { prepareConditions, reviewConditions } from "../conditions/mod.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { InvalidInputError, messageOf } from "../errors.ts";
import { type Quota, smallestByPeriod } from "../runs/quotas.ts";
import { prepareResponse, type Responder } from "./response.ts";
import type { Trigger, TriggerSettings } from "./trigger.ts";

/** A condition that did not pass, and why. */
export interface Refused extends Refusal {
  condition: string;
  /** Its place among the trigger's conditions, from 0. */
  index: number;
}

/** A trigger, ready for launches. */
export interface PreparedTrigger {
  trigger: Trigger;
  quotas: readonly Quota[];
  /** Whether run info can be asked for by GET: a request without a body cannot be signed. */
  answersGet: boolean;
  respond: Responder;
  /** Checks the conditions of these stages in the order of the door; the first that fails answers. */
  check(request: LaunchRequest, stages: readonly Stage[]): Promise<Refused | undefined>;
}

/** Makes a trigger ready for launches. */
export function prepareTrigger(
  trigger: Trigger,
  environment: ConditionEnvironment,
): PreparedTrigger {
  const conditions = prepareConditions(trigger.conditions, environment);
  return {
    trigger,
    quotas: smallestByPeriod(
      trigger.conditions.filter((condition) => condition.type === "rate_limit"),
    ),
    answersGet: !trigger.conditions.some(({ type }) => type === "hmac"),
    respond: prepareResponse(trigger.response),
    async check(request, stages) {
      for (const { type, index, stage, check } of conditions) {
        if (!stages.includes(stage)) continue;
        const refusal = await checkOne(check, request);
        if (refusal) return { ...refusal, condition: type, index };
      }
      return undefined;
    },
  };
}

/**
 * Looks at a trigger's conditions together.
 *
 * @throws {InvalidInputError} when they cannot work with each other
 */
export function reviewTrigger(settings: TriggerSettings, what: string): void {
  const problems = reviewConditions(settings.conditions);
  if (problems.length === 0) return;
  throw new InvalidInputError(
    what,
    problems.map(({ pointer, detail }) => ({ pointer: `/conditions${pointer}`, detail })),
  );
}

async function checkOne(check: Check, request: LaunchRequest): Promise<Refusal | undefined> {
  try {
    const refusal = check(request);
    return refusal instanceof Promise ? await refusal : refusal;
  } catch (error) {
    return { reason: `The condition could not be checked: ${messageOf(error)}` };
  }
}
