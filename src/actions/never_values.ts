/**
 * Values of actions that can never have a place: a list as a part of a text, or as a variable.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { kindInWords } from "../projects/mod.ts";
import type { ActionSettings } from "../store/records/runs.ts";

/** Settings whose texts stay texts, whatever their values are. */
const TEXTS = ["environment", "headers", "url"] as const;
/** Settings whose texts become any value where they are one expression. */
const VALUES = ["body", "metadata", "parameters"] as const;

type Settings = ActionSettings & Partial<Record<(typeof TEXTS | typeof VALUES)[number], unknown>>;

/** Finds the values of an action whose kinds are known and that no text can hold. */
export async function neverValues(settings: Settings): Promise<Problem[]> {
  const { neverTexts } = await import("../conditions/values/outcomes.ts");
  const problems: Problem[] = [];
  const visit = (value: unknown, path: string[], isText: boolean): void => {
    if (typeof value === "object" && value !== null) {
      // A secret is no text with values.
      if (Object.hasOwn(value, "secret") && path[0] === "headers") return;
      for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key], isText);
    } else if (typeof value === "string" && value.includes("{")) {
      for (const never of neverTexts(value, { isWhole: isText })) {
        const expected = `Expected a text, a number, true or false of {${never.source}}`;
        const detail = `${expected}, found ${kindInWords(never.value)}`;
        problems.push({ pointer: pointer(...path), detail });
      }
    }
  };
  for (const field of TEXTS) visit(settings[field], [field], true);
  for (const field of VALUES) visit(settings[field], [field], false);
  return problems;
}
