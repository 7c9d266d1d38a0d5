/**
 * YAML that people write: what is read, what is refused, and where things are.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { pointer } from "../../../src/platform/schema/pointer.ts";
import type { LocatedProblem } from "../../../src/platform/yaml/positions.ts";
import { parseYaml, YAML_BYTES_MAX } from "../../../src/platform/yaml/parse.ts";
import { anyText, assertInside, codePoint, mutated, pieces } from "../../arbitraries.ts";
import { assertTakesLess } from "../../surroundings.ts";

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
    g: 1,
  });
  assertEquals(parseYaml("", "x").value, null);
});

Deno.test("yaml: merge keys bring the fields of other maps", () => {
  const read = (text: string) => parseYaml(text, "x");
  const cases: [text: string, value: unknown][] = [
    ["- &a { x: 1, y: { z: 1 } }\n- { <<: *a, y: 2 }", [{ x: 1, y: { z: 1 } }, { x: 1, y: 2 }]],
    ["- &a { x: 1 }\n- { x: 2, <<: *a }", [{ x: 1 }, { x: 2 }]],
    [
      "- &a { x: 1 }\n- &b { <<: *a, y: 1 }\n- { <<: [{ x: 2 }, *b], z: 1 }\n- *b",
      [{ x: 1 }, { x: 1, y: 1 }, { x: 2, y: 1, z: 1 }, { x: 1, y: 1 }],
    ],
    ["- &a { x: 1 }\n- n: { <<: *a }", [{ x: 1 }, { n: { x: 1 } }]],
    ["<<: {}\na: 1", { a: 1 }],
    ["<<: text\na: 1", { "<<": "text", a: 1 }],
    ["<<: [{ b: 1 }, [1]]\na: 1", { "<<": [{ b: 1 }, [1]], a: 1 }],
    ["<<:\na: 1", { "<<": null, a: 1 }],
    ["<<: { __proto__: { x: 1 } }", JSON.parse('{ "__proto__": { "x": 1 } }')],
  ];
  for (const [text, value] of cases) assertEquals(read(text).value, value, text);
  const { locate } = read(
    "a: &a\n  x: 1\nb: &b\n  y: 2\n  <<: *a\nc:\n  <<: [*b, { z: 3 }]\n  d: 4\n",
  );
  const places: [pointer: string, line: number, column: number][] = [
    ["/c/d", 8, 3],
    ["/c/y", 4, 3],
    ["/c/x", 2, 3],
    ["/c/z", 7, 14],
    ["/c/missing", 6, 1],
  ];
  for (const [pointer, line, column] of places) {
    assertEquals(locate(pointer), { line, column }, pointer);
  }
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
  ["a: 1\na: 2\n", ['line 2, column 1: Map keys must be unique, found "a" again']],
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
  ["a: {{x}}\n", [
    "line 1, column 5: Expected text for a key, found a list or a map: " +
    "text that begins with a brace is put in quotes",
  ]],
  ["a: *b\n", ["line 1, column 4: Expected an alias of an anchor above, found *b"]],
  ["a: 1\nb: [2, *b]\nc: &d 1\ne: *d\n", [
    "line 2, column 8: Expected an alias of an anchor above, found *b",
  ]],
  ["a: &b [1, *b]\n", [
    "line 1, column 11: Expected no alias inside of what it stands for, found *b",
  ]],
  ["a: &b\n  c: &d { e: [*b] }\n  f: *d\n", [
    "line 2, column 15: Expected no alias inside of what it stands for, found *b",
  ]],
];

Deno.test("yaml: what is refused, and where", () => {
  for (const [text, problems] of refused) assertEquals(problemsOf(text), problems, text);
});

Deno.test("yaml: bytes are UTF-8, with or without a mark before them, or refused where they are not", () => {
  const bytes = (...parts: (string | number)[]) =>
    Uint8Array.from(
      parts.flatMap((part) =>
        typeof part === "number" ? [part] : [...new TextEncoder().encode(part)]
      ),
    );
  for (const mark of [[], [0xef, 0xbb, 0xbf]]) {
    const { value, locate } = parseYaml(bytes(...mark, "- a: é\r\n  b: 2\r\n"), "x");
    assertEquals(value, [{ a: "é", b: 2 }]);
    assertEquals([locate("/0/a"), locate("/0/b")], [
      { line: 1, column: 3 },
      { line: 2, column: 3 },
    ]);
  }
  const error = assertThrows(
    () => parseYaml(bytes("a: é\nb: gr", 0xfc, "n\nc: ", 0xff), "x.yaml"),
    InvalidInputError,
  );
  assertEquals(error.problems.map(({ detail }) => detail), [
    "line 2, column 6: Expected text in UTF-8, found bytes that are none",
  ]);
});

Deno.test("yaml: aliases that multiply are refused", () => {
  let text = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (const [before, name] of ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"]) {
    text += `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]\n`;
  }
  assertStringIncludes(problemsOf(text).join(), "Excessive alias count");
  const wide = `- &a { ${Array.from({ length: 2_000 }, (_, at) => `k${at}: 1`).join(", ")} }\n` +
    "- { <<: *a }\n".repeat(51);
  assertEquals(problemsOf(wide), [
    "line 1, column 1: Cannot be read: Merge keys bring over 100000 fields",
  ]);
  const merging = text.replace(/\*(.)/g, "{ <<: *$1 }").replace(/\[x.*/, "{ x: 1 }")
    .replace(/: (&.) \[(.*)\]/g, ": $1 { n: [$2] }");
  assertStringIncludes(problemsOf(merging).join(), "Excessive alias count");
});

