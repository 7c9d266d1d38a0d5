/**
 * What keeps the cost of a payload filter within its bounds does not change what it means: bodies that
 * are taken, the search in long texts, the views of a request, and what is told when time is up.
 */
import { assertEquals, assertLess } from "@std/assert";
import type { CelInput } from "@bufbuild/cel";
import fc from "fast-check";
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import { textMap } from "../../src/conditions/cel_json.ts";
import { contains, countCodePoints } from "../../src/conditions/cel_search.ts";
import { checkOnce, context, form, json, type RequestParts, TestClock } from "./fixture.ts";

const VALUES_MAX = 1_000_000;
/** What it may take to parse a body of as many values as are taken. */
const ELAPSED_MS_MAX = 5000;
const TIME = "it took longer than 1000 ms";

const zeros = (length: number) => new Array(length).fill(0);

Deno.test("payload_filter: nothing is called missing because the time was up", async () => {
  const told = new Set<string>();
  for (let step_ms = 10; step_ms < 1000; step_ms += 10) {
    const clock = new TestClock();
    clock.steady = () => clock.time_ms += step_ms;
    const list = { all: [{ path: "body.a", op: "eq", value: "1" }] };
    const refusal = await checkOnce(payloadFilter, list, json({ a: 2 }), context({ clock }));
    told.add(`${refusal?.reason}; ${refusal?.found}`);
  }
  assertEquals([...told].sort(), [
    `Payload filter failed: ${TIME}; undefined`,
    "Payload filter is false: body.a is no string; body.a is 2",
    "Payload filter is false; body.a is 2",
    "Payload filter is false; undefined",
  ]);
});

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
    name: "a million keys",
    parts: () => {
      const members = zeros(VALUES_MAX - 2).map((_, i) => `"${i.toString(36)}aaaaaaaa":0`);
      return { body: `{${members.join()}}` };
    },
  },
  {
    name: "a million fields of a form",
    parts: () =>
      form(zeros(VALUES_MAX - 2).map((_, i) => `${i.toString(36)}aaaaaaaaaaa`).join("&")),
  },
];

for (const { name, parts } of parsed) {
  Deno.test(`payload_filter reads a body that it still takes: ${name}`, async () => {
    const made = parts();
    const start_ms = performance.now();
    assertEquals(await checkOnce(payloadFilter, { expression: "!has(body.x)" }, made), undefined);
    assertLess(performance.now() - start_ms, ELAPSED_MS_MAX);
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

Deno.test("contains and size of a text are what the language says", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "😀", "\ud83d", "\ude00"),
    maxLength: 30,
  });
  fc.assert(fc.property(text, text, fc.nat(30), fc.nat(30), (prefix, end, from, to) => {
    // Long enough for the search that is not the engine's.
    const sought = `${"ab".repeat(150)}${prefix}`;
    const whole = `${"ab".repeat(200)}${prefix}${end}`;
    assertEquals(contains(whole, sought), whole.includes(sought));
    assertEquals(contains(whole, whole.slice(from, -to || undefined)), true);
    assertEquals(countCodePoints(prefix), [...prefix].length);
  }));
});
