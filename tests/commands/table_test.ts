/** What came from a sender or a step is shown without what would move the cursor or turn the text. */
import { assertEquals } from "@std/assert";
import { harmless, harmlessJson } from "../../src/commands/table.ts";

const MARKS = ["\u061c", "\u200e", "\u200f"];
const EMBEDDINGS = ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e"];
const ISOLATES = ["\u2066", "\u2067", "\u2068", "\u2069"];
const LINES = ["\u2028", "\u2029"];
const UPPER = ["\x7f", "\x85", "\x9b"];

for (const character of [...UPPER, ...LINES, ...MARKS, ...EMBEDDINGS, ...ISOLATES]) {
  const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  Deno.test(`${escaped} does nothing to what is printed`, () => {
    assertEquals(harmless(`a${character}b`), "a b");
    const json = harmlessJson(JSON.stringify(`a${character}b`));
    assertEquals(json, `"a${escaped}b"`);
    assertEquals(JSON.parse(json), `a${character}b`);
  });
}

Deno.test("other text is printed as it is", () => {
  const text = "ä € 日本 עברית \u200d \u2019";
  assertEquals(harmless(text), text);
  assertEquals(harmlessJson(text), text);
});
