/**
 * The limits of a payload filter do not change what it means: bodies that are taken, the search in long
 * texts, the order of texts, the views of a request.
 */
import { assertEquals } from "@std/assert";
import type { CelInput } from "@bufbuild/cel";
import fc from "fast-check";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { textMap } from "../../../src/conditions/cel/json.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { checkOnce, form, json, type RequestParts } from "../fixture.ts";

const VALUES_MAX = 1_000_000;
const NAMES_MAX = 100_000;
/** What it may take to parse a body of as many values as are taken. */
const ELAPSED_MS_MAX = 5000;

const zeros = (length: number) => new Array(length).fill(0);

Deno.test("a map of the request looks through its keys for none that is no string", () => {
  class Unlisted extends Map<string, CelInput> {
    override keys(): never {
      throw new Error("Keys are listed");
    }
  }
  const map = textMap(new Unlisted([["a", null]]));
  assertEquals([map.get(1n), map.has(1n), map.get("a"), map.has("a")], [
    undefined,
    false,
    null,
    true,
  ]);
});

const parsed: { name: string; parts(): RequestParts }[] = [
  {
    name: "a million values",
    parts: () => ({ body: `{"list":[${zeros(VALUES_MAX - 2).join()}]}` }),
  },
  {
    name: "a hundred thousand names",
    parts: () => {
      const members = zeros(NAMES_MAX).map((_, i) => `"${i.toString(36)}aaaaaaaa":0`);
      return { body: `{${members.join()}}` };
    },
  },
  {
    name: "a hundred thousand names, each of another object",
    parts: () => ({ body: `[${zeros(NAMES_MAX).map((_, i) => `{"a${i}":0}`).join()}]` }),
  },
  {
    name: "a hundred thousand fields of a form",
    parts: () => form(zeros(NAMES_MAX).map((_, i) => `${i.toString(36)}aaaaaaaaaaa`).join("&")),
  },
];

for (const { name, parts } of parsed) {
  Deno.test(`payload_filter reads a body that it still takes: ${name}`, async () => {
    const made = parts();
    await assertTakesLess(ELAPSED_MS_MAX, async () => {
      assertEquals(await checkOnce(payloadFilter, { expression: "!has(body.x)" }, made), undefined);
    });
  });
}

Deno.test("payload_filter: a body that is no JSON is not refused for what it would hold", async () => {
  const expression = "body == null && raw.startsWith('[')";
  for (const body of [`[info]${"[".repeat(100)}`, `[]${",".repeat(VALUES_MAX)}`]) {
    assertEquals(await checkOnce(payloadFilter, { expression }, { body }), undefined);
  }
  const bom = { body: `\ufeff [${"0,".repeat(9)}0]` };
  assertEquals(await checkOnce(payloadFilter, { expression: "size(body) == 10" }, bom), undefined);
});

Deno.test("contains, size and the order of texts are as the language has them", async () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "😀", "\ud83d", "\ude00", "\uffff"),
    maxLength: 30,
  });
  await fc.assert(fc.asyncProperty(text, text, fc.nat(30), fc.nat(30), async (a, b, from, to) => {
    // Longer than what is searched for in linear time.
    const sought = `${"ab".repeat(150)}${a}`;
    const whole = `${"ab".repeat(200)}${a}${b}`;
    const expected = {
      found: whole.includes(sought),
      size: [...a].length,
      isBefore: compareCodePoints(a, b) < 0,
      isText: a.isWellFormed() && b.isWellFormed(),
    };
    const expression = "body.whole.contains(body.sought) == body.found && " +
      "body.whole.contains(body.part) && size(body.a) == body.size && (!body.isText || " +
      "(body.a < body.b) == body.isBefore && (body.b > body.a) == body.isBefore && " +
      "(body.b <= body.a) != body.isBefore && (body.a >= body.b) != body.isBefore)";
    const part = whole.slice(from, -to || undefined);
    const parts = json({ a, b, sought, whole, part, ...expected });
    assertEquals(await checkOnce(payloadFilter, { expression }, parts), undefined);
  }));
});

function compareCodePoints(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => [...text].map((sign) => sign.codePointAt(0) ?? 0));
  const differs = left?.findIndex((point, i) => point !== right?.[i]) ?? -1;
  if (differs === -1 || left === undefined || right === undefined) return a.length - b.length;
  return (left[differs] ?? -1) - (right[differs] ?? -1);
}
