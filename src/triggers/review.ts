/**
 * Checks of a trigger's conditions together: errors when it is saved, warnings when it is shown.
 *
 * @module
 */
import { conditionWarnings, isAuthenticating, reviewConditions } from "../conditions/mod.ts";
import { InvalidInputError, messageOf, prefixed, type Problem } from "../platform/errors.ts";
import type { TriggerSettings } from "./trigger.ts";
import { variableWarnings } from "./variables.ts";

/**
 * Checks a trigger's conditions together.
 *
 * @throws {InvalidInputError} when they cannot work with each other
 */
export function reviewTrigger(settings: TriggerSettings, what: string): void {
  const problems = [
    ...prefixed("/conditions", reviewConditions(settings.conditions)),
    ...reviewFiltered(settings),
  ];
  if (problems.length > 0) throw new InvalidInputError(what, problems);
}

/** Without a proof of the sender, anyone could learn from the answers what the filter looks for. */
function reviewFiltered({ filtered, conditions }: TriggerSettings): Problem[] {
  if (filtered === undefined || conditions.some(isAuthenticating)) return [];
  const detail = "Expected a condition that proves the sender beside it, such as hmac: found none";
  return [{ pointer: "/filtered", detail }];
}

/**
 * Returns the weaknesses of a trigger's conditions, which work all the same.
 *
 * @param env reads an environment variable of the service
 */
export function triggerWarnings(
  { conditions, filtered }: Pick<TriggerSettings, "conditions" | "filtered">,
  env: (name: string) => string | undefined,
): Problem[] {
  const warnings = [
    ...prefixed("/conditions", warningsOf(conditions, filtered !== undefined)),
    ...variableWarnings({ conditions }, env),
  ];
  if (conditions.some(isAuthenticating)) return warnings;
  const detail = "Nothing proves who the sender is: everyone who knows the URL can launch";
  return [...warnings, { pointer: "/conditions", detail }];
}

function warningsOf(
  conditions: TriggerSettings["conditions"],
  ignoresFiltered: boolean,
): Problem[] {
  try {
    return conditionWarnings(conditions, ignoresFiltered);
  } catch (error) {
    // A later version has stored a kind that this one does not know. It refuses every launch, too.
    return [{ pointer: "", detail: `This version cannot use them: ${messageOf(error)}` }];
  }
}
