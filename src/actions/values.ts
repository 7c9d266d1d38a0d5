/**
 * The settings that all kinds of actions have, and the values in settings: expressions that the request of a run
 * decides.
 *
 * @module
 */
import { z } from "zod";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { ActionError, messageOf } from "../platform/errors.ts";
import { mapValues } from "../platform/objects.ts";
import { PendingValue } from "../projects/mod.ts";
import type { ActionSettings } from "../store/records/runs.ts";

/** The settings whose texts hold values. */
const VALUE_FIELDS = ["parameters", "environment", "metadata"] as const;

/** The most texts that are looked for in a message. With more, any may be in it. */
const TEXTS_MAX = 1_000;
/** A message that tells a text tells the beginning of it. */
const START_CHARACTERS = 8;

/** The settings of actions of any kind. */
export const commonFields = {
  /** The action is skipped where this expression is false. */
  if: z.string().min(1).max(4096).optional(),
  /** The fate of the actions behind it where this one fails. */
  on_failure: z.enum(["continue", "stop"]).optional(),
};

/** The settings of an action whose texts hold values. */
type Templates = Partial<Record<typeof VALUE_FIELDS[number], unknown>>;

/**
 * Puts the values of a run's request into an action's settings.
 *
 * @returns the settings to perform the action with, or why it is skipped
 * @throws {ActionError} when a value is missing, or is none that its place can take
 */
export async function withValues<Settings extends ActionSettings>(
  settings: Settings,
  evaluate: EvaluateValues,
): Promise<{ settings: Settings } | { skipped: string }> {
  const templates = templatesOf(settings);
  if (settings.if === undefined && templates === undefined) return { settings };
  const { sourcesIn } = await import("../conditions/values/compile.ts");
  const found = await evaluate({ condition: settings.if, sources: sourcesIn(templates) });
  if (found.skipped !== undefined) return { skipped: found.skipped };
  const refuse = (why: string) => {
    throw new ActionError(`Cannot perform ${settings.type}: ${why}`);
  };
  if (found.problem !== undefined) refuse(found.problem);
  const { fill } = await import("../conditions/values/fill.ts");
  const { value, problems } = fill(templates, found.values);
  if (problems.length > 0) {
    refuse(problems.map(({ path, detail }) => `${path.join("/")}: ${detail}`).join("; "));
  }
  return { settings: { ...settings, ...Object(value) } };
}

/**
 * Watches the evaluation of one action's values: an error may repeat a value, and no log shows one that is made of a
 * credential.
 *
 * @returns the evaluation to perform the action with, and what makes the message of its error
 */
export function watchedValues(
  evaluate: EvaluateValues,
): { evaluate: EvaluateValues; messageOf(error: unknown): string } {
  const telling: { source: string; text: string }[] = [];
  return {
    async evaluate(wanted) {
      const found = await evaluate(wanted);
      for (const [index, source] of wanted.sources.entries()) {
        const value = found.values[index];
        if (!found.credentials?.includes(source) || !value || "problem" in value) continue;
        for (const text of textsIn(value.json)) {
          if (telling.length > TEXTS_MAX) break;
          telling.push({ source, text });
        }
      }
      return found;
    },
    messageOf(error) {
      const message = messageOf(error);
      const told = telling.length > TEXTS_MAX
        ? telling[0]
        : telling.find(({ text }) => isTold(text, message));
      return told === undefined
        ? message
        : `The reason is not shown: it tells the value of {${told.source}}, which reads a credential. Read another field`;
    },
  };
}

/** Lists the texts and the other values that are no lists and no maps. */
function* textsIn(json: unknown): Generator<string> {
  if (typeof json !== "object" || json === null) yield String(json);
  else for (const inner of Object.values(json)) yield* textsIn(inner);
}

/** Tells whether a message has a text, or the beginning of it, as it is or as JSON has it. */
function isTold(text: string, message: string): boolean {
  const start = text.slice(0, START_CHARACTERS);
  return start !== "" &&
    (message.includes(start) || message.includes(JSON.stringify(start).slice(1, -1)));
}

/** Says why the actions behind one that has failed are skipped. */
export function stoppedBy(place: number, { type }: ActionSettings): string {
  return `Action ${place} (${type}) failed, and its on_failure is stop`;
}

/** Returns the settings of an action whose texts hold values; undefined where none does. */
export function templatesOf(settings: ActionSettings & Templates): Templates | undefined {
  const found = VALUE_FIELDS.filter((field) => hasBrace(settings[field]));
  if (found.length === 0) return undefined;
  return Object.fromEntries(found.map((field) => [field, settings[field]]));
}

/** Puts stand-ins in the place of the values that the request of a run decides. */
export async function withPendingValues(
  parameters: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  if (!hasBrace(parameters)) return parameters;
  const { outcomesOfText } = await import("../conditions/values/outcomes.ts");
  const pending = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(pending);
    return typeof value === "string" && hasBrace(value)
      ? new PendingValue(value, outcomesOfText(value))
      : value;
  };
  return mapValues(parameters, pending);
}

/** Tells whether a text may hold an expression. */
function hasBrace(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{");
  return typeof value === "object" && value !== null && Object.values(value).some(hasBrace);
}