Deno.test("yaml: too long and too deep texts are refused", () => {
  assertStringIncludes(problemsOf("#".repeat(YAML_BYTES_MAX + 1)).join(), "at most 1048576 bytes");
  assertStringIncludes(problemsOf("[".repeat(100_000)).join(), "Nested too deeply");
});

Deno.test("yaml: texts of too many parts, and of too deep ones, are refused in a moment", async () => {
  const parts = "Expected at most 200000 keys, values and marks";
  const deep = "Nested too deeply: expected at most 100 levels";
  const indented = Array.from({ length: 1_000 }, (_, at) => `${" ".repeat(at)}a:\n`).join("");
  const cases: [text: string, problem: string][] = [
    ["- a\n".repeat(260_000), `line 66667, column 4: ${parts}`],
    [`[${"a,".repeat(500_000)}]`, `line 1, column 200001: ${parts}`],
    ["#\n".repeat(500_000), `line 100001, column 1: ${parts}`],
    ["[".repeat(500_000), `line 1, column 101: ${deep}`],
    ["{ a: ".repeat(200_000), `line 1, column 501: ${deep}`],
    ["- ".repeat(500_000), `line 1, column 201: ${deep}`],
    [indented, `line 101, column 101: ${deep}`],
    [`- ${"[".repeat(100)}`, `line 1, column 102: ${deep}`],
  ];
  for (const [text, problem] of cases) {
    await assertTakesLess(1_500, () => assertEquals(problemsOf(text), [problem], text.slice(0, 9)));
  }
});

