import { assertEquals } from "@std/assert";
import { violations } from "./imports.ts";

/** Returns what is wrong with some files of `src`, each written as a list of lines. A test uses all they export. */
function wrongWith(files: Record<string, string[]>, test?: string): string[] {
  const entries = Object.entries(files);
  const all = entries.map(([path, lines]) => `"../src/${path}"; ${lines.join("\n")}`).join("\n");
  return violations(
    new Map(entries.map(([path, lines]) => [`src/${path}`, lines.join("\n")])),
    new Map([["tests/all_test.ts", test ?? all]]),
  );
}

const cases: [what: string, files: Record<string, string[]>, wrong: string[]][] = [
  ["nothing, of imports that lead one way", {
    "door/a.ts": ['import { b } from "../store/b.ts";'],
    "store/b.ts": ["/** Returns b. */", "export const b = 1;"],
  }, []],
  ["a circle of values in one folder", {
    "a/a.ts": ['import { b } from "./b.ts";', "export const a = 1;"],
    "a/b.ts": ["import {", "  a,", "  type A,", '} from "./a.ts";', "export const b = 1;"],
  }, ["Files import each other: src/a/a.ts ⇄ src/a/b.ts"]],
  ["a circle of folders whose files make none", {
    "a/a.ts": ['import { b } from "../b/b.ts";'],
    "a/other.ts": ["/** Returns it. */", "export const other = 1;"],
    "b/b.ts": ["/** Returns b. */", "export const b = 1;"],
    "b/c.ts": ['import { other } from "../a/other.ts";'],
  }, ["Folders import each other: a ⇄ b"]],
  ["a circle of types across folders", {
    "a/a.ts": ['import type { B } from "../b/b.ts";', "/** An A. */", "export type A = B;"],
    "b/b.ts": ['import { type A } from "../a/a.ts";', "/** A B. */", "export type B = A | 1;"],
  }, ["Files import each other: src/a/a.ts ⇄ src/b/b.ts", "Folders import each other: a ⇄ b"]],
  ["a circle of types within a folder", {
    "a/a.ts": ['import type { B } from "./b.ts";', "export type A = B;"],
    "a/b.ts": ['import type { A } from "./a.ts";', "export type B = A | 1;"],
  }, ["Files import each other: src/a/a.ts ⇄ src/a/b.ts"]],
  ["a circle of a type and an import that is made later", {
    "a/a.ts": ["export type A = 1;", 'export const load = () => import("./b.ts");'],
    "a/b.ts": ['import type { A } from "./a.ts";', "export const b: A = 1;"],
  }, ["Files import each other: src/a/a.ts ⇄ src/a/b.ts"]],
  ["an export for other folders without a comment", {
    "a/a.ts": ['import { b, type C as D } from "../b/b.ts";'],
    "b/b.ts": ["export function b() {}", "/** A C. */", "export interface C {}"],
  }, ['src/b/b.ts: "b" has no JSDoc comment, and other folders import it']],
];

for (const [what, files, wrong] of cases) {
  Deno.test(`the check of imports finds ${what}`, () => assertEquals(wrongWith(files), wrong));
}

Deno.test("the check of imports finds exports that no other file uses, in src or in tests", () => {
  const files = {
    "x/a.ts": ['import { used } from "./b.ts";'],
    "x/b.ts": [
      "export const used = 1;",
      "export const tested = used;",
      "export const unused = used;",
    ],
    "x/mod.ts": ['export { used } from "./b.ts";'],
  };
  assertEquals(wrongWith(files, 'import { tested } from "../src/x/b.ts";'), [
    'src/x/b.ts: "unused" is exported, and no other file uses it',
    'src/x/mod.ts: "used" is exported, and no other file uses it',
  ]);
});
