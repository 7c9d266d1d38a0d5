/**
 * Text that looks like a placeholder and is none: a command gets it as it is written, with its
 * braces.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
import { pointer } from "../../../platform/schema/pointer.ts";
import type { Parameter } from "../step/parameter.ts";

/** Text that looks like a placeholder. `${parameter:-x}` is the shell's own. */
const LOOKS = /(?<!\$)\{(parameters?|parameter-values?)([^{}\n\w-][^{}\n]{1,100})\}/g;
/** The number of warnings about one text. */
const TOLD_MAX = 100;
/** The name, behind any separator. */
const NAME = /^[\s:.[(]+(.*?)[\s\])]*$/;

/**
 * Returns warnings of text that looks like a placeholder and is none.
 *
 * @param written one text or a list of them, as in the file
 * @param at its pointer
 * @param kinds the kinds of placeholders that are replaced there
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
      problemWith(found, { kind, rest }, parameters, kinds)
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

function problemWith(
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
  // Another character may begin a format of Python.
  if (!isPlaceholder || !/^\w/.test(rest.slice(1))) return undefined;
  return `There is no parameter "${name}", so it stays as it is: ${found}`;
}
