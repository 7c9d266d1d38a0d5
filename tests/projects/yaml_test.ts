/**
 * YAML that people write: what is read, what is refused, and where things are.
 *
 * @module
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../src/errors.ts";
import { parseYaml, YAML_BYTES_MAX } from "../../src/yaml.ts";

/** The problems of a text that is refused, as lines. */
function problemsOf(text: string): string[] {
  const error = assertThrows(() => parseYaml(text, "x.yaml"), InvalidInputError);
  return error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
}

Deno.test("yaml: values are those of YAML 1.2", () => {
  const text = "a: yes\nb: 0o17\nc: 1e3\nd: ~\ne: 2020-01-01\nf: |\n  x\n  y\n1: one\n<<: {g: 1}\n";
  assertEquals(parseYaml(text, "x").value, {
    "1": "one",
    a: "yes",
    b: 15,
    c: 1000,
    d: null,
    e: "2020-01-01",
    f: "x\ny\n",
    "<<": { g: 1 },
  });
  assertEquals(parseYaml("", "x").value, null);
});

Deno.test("yaml: where things are", () => {
  const { locate } = parseYaml(
    "# head\nlist:\n  - name: a\n    n: 1\n  - &b\n    name: b\n  - *b\n'a/b~c':\n  x: 1\n",
    "x",
  );
  const cases: [pointer: string, line: number, column: number][] = [
    ["", 2, 1],
    ["/list", 2, 1],
    ["/list/0", 3, 5],
    ["/list/0/n", 4, 5],
    ["/list/1/name", 6, 5],
    ["/list/2/name", 6, 5],
    ["/a~1b~0c/x", 9, 3],
    ["/list/0/missing", 3, 5],
    ["/list/9", 2, 1],
    ["/missing/deeper", 2, 1],
  ];
  for (const [pointer, line, column] of cases) {
    assertEquals(locate(pointer), { line, column }, pointer);
  }
});

const refused: [text: string, problems: string[]][] = [
  ["a: 1\na: 2\n", ["line 2, column 1: Map keys must be unique"]],
  ["a: 1\n  b: 2\n", [
    "line 1, column 4: Nested mappings are not allowed in compact mappings",
    "line 1, column 4: Implicit keys need to be on a single line",
  ]],
  ["a: !secret x\n", ["line 1, column 4: Unresolved tag: !secret"]],
  ["a: !!python/object:os.system x\n", [
    "line 1, column 4: Unresolved tag: tag:yaml.org,2002:python/object:os.system",
  ]],
  ["a: 1\n---\nb: 2\n", ["line 2, column 1: Expected one document, found another"]],
  ["a: 12345678901234567890\n", [
    "line 1, column 4: Expected a number that can be kept as it is, found 12345678901234567890: " +
    "put it in quotes to make it text",
  ]],
  ["a: 1\nb: .inf\n", [
    "line 2, column 4: Expected a number that can be kept as it is, found .inf: " +
    "put it in quotes to make it text",
  ]],
  ["a: *b\n", [
    "line 1, column 1: Cannot be read: " +
    "Unresolved alias (the anchor must be set before the alias): b",
  ]],
];

Deno.test("yaml: what is refused, and where", () => {
  for (const [text, problems] of refused) assertEquals(problemsOf(text), problems, text);
});

Deno.test("yaml: aliases that multiply are refused", () => {
  let text = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (const [before, name] of ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"]) {
    text += `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]\n`;
  }
  assertStringIncludes(problemsOf(text).join(), "Excessive alias count");
});

Deno.test("yaml: too long and too deep texts are refused", () => {
  assertStringIncludes(problemsOf("#".repeat(YAML_BYTES_MAX + 1)).join(), "at most 1048576 bytes");
  assertStringIncludes(problemsOf("[".repeat(100_000)).join(), "Nested too deeply");
});
