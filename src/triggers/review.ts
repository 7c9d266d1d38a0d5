/**
 * Checks of a trigger's conditions together: errors when it is saved, warnings when it is shown.
 *
 * @module
 */
import { conditionWarnings, isAuthenticating, reviewConditions } from "../conditions/mod.ts";
import { needsSecret } from "../conditions/handshake/settings.ts";
import { handshakePresets } from "../conditions/signing/presets/mod.ts";
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
    ...reviewHandshakes(settings),
  ];
  if (problems.length > 0) throw new InvalidInputError(what, problems);
}

/** Without a proof of the sender, anyone could learn from the answers what the filter looks for. */
function reviewFiltered({ filtered, conditions }: TriggerSettings): Problem[] {
  if (filtered === undefined || conditions.some(isAuthenticating)) return [];
  const detail = "Expected a condition that proves the sender beside it, such as hmac: found none";
  return [{ pointer: "/filtered", detail }];
}

/** Refuses `verified` where no condition proves the sender: everybody has passed them. */
function reviewHandshakes({ handshakes = [], conditions }: TriggerSettings): Problem[] {
  if (conditions.some(isAuthenticating)) return [];
  const detail = "Expected a condition that proves the sender, such as hmac: found none";
  return handshakes.flatMap(({ verified }, index) =>
    verified ? [{ pointer: `/handshakes/${index}/verified`, detail }] : []
  );
}

/**
 * Returns the weaknesses of a trigger's conditions, which work all the same.
 *
 * @param env reads an environment variable of the service
 */
export function triggerWarnings(
  trigger: Pick<TriggerSettings, "conditions" | "filtered" | "handshakes">,
  env: (name: string) => string | undefined,
): Problem[] {
  const { conditions, filtered, handshakes } = trigger;
  const warnings = [
    ...prefixed("/conditions", warningsOf(conditions, filtered !== undefined)),
    ...variableWarnings({ conditions, handshakes }, env),
    ...secretHandshakeWarnings(conditions, handshakes),
  ];
  if (conditions.some(isAuthenticating)) return warnings;
  const detail = "Nothing proves who the sender is: everyone who knows the URL can launch";
  return [...warnings, { pointer: "/conditions", detail }];
}

/** The secret of such a handshake is the owner's to set. */
function secretHandshakeWarnings(
  conditions: TriggerSettings["conditions"],
  handshakes: TriggerSettings["handshakes"] = [],
): Problem[] {
  return conditions.flatMap((condition, index) => {
    const preset = "preset" in condition ? condition.preset : undefined;
    const isAnswered = handshakes.some((each) => each.preset === preset || each.method);
    if (preset === undefined || isAnswered || !needsSecret(preset)) return [];
    const detail = `${handshakePresets[preset]?.title} checks the URL with a secret of its own: ` +
      `add handshakes: [{ preset: ${preset}, secret: "…" }]`;
    return [{ pointer: `/conditions/${index}/preset`, detail }];
  });
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
