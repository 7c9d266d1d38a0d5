/**
 * What looks like a placeholder and is none: it stays as it is written, and a command gets it with its
 * braces.
 *
 * @module
 */
import type { Problem } from "../errors.ts";
import { pointer } from "../schema.ts";
import type { Parameter } from "./parameter.ts";

/** Not `${parameter:-x}`, which is the shell's own. */
const LOOKS = /(?<!\$)\{(parameters?|parameter-values?)([^{}\n\w-][^{}\n]{1,100})\}/g;
/** What follows the kind, whatever it is parted from the name with. */
const NAME = /^[\s:.[(]+(.*?)[\s\])]*$/;

/**
 * Warns of what looks like a placeholder and is none.
 *
 * @param written one text or a list of them, as the file has it
 * @param at where it stands
 * @param kinds the placeholders of a parameter that are known there
 */
export function placeholderWarnings(
  written: unknown,
  at: string,
  parameters: ReadonlyMap<string, Parameter>,
  kinds: readonly string[],
): Problem[] {
  return [written].flat().flatMap((text, index) => {
    if (typeof text !== "string") return [];
    const place = Array.isArray(written) ? at + pointer(index) : at;
    return Array.from(text.matchAll(LOOKS), ([found, kind = "", rest = ""]) => {
      const isPlaceholder = kinds.includes(kind) && rest.startsWith(":");
      if (isPlaceholder && parameters.has(rest.slice(1))) return [];
      const name = NAME.exec(rest)?.[1] ?? "";
      if (parameters.has(name)) {
        const expected = kinds.map((known) => `{${known}:${name}}`).join(" or ");
        const detail = `Not a placeholder, so it stays as it is: ${found}; expected ${expected}`;
        return [{ pointer: place, detail }];
      }
      // What begins with another character may be how Python formats a value.
      if (!isPlaceholder || !/^\w/.test(rest.slice(1))) return [];
      const detail = `There is no parameter "${name}", so it stays as it is: ${found}`;
      return [{ pointer: place, detail }];
    }).flat();
  });
}
