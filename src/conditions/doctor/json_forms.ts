/**
 * The ways in which programs write the same JSON.
 *
 * @module
 */

/** Deeper JSON is not written: pretty-printed, it could be thousands of times as long as it came. */
const LEVELS_MAX = 32;

/** A longer text is longer than any body that is diagnosed. */
const CHARACTERS_MAX = 1024 * 1024;

/** A way of writing JSON, and its name in a sentence. */
interface JsonForm {
  words: string;
  write(value: unknown): string;
}

function isRaw(value: object): boolean {
  return Object.getPrototypeOf(value) === null && "rawJSON" in value;
}

/** Returns true for JSON whose other forms are not tried. */
export function isTooDeep(value: unknown, levels = LEVELS_MAX): boolean {
  if (typeof value !== "object" || value === null || isRaw(value)) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** Lists the other forms of JSON, the most usual first. None is written before it is asked for. */
export function* jsonForms(value: unknown): Generator<{ words: string; text: string }> {
  for (const order of ORDERS) {
    const ordered = order.arrange(value);
    for (const { words, write } of LAYOUTS) {
      const text = write(ordered);
      if (text.length > CHARACTERS_MAX) continue;
      for (const { words: escaped, change } of ESCAPES) {
        const all = [words, order.words, escaped].filter((part) => part !== "").join(", ");
        yield { words: all, text: change(text) };
      }
    }
  }
}

const LAYOUTS: readonly JsonForm[] = [
  { words: "compact JSON", write: (value) => JSON.stringify(value) },
  {
    words: "pretty-printed JSON with 2 spaces",
    write: (value) => JSON.stringify(value, undefined, 2),
  },
  {
    words: "pretty-printed JSON with 4 spaces",
    write: (value) => JSON.stringify(value, undefined, 4),
  },
  {
    words: "JSON with blanks after commas and colons, as Python writes it",
    write: (value) => withBlanks(JSON.stringify(value)),
  },
  {
    words: "pretty-printed JSON with tabs",
    write: (value) => JSON.stringify(value, undefined, "\t"),
  },
];

const ORDERS = [
  { words: "", arrange: (value: unknown) => value },
  { words: "keys sorted", arrange: sorted },
];

const ESCAPES = [
  { words: "", change: (text: string) => text },
  { words: "other characters than ASCII escaped as `\\u…`", change: escapeUnicode },
  { words: "`/` escaped, as PHP writes it", change: escapeSlashes },
  {
    words: "`/` and other characters than ASCII escaped, as PHP writes it",
    change: (text: string) => escapeSlashes(escapeUnicode(text)),
  },
  { words: "`<`, `>` and `&` escaped, as Go writes it", change: escapeHtml },
];

/** Puts a blank after each comma and colon outside of strings. */
function withBlanks(compact: string): string {
  return compact.replace(
    /"(?:[^"\\]|\\.)*"|[,:]/g,
    (part) => part.length === 1 ? `${part} ` : part,
  );
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isRaw(value)) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

function escapeUnicode(text: string): string {
  return text.replace(/[\x7f-\uffff]/g, unicodeEscape);
}

function escapeSlashes(text: string): string {
  return text.replaceAll("/", "\\/");
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&\u2028\u2029]/g, unicodeEscape);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
