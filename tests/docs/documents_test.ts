/** README and the pages of `src/docs`: every command and file in them works as printed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { has } from "../needs.ts";
import { type Block, blocksOf, documents } from "./blocks.ts";
import { Terminal } from "./terminal.ts";

/** They begin in the checkout; all others where getting_started.md ends. */
const FIRST_PAGES = ["README.md", "src/docs/getting_started.md"];

for (const document of documents()) {
  const blocks = blocksOf(document);
  if (!blocks.some(isRun)) continue;
  Deno.test({
    name: `${document}: its commands and files work as printed`,
    ignore: !has("openssl"),
    async fn() {
      await using terminal = FIRST_PAGES.includes(document)
        ? await Terminal.open()
        : await Terminal.afterGettingStarted();
      let printed = "";
      for (const block of blocks) {
        if (block.file !== undefined) {
          await terminal.write(block.file, block.text);
        } else if (block.marks.includes("service")) {
          await terminal.serve(block.text);
        } else if (isRun(block)) {
          if (block.marks.includes("stopped")) await terminal.stop();
          const done = await terminal.run(block.text);
          assertEquals(done.code, 0, `${block.at}\n${block.text}\nprinted:\n${done.printed}`);
          ({ printed } = done);
          continue;
        } else if (printed !== "" && isOutput(block)) {
          if (block.language === "json") assertJson(printed, block);
          else assertMatch(printed, patternOf(block.text), block.at);
        }
        printed = "";
      }
    },
  });
}

Deno.test("the blocks of pages have marks and languages that the tests know", () => {
  const known = ["sh", "yaml", "json", "text", "ini", "nginx"];
  for (const { language, marks, at } of documents().flatMap(blocksOf)) {
    assert(known.includes(language), `${at}: the language ${language}`);
    for (const mark of marks) {
      assert(["service", "stopped", "not-run"].includes(mark), `${at}: ${mark}`);
    }
  }
});

function isRun({ language, marks, file }: Block): boolean {
  return language === "sh" && file === undefined && !marks.includes("not-run");
}

function isOutput({ language, follows }: Block): boolean {
  return follows && (language === "text" || language === "json");
}

/** Compares what was printed from its first brace or bracket on; `"…"` stands for any text. */
function assertJson(printed: string, { text, at }: Block): void {
  const actual: unknown = JSON.parse(printed.slice(printed.search(/^[[{]/m)));
  const expected: unknown = JSON.parse(text);
  assertEquals(withEllipses(actual, expected), expected, at);
}

function withEllipses(actual: unknown, expected: unknown): unknown {
  if (expected === "…") return typeof actual === "string" ? "…" : actual;
  if (!isObject(actual) || !isObject(expected)) return actual;
  if (Array.isArray(actual)) {
    return actual.map((value, index) => withEllipses(value, expected[index]));
  }
  return Object.fromEntries(
    Object.entries(actual).map(([name, value]) => [name, withEllipses(value, expected[name])]),
  );
}

function isObject(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

/** Matches what ends with a text in which `…` stands for anything; blanks are all alike. */
function patternOf(text: string): RegExp {
  const parts = text.trim().split("…").map((part) =>
    RegExp.escape(part).replaceAll(/(?:\\x20|\\n|\s)+/g, "\\s+")
  );
  return new RegExp(`${parts.join("[^]*?")}\\s*$`);
}
