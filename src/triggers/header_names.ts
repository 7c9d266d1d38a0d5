/**
 * Headers that no value and no condition of an action ever finds: names of headers are in lower case there.
 *
 * @module
 */
import { templatesOf } from "../actions/values.ts";
import { sourcesIn } from "../conditions/values/compile.ts";
import type { Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { responseTexts } from "./response.ts";
import { pathsOf, textsIn } from "./shown_values.ts";
import type { TriggerSettings } from "./trigger.ts";

/** Warns of expressions that read a header by a name with capitals. */
export function headerNameWarnings(
  { actions, response }: Pick<TriggerSettings, "actions" | "response">,
): Problem[] {
  const ofActions = actions.flatMap((action, index) => [
    ...action.if === undefined ? [] : [{ sources: [action.if], path: ["actions", index, "if"] }],
    ...valuesIn(textsOf(action), ["actions", index]),
  ]);
  const ofResponse = response ? valuesIn(responseTexts(response), ["response"]) : [];
  return [...ofActions, ...ofResponse].flatMap(({ sources, path }) =>
    Array.from(new Set(sources.flatMap(wrongNames)), (name) => ({
      pointer: pointer(...path),
      detail: `Never finds the header ${JSON.stringify(name)}: ` +
        `write its name in lower case, ${JSON.stringify(name.toLowerCase())}`,
    }))
  );
}

/** Returns the settings of an action whose texts may hold values. A header with a secret holds none. */
function textsOf(action: TriggerSettings["actions"][number]): object | undefined {
  if (action.type !== "http_request") return templatesOf(action);
  const { url, headers, body } = action;
  const texts = Object.entries(headers).filter(([, value]) => typeof value === "string");
  return { url, headers: Object.fromEntries(texts), body };
}

function valuesIn(value: unknown, at: PropertyKey[]): { sources: string[]; path: PropertyKey[] }[] {
  return textsIn(value, at).map(({ text, path }) => ({ sources: sourcesIn(text), path }));
}

function wrongNames(source: string): string[] {
  // Most expressions read no header: they are not parsed for each list of triggers.
  if (!/\bheaders\b.*[A-Z]/s.test(source)) return [];
  return pathsOf(source).flatMap(([variable, name]) =>
    variable === "headers" && typeof name === "string" && name !== name.toLowerCase() ? [name] : []
  );
}
