import { assert, assertEquals } from "@std/assert";
import { parseEnvFile } from "../../../src/commands/input/env_text.ts";

const cases: { text: string; expected: Record<string, string>; remarks?: number }[] = [
  { text: "A=b", expected: { A: "b" } },
  { text: "A=long-0123#tail", expected: { A: "long-0123#tail" } },
  { text: "A=#0123-long", expected: { A: "#0123-long" } },
  { text: "A= #tail\nB=c", expected: { A: "", B: "c" }, remarks: 2 },
  { text: "A=b # a comment", expected: { A: "b" }, remarks: 1 },
  { text: "A=b\t# a comment\nB=c", expected: { A: "b", B: "c" }, remarks: 1 },
  { text: "A='b # c' # a comment", expected: { A: "b # c" } },
  { text: 'A="b#c\\nd"', expected: { A: "b#c\nd" } },
  { text: "A='b\\n'", expected: { A: "b\\n" } },
  { text: 'A=`it\'s "b"`', expected: { A: 'it\'s "b"' } },
  {
    text: 'A="-----BEGIN\nB=c\n-----END"\nC=d',
    expected: { A: "-----BEGIN\nB=c\n-----END", C: "d" },
  },
  { text: "A=\nB=c", expected: { A: "", B: "c" }, remarks: 1 },
  { text: 'A=""', expected: { A: "" }, remarks: 1 },
  { text: "# A=b\n  # B=c\n\nC=d\r\nD=e\r\n", expected: { C: "d", D: "e" } },
  { text: "  export A =  b c  ", expected: { A: "b c" } },
  { text: "A=b=c?d&e", expected: { A: "b=c?d&e" } },
  { text: "A='b", expected: { A: "'b" } },
  { text: "A=b\nA=c", expected: { A: "c" } },
  { text: "no variable\n=b\n1A=c", expected: {} },
];

Deno.test("a file of variables: comments begin after a blank alone, and what is cut or empty is told", () => {
  for (const { text, expected, remarks = 0 } of cases) {
    const parsed = parseEnvFile(text);
    assertEquals(Object.fromEntries(parsed.variables), expected, text);
    assertEquals(parsed.remarks.length, remarks, `${text}: ${parsed.remarks}`);
    assert(parsed.remarks.every((remark) => !/tail|comment$/.test(remark)), String(parsed.remarks));
  }
});