Deno.test("yaml: what is a hundred levels deep is read", () => {
  const brackets = "[".repeat(100) + "]".repeat(100);
  assertEquals(JSON.stringify(parseYaml(brackets, "x").value), brackets);
  const items = parseYaml("- ".repeat(99) + "a", "x").value;
  assertEquals(JSON.stringify(items), `${"[".repeat(99)}"a"${"]".repeat(99)}`);
  const fields = Array.from({ length: 100 }, (_, at) => `${" ".repeat(at)}a:\n`).join("");
  assertEquals(JSON.stringify(parseYaml(fields, "x").value).replace(/[^{]/g, "").length, 100);
  const siblings = "- a:\n    - b: [c, { d: e }]\n  f: |\n    - text\n".repeat(1_000);
  assertEquals(Object(parseYaml(siblings, "x").value).length, 1_000);
});

Deno.test("yaml: tens of thousands of fields are read in a moment, and a repeated one is found", async () => {
  const fields = Array.from({ length: 40_000 }, (_, i) => `k${i}: 1\n`);
  await assertTakesLess(10_000, () => {
    assertEquals(Object.keys(Object(parseYaml(fields.join(""), "x").value)).length, fields.length);
    assertEquals(problemsOf(`${fields.join("")}k7: 2\n`), [
      'line 40001, column 1: Map keys must be unique, found "k7" again',
    ]);
  });
});

Deno.test("yaml: a thousand aliases are taken, and no more", () => {
  const aliases = (count: number) =>
    `[${Array.from({ length: count }, (_, i) => `&a${i} ${i}, *a${i}`).join(", ")}]`;
  assertEquals(Object(parseYaml(aliases(1000), "x").value).length, 2000);
  assertEquals(problemsOf(aliases(1002)), [
    "line 1, column 17685: Expected at most 1000 aliases",
  ]);
});

const written = `# A document with a bit of everything
projects: &all
  - name: "digits \\u00e9"
    list: [1, 2.5, -0x1f, ~, true, { a: b, 'c''d': e }]
    text: |-
      first
        second
  - &other
    folded: >
      one
      two

    ? key
    : *other
again: *all
`;
const signs = [
  ..."[]{}:,-?&*!|>'\"%@`#~\n\t ",
  ...[
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "!!int ",
    "<<: ",
    "- ",
    "\r\n",
    "\ufeff",
    "1e999",
    "\\UFFFFFFFF",
  ],
];
const deep = fc.tuple(
  fc.constantFrom("[", "{a: ", "- ", "? ", "a:\n ", "!!seq [", "&a [", '"'),
  fc.nat(1500),
).map(([piece, count]) => piece.repeat(count));

Deno.test("yaml: any text is read, or refused with places inside of it", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyText, pieces(...signs, "a", "b"), mutated(written, ...signs)),
      (text) => {
        const { value, locate, located } = tried(text) ?? {};
        if (value === undefined) return;
        for (
          const at of ["", "/projects/0/name", "/0/a", "/projects/1/key/folded/x", "/-1", "//"]
        ) {
          assertInside(text, locate?.(at) ?? { line: 0, column: 0 });
        }
        for (const problem of located?.([{ pointer: "/a", detail: "x" }]) ?? []) {
          assertInside(text, problem);
        }
      },
    ),
    { numRuns: 600 },
  );
});

Deno.test("yaml: however deep a text is, it is read or refused", () => {
  fc.assert(fc.property(deep, (text) => void tried(text)), { numRuns: 15 });
});

/** What is read of a text; undefined when it is refused as it must be. */
function tried(text: string): ReturnType<typeof parseYaml> | undefined {
  try {
    return parseYaml(text, "x");
  } catch (error) {
    assertInstanceOf(error, InvalidInputError);
    assert(error.problems.length > 0);
    // What is wrong with YAML has a place.
    for (const problem of error.problems as LocatedProblem[]) assertInside(text, problem);
    return undefined;
  }
}

/** JSON whose numbers stay what they are. */
const json = fc.jsonValue({ stringUnit: codePoint }).filter((value) =>
  !/(?<![\w."-])-0(?![.\d])/.test(JSON.stringify(value)) && !hasLargeWhole(value)
);

function hasLargeWhole(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some(hasLargeWhole);
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

Deno.test("yaml: any JSON is read as it is", () => {
  fc.assert(fc.property(json, (value) => {
    const text = JSON.stringify(value);
    assertEquals(parseYaml(text, "x").value, JSON.parse(text));
    assertEquals(parseYaml(JSON.stringify(value, null, 2), "x").value, JSON.parse(text));
  }));
});

Deno.test("yaml: each field is found where its name is, each element where it begins", () => {
  fc.assert(fc.property(json, (value) => {
    const text = JSON.stringify(value, null, 2);
    const { locate } = parseYaml(text, "x");
    const lines = text.split("\n");
    const check = (inner: unknown, path: readonly PropertyKey[]) => {
      const { line, column } = locate(pointer(...path));
      const found = lines[line - 1]?.slice(column - 1) ?? "";
      const last = path.at(-1);
      const expected = typeof last === "string" ? last : inner;
      const begins = typeof expected === "object" && expected !== null
        ? JSON.stringify(expected).slice(0, 1)
        : JSON.stringify(expected);
      assert(found.startsWith(begins), `${pointer(...path)}: ${found} is not ${begins}`);
      if (Array.isArray(inner)) inner.forEach((each, i) => check(each, [...path, i]));
      else if (typeof inner === "object" && inner !== null) {
        for (const [name, each] of Object.entries(inner)) check(each, [...path, name]);
      }
    };
    check(JSON.parse(text), []);
  }));
});
