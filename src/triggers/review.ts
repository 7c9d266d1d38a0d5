/**
 * Checks of a trigger's conditions together: errors when it is saved, warnings when it is shown.
 *
 * @module
 */
import { templatesOf } from "../actions/values.ts";
import { conditionMistake, templateMistakes } from "../conditions/values/compile.ts";
import { conditionWarnings, isAuthenticating, reviewConditions } from "../conditions/mod.ts";
import { InvalidInputError, messageOf, prefixed, type Problem } from "../platform/errors.ts";
import { type AnswerSettings, needsWarnings } from "./needs.ts";
import { headerNameWarnings } from "./header_names.ts";
import { httpRequestProblems, httpRequestWarnings } from "./review_http_request.ts";
import { paceMistakes } from "./pace_settings.ts";
import { refusalStatus } from "./refusal_status.ts";
import { scheduleMistakes } from "./schedule_settings.ts";
import { shownValueWarnings } from "./shown_values.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { checkSecrets, endedWarnings, secretWarnings } from "./secret_strength.ts";
import { responseTexts } from "./response.ts";
import { tracedTokenWarnings } from "./traced_tokens.ts";
import { callbackMistakes, callbackWarnings } from "./callback_settings.ts";
import type { TriggerSettings } from "./trigger.ts";
import { UNPROVEN_SENDER } from "./weakness.ts";

/**
 * Checks a trigger's conditions together.
 *
 * @throws {InvalidInputError} when they cannot work with each other
 */
export function reviewTrigger(settings: TriggerSettings): void {
  const problems = [
    ...prefixed("/conditions", reviewConditions(settings.conditions)),
    ...reviewFiltered(settings),
    ...reviewHandshakes(settings),
    ...settings.actions.flatMap((action, index) => prefixed(`/actions/${index}`, review(action))),
    ...callbackMistakes(settings.callback),
    ...paceMistakes(settings),
    ...scheduleMistakes(settings.schedule),
    ...prefixed("/response", settings.response ? mistakesIn(responseTexts(settings.response)) : []),
  ];
  if (problems.length > 0) throw new InvalidInputError("the trigger", problems);
}

/**
 * Checks the conditions and the values of actions.
 *
 * @param what the actions, in the error
 * @throws {InvalidInputError} when an expression has a mistake
 */
export function reviewActions(actions: TriggerSettings["actions"], what: string): void {
  const problems = actions.flatMap((action, index) =>
    prefixed(`/actions/${index}`, review(action))
  );
  if (problems.length > 0) throw new InvalidInputError(what, problems);
}

/** Finds the mistakes in the condition and the values of an action. */
function review(action: TriggerSettings["actions"][number]): Problem[] {
  const mistake = action.if === undefined ? undefined : conditionMistake(action.if);
  const problems = action.type === "http_request"
    ? httpRequestProblems(action)
    : mistakesIn(templatesOf(action));
  return mistake === undefined ? problems : [{ pointer: "/if", detail: mistake }, ...problems];
}

function mistakesIn(templates: unknown): Problem[] {
  return templateMistakes(templates).map(({ path, message }) => {
    return { pointer: pointer(...path), detail: message };
  });
}

/**
 * Checks a trigger that is to be saved, its secrets in clear.
 *
 * @param stored the trigger that it replaces
 * @param parts `env` reads an environment variable of the service
 * @returns warnings about literal secrets, which can be looked at only now, and about those that have ended
 * @throws {InvalidInputError} when it must not be saved
 */
export function reviewSave(
  settings: TriggerSettings,
  stored: TriggerSettings | undefined,
  { env, now_ms }: { env(name: string): string | undefined; now_ms: number },
): Problem[] {
  reviewTrigger(settings);
  return [...checkSecrets(settings, stored, env), ...endedWarnings(settings, now_ms)];
}

/** Without a proof of the sender, anyone could learn from the answers what the filter looks for. */
function reviewFiltered(trigger: TriggerSettings): Problem[] {
  const { filtered, refused, conditions } = trigger;
  const at = refused?.filter === undefined ? "/filtered" : "/refused/filter";
  if (filtered !== undefined && refused?.filter !== undefined) {
    return [{ pointer: at, detail: "Must not stand beside `filtered`, its older name" }];
  }
  const isTold = refusalStatus(trigger, "filter") < 300;
  if (!isTold || conditions.some(isAuthenticating)) return [];
  const detail = "Expected a condition that proves the sender beside it, such as hmac: found none";
  return [{ pointer: at, detail }];
}

/** Refuses `verified` where no condition proves the sender: everybody has passed them. */
function reviewHandshakes({ handshakes = [], conditions }: TriggerSettings): Problem[] {
  if (conditions.some(isAuthenticating)) return [];
  const detail = "Expected a condition that proves the sender, such as hmac: found none";
  return handshakes.flatMap(({ verified }, index) =>
    verified ? [{ pointer: `/handshakes/${index}/verified`, detail }] : []
  );
}

/** The part of a trigger that warnings are about. */
type WarnedSettings = AnswerSettings & Pick<TriggerSettings, "actions" | "callback">;

/**
 * Returns the weaknesses of a trigger's conditions, which work all the same.
 *
 * @param env reads an environment variable of the service
 */
export function triggerWarnings(
  trigger: WarnedSettings,
  env: (name: string) => string | undefined,
): Problem[] {
  const { conditions } = trigger;
  const warnings = [
    ...warningsOf(trigger, refusalStatus(trigger, "filter") < 300, env),
    ...needsWarningsOf(trigger),
    ...prefixed("/conditions", tracedTokenWarnings(conditions, env)),
    ...callbackWarnings(trigger.callback),
  ];
  if (conditions.some(isAuthenticating)) return warnings;
  return [...warnings, { pointer: "/conditions", detail: UNPROVEN_SENDER }];
}

function needsWarningsOf(trigger: WarnedSettings): Problem[] {
  try {
    const requests = trigger.actions.flatMap((action, index) =>
      action.type === "http_request"
        ? prefixed(`/actions/${index}`, httpRequestWarnings(action))
        : []
    );
    return [
      ...needsWarnings(trigger),
      ...shownValueWarnings(trigger),
      ...headerNameWarnings(trigger),
      ...requests,
    ];
  } catch {
    // Told of the conditions already: a later version has stored a kind that this one does not know.
    return [];
  }
}

function warningsOf(
  trigger: Pick<TriggerSettings, "conditions" | "handshakes">,
  ignoresFiltered: boolean,
  env: (name: string) => string | undefined,
): Problem[] {
  try {
    return [
      ...prefixed("/conditions", conditionWarnings(trigger.conditions, ignoresFiltered)),
      ...secretWarnings(trigger, env),
    ];
  } catch (error) {
    // A later version has stored a kind that this one does not know. It refuses every launch, too.
    return [{
      pointer: "/conditions",
      detail: `This version cannot use them: ${messageOf(error)}`,
    }];
  }
}
