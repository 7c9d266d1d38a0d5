/**
 * What keeps the cost of a payload filter within its bounds does not change what it means: bodies that
 * are taken, the search in long texts, the views of a request, and what is told when time is up.
 */
import { assertEquals, assertLess } from "@std/assert";
import type { CelInput } from "@bufbuild/cel";
import fc from "fast-check";
import type { Check } from "../../../src/conditions/check.ts";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { textMap } from "../../../src/conditions/cel/json.ts";
import { contains, countCodePoints } from "../../../src/conditions/cel/search.ts";
import type { LaunchRequest } from "../../../src/conditions/request.ts";
import { TestClock } from "../../surroundings.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { checkOnce, context, form, json, NOW_MS, request, type RequestParts } from "../fixture.ts";

const VALUES_MAX = 1_000_000;
const NAMES_MAX = 100_000;
/** What it may take to parse a body of as many values as are taken. */
const ELAPSED_MS_MAX = 5000;
const TIME = "it took longer than 1000 ms";

const zeros = (length: number) => new Array(length).fill(0);

Deno.test("payload_filter: nothing is called missing because the time was up", async () => {
  const told = new Set<string>();
  for (let step_ms = 10; step_ms < 1000; step_ms += 10) {
    const clock = new TestClock(NOW_MS);
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

Deno.test("payload_filter: all filters of a request share one time, and reading the body takes none of it", async () => {
  // Time goes by a millisecond whenever an evaluation looks at the clock.
  const clock = new TestClock(NOW_MS);
  clock.steady = () => clock.time_ms++;
  const prepared = (expression: string) =>
    payloadFilter.prepare(
      payloadFilter.schema.parse({ type: "payload_filter", expression }),
      context({ clock }),
    );
  const query = Array.from({ length: 100 }, (_, index) => `k${index}=1`).join("&");
  const [first, second] = [prepared("query.all(k, k != '')"), prepared("body.all(k, k != 1)")];
  const sent = () => {
    const made = request({ ...json(zeros(100)), query });
    let parse_ms = 5_000;
    return {
      ...made,
      parsedBody: () => {
        clock.time_ms += parse_ms;
        parse_ms = 0;
        return made.parsedBody();
      },
    };
  };
  const reasons = async (request: LaunchRequest, filters: Check[]) => {
    const refusals: (string | undefined)[] = [];
    for (const filter of filters) refusals.push((await filter(request))?.reason);
    return refusals;
  };
  assertEquals(await reasons(sent(), [first, second]), [undefined, undefined]);
  const many = await reasons(sent(), new Array(100).fill(first));
  const passed = many.indexOf(`Payload filter failed: ${TIME}`);
  assertLess(2, passed, "one filter needs less than the time of all");
  assertEquals(new Set(many.slice(0, passed)), new Set([undefined]));
  assertEquals(new Set(many.slice(passed)), new Set([`Payload filter failed: ${TIME}`]));
  const late = await reasons(sent(), [...new Array(passed).fill(first), second]);
  assertEquals(late.at(-1), `Payload filter failed: ${TIME}`);
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
