/**
 * No expression and no body of up to 16 MiB takes much longer than an evaluation may, nor more memory
 * than is counted. The clock of these tests runs twenty times as fast as time does, so that the
 * second that an evaluation has is over after 50 ms: what does not look at the clock shows.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Clock } from "../../../src/platform/clock.ts";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { TestClock } from "../../surroundings.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { checkOnce, context, form, json, type RequestParts } from "../fixture.ts";

const SPEED = 20;
/** What an evaluation has, and what the machine and the parsing of a body may add. */
const ELAPSED_MS_MAX = 50 + 450;
/** What it may take to reach a bound that is not the time: the clock of those cases stands still. */
const BOUND_MS_MAX = 3_000;
/** What it may take to look for a pattern in as much text as may be: that is not stopped. */
const SEARCH_MS_MAX = 3_000;

const BODY_BYTES = 16 * 1024 * 1024;
const VALUES_MAX = 1_000_000;

const fastClock: Clock = {
  now: () => Date.now() * SPEED,
  steady: () => performance.now() * SPEED,
};

const TIME = "it took longer than 1000 ms";
const SIZE = "it made texts and lists of more than 33554432 characters";
const LONG_LIST = "a list of more than 1000000 elements";

/** The expression `term op term op …` with `count` terms, a power of two, as flat as it can be. */
function tree(term: string, op: string, count: number): string {
  if (count === 1) return term;
  const half = tree(term, op, count / 2);
  return `(${half} ${op} ${half})`;
}

function rawText(text: string): RequestParts {
  return { body: text };
}

/** A text without a pattern that a set of states could stand for. */
function noise(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = Math.imul(state, 1_103_515_245) + 12_345;
    return state & 0x10000 ? "a" : "b";
  }).join("");
}

const many = (term: string) => Array(60).fill(term).join();
const zeros = (length: number) => new Array(length).fill(0);
const large = "a".repeat(BODY_BYTES);

interface Case {
  name: string;
  expression: string;
  /** Made when the case runs: all of them together are large. */
  parts(): RequestParts;
  /** Why the request is refused: the end of the reason, or any where it is not told. */
  reason?: string | RegExp;
  /** What it may take, where that is more than elsewhere. */
  most_ms?: number;
}

const texts: Case[] = [
  {
    name: "sizes of all of the body",
    expression: tree("size(raw) == 1", "||", 64),
    parts: () => rawText(large),
    reason: TIME,
  },
  {
    name: "sizes of characters beyond the basic plane",
    expression: tree("size(raw) == 1", "||", 64),
    parts: () => rawText("😀".repeat(BODY_BYTES / 4)),
    reason: TIME,
  },
  {
    name: "looking for a text that almost fits everywhere",
    expression: "body.text.contains(body.sought)",
    parts: () => {
      const half = "a".repeat(10_000);
      return json({ text: "a".repeat(BODY_BYTES / 2), sought: `${half}b${half}` });
    },
    reason: /is false$|longer than/,
  },
  {
    name: "looking for many texts",
    expression: "body.sought.exists(s, body.text.contains(s))",
    parts: () =>
      json({ text: "ab".repeat(BODY_BYTES / 4), sought: Array(5000).fill("ab".repeat(150) + "c") }),
    reason: TIME,
  },
  {
    name: "adding texts",
    expression: `size(${tree("raw", "+", 32)}) == 1`,
    parts: () => rawText(large),
    reason: SIZE,
  },
  {
    name: "adding texts that are kept",
    expression: "[body.map(x, raw + x)].all(l, l.all(s, !s.contains('q')))",
    parts: () => json(Array.from({ length: 500 }, (_, i) => `${"é".repeat(8000)}${i}`)),
    reason: SIZE,
  },
  {
    name: "bytes that are kept",
    expression: "body.map(x, bytes(raw)).all(b, size(b) > 0)",
    parts: () => json(Array(500).fill("x".repeat(16_000))),
    reason: SIZE,
  },
  {
    name: "a number of 16 million digits",
    expression: "int(raw) == 1",
    parts: () => rawText("9".repeat(BODY_BYTES)),
    reason: "int() takes no text of more than 256 characters",
  },
  {
    name: "a time of 16 million digits",
    expression: "timestamp(raw) == now",
    parts: () => rawText("9".repeat(BODY_BYTES)),
    reason: "timestamp() takes no text of more than 256 characters",
  },
  {
    name: "a time zone of 16 million characters",
    expression: "now.getHours(raw) == 1",
    parts: () => rawText(large),
    reason: "getHours() takes no text of more than 256 characters",
  },
  {
    name: "a name of 16 million characters in an error",
    expression: "body[body.name] == 1",
    parts: () => json({ name: "a".repeat(BODY_BYTES - 20) }),
    reason: /field not found: a+…$/,
  },
];

