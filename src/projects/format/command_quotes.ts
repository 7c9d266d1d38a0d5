/**
 * Placeholders within quotes of a command. A value comes quoted for the shell: within quotes of the
 * author's, its own end them, or mean nothing, and the shell would run what it holds.
 *
 * @module
 */
import type { Problem } from "../../platform/errors.ts";
import { hasShebang } from "./command.ts";
import type { Parameter } from "./parameter.ts";

/** What text stands in: quotes, or none, as within `$(…)`, also where that is in quotes. */
type Place = '"' | "'" | "(";

const VALUE = /\{(?:params|parameters|parameter(?:-value)?:([^{}\n]+))\}/.source;
const TOKENS: Record<Place, RegExp> = {
  '"': new RegExp(`\\\\[^]|"|\\$\\(|${VALUE}`, "g"),
  "'": new RegExp(`'|${VALUE}`, "g"),
  "(": new RegExp(`\\\\[^]|(?<!\\S)#.*|["'()]|${VALUE}`, "g"),
};
/** A first line that names a shell to which quotes mean what they mean to `sh`. */
const SHELL = /^#!\s*\S*\/(?:env\s+(?:-S\s*)?(?:\S*\/)?)?(?:a|ba|da|k|z)?sh(?:\s|$)/;
const ENDS: Record<Place, string> = { '"': '"', "'": "'", "(": ")" };

/** Warns of placeholders in quotes that may stand for any text, with pointers relative to the commands. */
export function quoteWarnings(
  commands: readonly string[],
  parameters: ReadonlyMap<string, Parameter>,
): Problem[] {
  // Of what quotes mean to other interpreters nothing is known.
  const script = commands.join("\n").trim();
  if (hasShebang(script) && !SHELL.test(script)) return [];
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
        detail: `The values of ${placeholder} have quotes of their own: within those around it, ` +
          "the shell would run what a value holds, such as $(…)",
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
