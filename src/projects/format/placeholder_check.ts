/**
 * What looks like a placeholder and is none: it stays as it is written, and a command gets it with its
 * braces.
 *
 * @module
 */
import type { Problem } from "../../platform/errors.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import type { Parameter } from "./parameter.ts";

/** Not `${parameter:-x}`, which is the shell's own. */
const LOOKS = /(?<!\$)\{(parameters?|parameter-values?)([^{}\n\w-][^{}\n]{1,100})\}/g;
/** Of how many in one text it is told. */
const TOLD_MAX = 100;
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
    const details = text.matchAll(LOOKS).map(([found, kind = "", rest = ""]) =>
      whatIsWrong(found, { kind, rest }, parameters, kinds)
    );
    return Array.from(
      details.filter((detail) => detail !== undefined).take(TOLD_MAX),
      (detail) => ({
        pointer: place,
        detail,
      }),
    );
  });
}

function whatIsWrong(
  found: string,
  { kind, rest }: { kind: string; rest: string },
  parameters: ReadonlyMap<string, Parameter>,
  kinds: readonly string[],
): string | undefined {
  const isPlaceholder = kinds.includes(kind) && rest.startsWith(":");
  if (isPlaceholder && parameters.has(rest.slice(1))) return undefined;
  const name = NAME.exec(rest)?.[1] ?? "";
  if (parameters.has(name)) {
    const expected = kinds.map((known) => `{${known}:${name}}`).join(" or ");
    return `Not a placeholder, so it stays as it is: ${found}; expected ${expected}`;
  }
  // What begins with another character may be how Python formats a value.
  if (!isPlaceholder || !/^\w/.test(rest.slice(1))) return undefined;
  return `There is no parameter "${name}", so it stays as it is: ${found}`;
}