const patterns: Case[] = [
  {
    name: "a pattern with more states than can be kept",
    expression: "raw.matches('(a|b)*a(a|b){20}[cd]')",
    parts: () => rawText(`c${noise(100_000)}`),
    reason: /is false$|longer than/,
  },
  {
    name: "a pattern of which each place leads to all others",
    expression: "raw.matches('(a|b)*a(a|b){14}(?:(a|b)?){900}[cd]')",
    parts: () => rawText(`c${noise(26_000)}`),
    reason: /is false$|longer than/,
    most_ms: SEARCH_MS_MAX,
  },
  {
    name: "a pattern in a text that is too long for it",
    expression: "raw.matches('(a|b)*a(a|b){300}[cd]') || true",
    parts: () => rawText(noise(200_000)),
    reason: "a pattern of 908 parts would be looked for in 200000 characters",
  },
  {
    name: "a simple pattern again and again",
    expression: tree("raw.matches('[cd]$')", "||", 128),
    parts: () => rawText(large),
    reason: TIME,
  },
  {
    name: "a pattern of the sender's with large repeats",
    expression: "'a'.matches(body)",
    parts: () => json("(?:\\pL){1000}".repeat(300)),
    reason: "Invalid pattern: has repeats that make more than 10000 parts",
  },
  {
    name: "a pattern of the sender's with repeats of nothing",
    expression: "'a'.matches(body)",
    parts: () => json("(?:".repeat(99) + "){1000}".repeat(99)),
    reason: "Invalid pattern: has repeats that make more than 10000 parts",
  },
  {
    name: "a pattern of the sender's that names a large class many times",
    expression: "'1'.matches(body)",
    parts: () => json(`[${"\\pL".repeat(1300)}]`),
    reason: "is false",
  },
  {
    name: "a pattern of 16 million characters",
    expression: "'a'.matches(raw)",
    parts: () => rawText(large),
    reason: "Invalid pattern: has more than 4096 characters",
  },
];

const lists: Case[] = [
  {
    name: "adding lists",
    expression: `size(${tree("body", "+", 256)}) == 1`,
    parts: () => json(zeros(100_000)),
    reason: LONG_LIST,
  },
  {
    name: "rounds of a macro that read nothing of the request",
    expression: `[body.map(x, 0)].all(l, ${tree("l.all(y, true) && false", "||", 64)})`,
    parts: () => json(zeros(10_000)),
    reason: TIME,
  },
  {
    name: "macros in one another",
    expression: "body.all(x, body.all(y, x == y))",
    parts: () => json(zeros(10_000)),
    reason: TIME,
  },
  {
    name: "an error in each round",
    expression: "body.exists(x, x / 0 == 1)",
    parts: () => json(zeros(200_000)),
    reason: TIME,
  },
  {
    name: "an end that is passed over",
    expression: "body.all(x, body.all(y, x + y >= 0)) || true",
    parts: () => json(zeros(10_000)),
    reason: TIME,
  },
  {
    name: "equality of lists that share their parts",
    expression: `[body.map(x, 0)].all(l, [[[${many("l")}], [${many("l + []")}]]].all(p, ` +
      `[${many("p[0]")}] == [${many("p[1]")}]))`,
    parts: () => json(zeros(20_000)),
    reason: TIME,
  },
  {
    name: "a list of lists that are looked through",
    expression: "[body.map(x, 0)].all(l, l.exists(y, 1 in l))",
    parts: () => json(zeros(10_000)),
    reason: TIME,
  },
  {
    name: "many parameters of the query",
    expression: "query.a == 'x'",
    parts: () => ({ query: Array.from({ length: 16_000 }, (_, i) => i.toString(36)).join("&") }),
    reason: /is false$|longer than/,
  },
];

