/**
 * The names of input files: none leads out of its input's folder, and no two are the same.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { normalize } from "node:path";
import {
  checkName,
  checkNames,
  FILES_MAX,
  Names,
  suggestedName,
} from "../../../../src/engines/shared/inputs/names.ts";
import { unicode } from "../../../arbitraries.ts";

const allowed = ["a", "a b", "ä", ".hidden", "...", "a/b/c.csv", "-rf", "a\\b", "a\nb", "ü/😀.csv"];
const refused = [
  "",
  ".",
  "..",
  "/",
  "/etc/passwd",
  "a/",
  "a//b",
  "../b",
  "a/../../b",
  "a/..",
  "./a",
  "a\0b",
  "a\ud800",
  "x".repeat(256),
  "ä".repeat(128),
  `${"x".repeat(200)}/`.repeat(6) + "a",
];

Deno.test("names: which are paths inside a folder", () => {
  for (const name of allowed) checkName(name);
  for (const name of refused) {
    assertThrows(() => checkName(name), Error, "cannot be used in a path", name);
  }
});

Deno.test("names: that of an input is one folder", () => {
  const file = { name: "a", url: "http://x/" };
  checkNames({ inputs: { "my data": [file] } });
  for (const input of ["a/b", "..", "", "a\0"]) {
    assertThrows(() => checkNames({ inputs: { [input]: [file] } }), Error, "cannot be used");
  }
});

Deno.test("names: there is a limit to how many files there are", () => {
  const files = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `${at}`, url: "http://x/" }));
  checkNames({ inputs: { a: files(FILES_MAX / 2), b: files(FILES_MAX / 2) } });
  assertThrows(
    () => checkNames({ inputs: { a: files(FILES_MAX / 2), b: files(FILES_MAX / 2 + 1) } }),
    Error,
    "expected at most 1000, found 1001",
  );
});

const taken: { name: string; wanted: string[]; given: string[] }[] = [
  { name: "others", wanted: ["a.csv", "b.csv"], given: ["a.csv", "b.csv"] },
  {
    name: "the same",
    wanted: ["a.csv", "a.csv", "a.csv"],
    given: ["a.csv", "a-2.csv", "a-3.csv"],
  },
  {
    name: "one that is given already",
    wanted: ["a", "a", "a-2"],
    given: ["a", "a-2", "a-2-2"],
  },
  { name: "no extension", wanted: [".env", ".env"], given: [".env", ".env-2"] },
  { name: "in folders", wanted: ["x/a.b", "y/a.b", "x/a.b"], given: ["x/a.b", "y/a.b", "x/a-2.b"] },
  { name: "a file where a folder is", wanted: ["a/b", "a"], given: ["a/b", "a-2"] },
  {
    name: "a folder where a file is",
    wanted: ["a", "a/b", "a/c", "a"],
    given: ["a", "a-2/b", "a-2/c", "a-3"],
  },
  {
    name: "long ones stay within what a path allows",
    wanted: [`${"x".repeat(251)}.csv`, `${"x".repeat(251)}.csv`],
    given: [`${"x".repeat(251)}.csv`, `${"x".repeat(249)}-2.csv`],
  },
];

for (const { name, wanted, given } of taken) {
  Deno.test(`names: ${name}`, () => {
    const names = new Names();
    assertEquals(wanted.map((each) => names.take(each)), given);
  });
}

Deno.test("names: whatever is wanted, all are inside, each once, and can be made together", () => {
  const part = fc.oneof(
    fc.constantFrom("a", "b", "a-2", "..", ".", "", "a.csv", "\0", "é", "\ud800"),
    fc.string({ maxLength: 6 }),
  );
  const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), (wanted) => {
      const names = new Names();
      const given: string[] = [];
      for (const each of wanted) {
        try {
          checkName(each);
        } catch {
          continue;
        }
        given.push(names.take(each));
      }
      assertEquals(new Set(given).size, given.length);
      for (const path of given) {
        checkName(path);
        assertEquals(normalize(`/root/${path}`), `/root/${path}`);
        assert(!given.some((other) => other.startsWith(`${path}/`)), path);
      }
    }),
    { numRuns: 1_000 },
  );
});

const suggestions: [header: string | undefined, name: string | undefined][] = [
  [undefined, undefined],
  ["attachment", undefined],
  ['attachment; filename="a b.csv"', "a b.csv"],
  ["inline; filename=a.csv", "a.csv"],
  ["attachment; filename*=UTF-8''na%C3%AFve.txt; filename=\"x\"", "naïve.txt"],
  ['attachment; filename="../../etc/passwd"', "passwd"],
  ['attachment; filename="C:\\\\x\\\\a.csv"', "a.csv"],
  ['attachment; filename=".."', undefined],
  ['attachment; filename="/"', undefined],
  ['attachment; filename=""', undefined],
  ["attachment; filename*=UTF-8''a%00%0Ab.csv", "ab.csv"],
  ['attachment; filename="\xc3\xa9.csv"', "é.csv"],
  ["nonsense;;;", undefined],
  [`attachment; filename="${"x".repeat(300)}.csv"`, `${"x".repeat(56)}.csv`],
];

for (const [header, name] of suggestions) {
  Deno.test(`names: the header ${JSON.stringify(header)?.slice(0, 60)} suggests ${name}`, () => {
    assertEquals(suggestedName(header), name);
    if (name !== undefined) checkName(name);
  });
}

Deno.test("names: whatever a header suggests is a name", () => {
  const header = fc.oneof(
    fc.string().map((text) => `attachment; filename="${text}"`),
    unicode().map((text) => {
      try {
        return `attachment; filename*=UTF-8''${encodeURIComponent(text)}`;
      } catch {
        return text;
      }
    }),
    fc.string(),
  );
  fc.assert(fc.property(header, (text) => {
    const name = suggestedName(text);
    if (name === undefined) return;
    checkName(name);
    assert(!name.includes("/"));
  }));
});
