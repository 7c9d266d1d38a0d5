/** What came from a sender or a step is shown without what would move the cursor or turn the text. */
import { assertEquals } from "@std/assert";
import { harmless, printFields, printList } from "../../../src/commands/console/table.ts";
import { harmlessJson } from "../../../src/commands/console/harmless_json.ts";

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

/** What is printed on standard output, line by line. */
function printed(print: () => void): unknown[] {
  const lines: unknown[] = [];
  const { log } = console;
  console.log = (line) => lines.push(line);
  try {
    print();
    return lines;
  } finally {
    console.log = log;
  }
}

Deno.test("a list is a table whose columns are as wide as what is in them, up to a limit", () => {
  const rows = [["a", "long"], ["longer", undefined], [null, "x".repeat(121)]];
  const columns = [
    ["one", ([one]: typeof rows[number]) => one],
    ["two", ([, two]: typeof rows[number]) => two],
  ] as const;
  assertEquals(printed(() => printList(rows, columns)), [
    "ONE     TWO",
    "a       long",
    "longer",
    `        ${"x".repeat(119)}…`,
  ]);
  assertEquals(printed(() => printList(["x".repeat(120)], [["one", (one) => one]])), [
    "ONE",
    "x".repeat(120),
  ]);
});

Deno.test("a record is printed with the fields that are there", () => {
  const record = { id: 7, none: undefined, nothing: null, "a\x1bb": "", long_name: false };
  assertEquals(printed(() => printFields(record)), ["id         7", "a b", "long_name  false"]);
});
