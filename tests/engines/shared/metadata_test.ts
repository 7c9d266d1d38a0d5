/** What a command prints is metadata when it is an object, and nothing that it prints does harm. */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { Metadata } from "../../../src/engines/shared/metadata.ts";
import { anyText, mutated, pieces } from "../../arbitraries.ts";
import { EngineFixture, until } from "../fixture.ts";
import { SteadyAheadClock } from "../../surroundings.ts";

const TIME = "2026-01-01T00:00:00.000Z";
const names = fc.oneof(fc.constantFrom("a", "b", "_time", "constructor"), fc.string());
const events = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }), {
  noNullPrototype: true,
}).filter((event) => !Object.hasOwn(event, "__proto__"));

Deno.test("of each key the latest value counts, and each object is an event", () => {
  fc.assert(fc.property(fc.array(events, { maxLength: 8 }), (all) => {
    const metadata = new Metadata();
    const expected: Record<string, unknown> = {};
    for (const event of all) {
      const line = metadata.take(` ${JSON.stringify(event)}\r`, TIME) ?? "";
      const plain = JSON.parse(JSON.stringify(event));
      assertEquals(JSON.parse(line), { _time: TIME, ...plain });
      Object.assign(expected, plain);
    }
    assertEquals(metadata.latest, expected);
    assertEquals([...metadata.leftOut], []);
  }));
});

Deno.test("any line is an event or none, and what is kept can be stored", () => {
  const valid = '{"a": {"b": [1, "x\\\\u0000", null]}, "__proto__": 1, "c": 1e999}';
  const deep = fc.tuple(fc.constantFrom("[", '{"a":', '[{"":['), fc.nat(8_000))
    .map(([open, count]) => {
      const close = [...open].toReversed().map((sign) => ({ "[": "]", "{": "}" })[sign] ?? "");
      return `{"deep":${open.repeat(count)}1${close.join("").repeat(count)}}`;
    });
  const text = fc.oneof(
    anyText,
    mutated(valid),
    pieces("{", "}", '"a"', ":", "1", "NaN", ",", " "),
    deep,
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (lines) => {
      const metadata = new Metadata();
      for (const line of lines) {
        const event = metadata.take(line, TIME);
        assert(event === undefined || event.endsWith("}\n") && !event.slice(0, -1).includes("\n"));
      }
      assertLessOrEqual(JSON.stringify(metadata.latest).length, 16 * 1024 + 2);
      // As the database does, which has no more stack than this.
      structuredClone(metadata.latest);
    }),
    { numRuns: 200 },
  );
});

Deno.test("a whole number that would be another one here is the text of its digits", () => {
  const metadata = new Metadata();
  const ids = "[9007199254740993, -1234567890123456789, 123456789012345678901234567890]";
  const line =
    `{"ids": ${ids}, "loss": 0.12345678901234567, "n": [-0, 1, 9007199254740992, 1e300]}`;
  const event = JSON.parse(metadata.take(line, TIME) ?? "");
  const digits = ["9007199254740993", "-1234567890123456789", "123456789012345678901234567890"];
  assertEquals([metadata.latest.ids, event.ids], [digits, digits]);
  assertEquals(metadata.latest.loss, 0.12345678901234567);
  assertEquals(metadata.latest.n, [-0, 1, 9007199254740992, 1e300]);
});

Deno.test("what Python writes for a number that JSON does not have is null, and keeps nothing else out", () => {
  const metadata = new Metadata();
  metadata.take('{"loss": 0.5, "epoch": 1}', TIME);
  const printed =
    '{"loss": NaN, "all": [Infinity, -Infinity,NaN], "NaN": "\\\\\\"NaN, -Infinity", "epoch": 2}';
  assertEquals(
    metadata.take(printed, TIME),
    `{"_time":"${TIME}","loss":null,"all":[null,null,null],` +
      '"NaN":"\\\\\\"NaN, -Infinity","epoch":2}\n',
  );
  assertEquals(metadata.latest.loss, null);
  assertEquals(metadata.latest.epoch, 2);
  for (const line of ['{"a": nan}', '{"a": NaNs}', '{"a": "NaN}', "{NaN}", '{"a": NaN "}']) {
    assertEquals(metadata.take(line, TIME), undefined, line);
  }
});

Deno.test("what is nested too deep is left out, and nothing else", () => {
  const metadata = new Metadata();
  const nested = (levels: number) => `{"at${levels}":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  for (const levels of [63, 64, 7000]) metadata.take(nested(levels), TIME);
  assertEquals(Object.keys(metadata.latest), ["at63"]);
  assertEquals([...metadata.leftOut], [
    "Metadata is left out that is nested deeper than 64 levels",
  ]);
});

Deno.test("a key that no object can have is left out, and the others of its line are not", () => {
  const metadata = new Metadata();
  for (let count = 0; count < 2; count++) metadata.take('{"a": 1, "__proto__": {"b": 2}}', TIME);
  assertEquals(metadata.latest, { a: 1 });
  assertEquals([...metadata.leftOut], [
    'Metadata with the key "__proto__" is left out: expected another key',
  ]);
});

Deno.test("more keys than are kept are left out", () => {
  const metadata = new Metadata();
  for (let count = 0; count <= 500; count++) metadata.take(`{"k${count}": 1}`, TIME);
  assertEquals([...metadata.leftOut], ["There is too much metadata: some of it is left out"]);
});

for (const [name, character] of [["ASCII", "x"], ["CJK", "字"]] as const) {
  Deno.test(`more events than are kept are left out, and the latest values are not: ${name}`, () => {
    const metadata = new Metadata();
    const long = character.repeat(4_000);
    let kept = 0;
    for (let count = 1; count <= 5_000; count++) {
      const line = metadata.take(JSON.stringify({ count, long }), TIME) ?? "";
      kept += new TextEncoder().encode(line).length;
    }
    assertLessOrEqual(kept, 16 * 1024 * 1024);
    assertEquals(metadata.latest.count, 5_000);
    assertEquals([...metadata.leftOut], ["There is too much metadata: some of it is left out"]);
  });
}

Deno.test("an execution's record has its metadata while its command runs", async () => {
  const clock = new SteadyAheadClock();
  await using fixture = await EngineFixture.make({ clock });
  const id = await fixture.submit(`echo '{"a": 1}'; exec sleep 100`);
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  clock.ahead_ms = 60_000;
  await until(async () => (await fixture.record(id)).metadata.a === 1);
  assertEquals(await fixture.engine.stop(id), true);
  assertEquals((await fixture.ended(id)).status, "stopped");
});
