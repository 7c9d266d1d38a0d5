/**
 * The schema of the names of triggers: letters of any script, since people read them. Addresses have ids.
 *
 * @module
 */
import { z } from "zod";
import { quotedList } from "../platform/text/display.ts";

const CHARACTERS_MAX = 64;
const EXPECTED =
  "Expected letters, digits, single spaces, dots, underscores or hyphens, a letter or digit first";
/** Marks are parts of letters in many scripts. Those that show nothing, or pile up, are none. */
const NAME = /^[\p{L}\p{Nd}]\p{M}{0,3}(?:[\p{L}\p{Nd}]\p{M}{0,3}|[._-]| (?! |$))*$/u;
const NOT_SEEN = /[\p{Default_Ignorable_Code_Point}\p{C}]/u;
const NOT_IN_NAME = /[^\p{L}\p{M}\p{Nd}. _-]/u;
/** Alphabets with letters that look the same. */
const ALPHABETS = ["Latin", "Greek", "Cyrillic", "Armenian", "Cherokee", "Coptic", "Lisu"]
  .map((name) => ({ name, has: new RegExp(`\\p{Script=${name}}`, "u") }));

/** A text that is looked for among names. Letters that are written in parts are put together (Unicode's form NFC). */
export const triggerNameText = z.string().min(1).max(CHARACTERS_MAX).normalize("NFC");

/** The name of a trigger. */
export const triggerNameSchema = triggerNameText.superRefine(
  (name, context) => {
    if (context.issues.length > 0) return;
    const message = mistakeIn(name);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  },
);

/** Says why a text is no name of a trigger; undefined where it is one. */
function mistakeIn(name: string): string | undefined {
  // A few letters are two in that form.
  if (name.length > CHARACTERS_MAX) return `Expected at most ${CHARACTERS_MAX} characters`;
  const [strange] = NOT_SEEN.exec(name) ?? NOT_IN_NAME.exec(name) ?? [];
  if (strange !== undefined) return `${EXPECTED}: found ${shown(strange)}`;
  if (!NAME.test(name)) return `${EXPECTED}: found ${JSON.stringify(name)}`;
  if (/[0-9]/.test(name) && /(?![0-9])\p{Nd}/u.test(name)) {
    return "Expected digits of one script, found those of several";
  }
  for (const word of name.split(/[ ._-]/)) {
    const found = ALPHABETS.filter(({ has }) => has.test(word)).map(({ name }) => name);
    if (found.length < 2) continue;
    return `Expected letters of one alphabet in a word, found ${quotedList(found)} in "${word}"`;
  }
  return undefined;
}

function shown(character: string): string {
  const point = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return NOT_SEEN.test(character) ? point : `${JSON.stringify(character)} (${point})`;
}
