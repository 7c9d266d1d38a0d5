/** troubleshooting.md names every reason for which a condition refuses, and every error code. */
import { assertEquals } from "@std/assert";
import { sourceFiles } from "../lint/imports.ts";
import { documentText } from "./blocks.ts";

const ROOT = new URL("../../", import.meta.url);
const PAGE = documentText("src/docs/troubleshooting.md");

function textsIn(folder: string): { path: string; text: string }[] {
  return sourceFiles("src").filter((path) => path.startsWith(folder))
    .map((path) => ({ path, text: Deno.readTextFileSync(new URL(path, ROOT)) }));
}

Deno.test("every reason of a refusal is explained", () => {
  const explained = [...PAGE.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`]*)`/g)]
    .map(([, pattern = ""]) => pattern)
    .filter(hasWords)
    .map((pattern) => new RegExp(`^${pattern.split("…").map(RegExp.escape).join(".*")}$`));
  const unexplained: string[] = [];
  for (
    const { path, text } of ["src/conditions/", "src/triggers/order.ts", "src/http/door/"].flatMap(
      textsIn,
    )
  ) {
    for (const [, , reason = ""] of text.matchAll(/reason(?:: | = )(["`])([A-Z$].*?)\1/g)) {
      const shown = reason.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "…");
      // What only puts others together.
      if (!hasWords(shown)) continue;
      if (!explained.some((pattern) => pattern.test(shown))) unexplained.push(`${path}: ${shown}`);
    }
  }
  assertEquals(unexplained, [], "add them to src/docs/troubleshooting.md");
});

Deno.test("each reason has one explanation", () => {
  const patterns = [...PAGE.matchAll(/^\| ((?:`[^`|]*`(?:, )?)+) +\|/gm)]
    .flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]*)`/g)].map(([, pattern = ""]) => pattern)
    );
  const twice = patterns.filter((pattern, index) => patterns.indexOf(pattern) !== index);
  assertEquals(twice, []);
});

Deno.test("every error code is explained, and none that there is not", () => {
  const codes = textsIn("src/").flatMap(({ text }) =>
    [...text.matchAll(/readonly code(?:: string)? = "(\w+)"/g)].map(([, code = ""]) => code)
  );
  const [, section = ""] = PAGE.split("## Error codes");
  const explained = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, code = ""]) => code);
  assertEquals(
    explained.toSorted(),
    [...new Set(codes)].sort(),
    "the table of codes is in src/docs/troubleshooting.md",
  );
});

function hasWords(text: string): boolean {
  return /[a-z]{4}/.test(text);
}
