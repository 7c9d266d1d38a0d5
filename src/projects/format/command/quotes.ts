/**
 * Placeholders within quotes of a command. A value has its own quotes. Within the author's quotes
 * these end them, or mean nothing, and the shell would run what the value holds.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
import { hasShellQuotes } from "./command.ts";
import type { Parameter } from "../step/parameter.ts";

/** The kind of quotes around a text; `(` for none, as within `$(…)`. */
type Place = '"' | "'" | "(";

const VALUE = /\{(?:params|parameters|parameter(?:-value)?:([^{}\n]+))\}/.source;
const TOKENS: Record<Place, RegExp> = {
  '"': new RegExp(`\\\\[^]|"|\\$\\(|${VALUE}`, "g"),
  "'": new RegExp(`'|${VALUE}`, "g"),
  "(": new RegExp(`\\\\[^]|(?<!\\S)#.*|["'()]|${VALUE}`, "g"),
};
const ENDS: Record<Place, string> = { '"': '"', "'": "'", "(": ")" };

/**
 * Returns warnings of placeholders in quotes that may stand for any text, with pointers into the
 * commands.
 */
export function quoteWarnings(
  commands: readonly string[],
  parameters: ReadonlyMap<string, Parameter>,
): Problem[] {
  // Other interpreters have other quotes.
  const script = commands.join("\n").trim();
  if (!hasShellQuotes(script)) return [];
  const isText = (parameter?: Parameter) => parameter?.type === "string" && !parameter.choices;
  let isAnyText: boolean | undefined;
  const mayBeText = (name: string | undefined) =>
    name === undefined
      ? isAnyText ??= parameters.values().some(isText)
      : isText(parameters.get(name));
  return commands.flatMap((command, index) =>
    placeholdersInQuotes(command)
      .filter(({ name }) => mayBeText(name))
      .map(({ placeholder }) => ({
        pointer: `/${index}`,
        detail: `A value of ${placeholder} has its own quotes: within the quotes around it, ` +
          "the shell would run what the value holds, such as $(…)",
      }))
  );
}

function placeholdersInQuotes(
  command: string,
): { placeholder: string; name: string | undefined }[] {
  const found = [];
  const places: Place[] = [];
  for (let at = 0;;) {
    const place = places.at(-1) ?? "(";
    const token = TOKENS[place];
    token.lastIndex = at;
    const [text, name] = token.exec(command) ?? [];
    if (text === undefined) return found;
    at = token.lastIndex;
    if (text.startsWith("{")) {
      if (place !== "(") found.push({ placeholder: text, name });
    } else if (text === ENDS[place]) places.pop();
    else if (text === '"' || text === "'") places.push(text);
    else if (text.endsWith("(")) places.push("(");
  }
}