const REFUSED_BODY = `it holds more than ${VALUES_MAX} values`;

const bodies: Case[] = [
  {
    name: "8 million numbers",
    expression: "body == 1",
    parts: () => ({ body: `[${"0,".repeat(BODY_BYTES / 2 - 2)}0]` }),
    reason: REFUSED_BODY,
  },
  {
    name: "5 million objects",
    expression: "body == 1",
    parts: () => ({ body: `[${"{},".repeat(BODY_BYTES / 3 - 2)}0]` }),
    reason: REFUSED_BODY,
  },
  {
    name: "8 million lists in one another",
    expression: "body == 1",
    parts: () => ({ body: "[".repeat(BODY_BYTES / 2) + "]".repeat(BODY_BYTES / 2) }),
    reason: "it is nested too deep",
  },
  {
    name: "8 million fields of a form",
    expression: "has(body.x)",
    parts: () => form("a&".repeat(BODY_BYTES / 2)),
    reason: "it holds more than 100000 names",
  },
  {
    name: "objects with names of their own",
    expression: "has(body.x)",
    parts: () => ({ body: `[${zeros(100_001).map((_, i) => `{"a${i}":0}`).join()}]` }),
    reason: "it holds more than 100000 names",
  },
  {
    name: "brackets and commas in strings",
    expression: "body.a == 1",
    parts: () => ({ body: `{"a":"${'\\\\\\",[{'.repeat(BODY_BYTES / 8)}"}` }),
    reason: "is false",
  },
];

const cases = [...texts, ...patterns, ...lists, ...bodies];

for (const { name, expression, parts, reason, ...limits } of cases) {
  Deno.test(`payload_filter ends in time: ${name}`, async () => {
    const made = parts();
    // Where another bound is meant, a slow machine must not reach the time's first.
    const isBound = typeof reason === "string" && reason !== TIME;
    const surroundings = context({ clock: isBound ? new TestClock() : fastClock });
    const { most_ms = isBound ? BOUND_MS_MAX : ELAPSED_MS_MAX } = limits;
    await assertTakesLess(most_ms, async () => {
      const refusal = await checkOnce(payloadFilter, { expression }, made, surroundings);
      assert(refusal, "it passes");
      if (typeof reason === "string") assert(refusal.reason.endsWith(reason), refusal.reason);
      else assertMatch(refusal.reason, reason ?? /^/);
    });
  });
}

const literals = [`[${zeros(400)}]`, `{${zeros(100).map((_, i) => `${i}: 0`)}}`];

for (const literal of literals) {
  const expression = `size(body.map(x, ${literal})) == 1`;
  Deno.test(`payload_filter counts what each round makes: ${literal.slice(0, 10)}…`, async () => {
    const refusal = await checkOnce(payloadFilter, { expression }, json(zeros(50_000)));
    assertEquals(refusal?.reason, `Payload filter failed: ${SIZE}`);
  });
}

Deno.test("payload_filter: a list that takes too long says so, and not that something is missing", async () => {
  const list = { all: [{ path: "raw", op: "matches", value: "(a|b)*a(a|b){30}[cd]" }] };
  const parts = rawText(`c${noise(100_000)}`);
  const refusal = await checkOnce(payloadFilter, list, parts, context({ clock: fastClock }));
  assertEquals(refusal?.reason, `Payload filter failed: ${TIME}`);
});
