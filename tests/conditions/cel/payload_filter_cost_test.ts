/**
 * No expression and no body of up to 16 MiB keeps the thread that answers requests busy: what may take long
 * runs in the Worker, ends at its time limit, and the refusal says why.
 */
import { assert, assertMatch } from "@std/assert";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import type { FilterWork } from "../../../src/conditions/filter/job.ts";
import { newHeavyWork } from "../../../src/service/heavy_work.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { checkOnce, context, form, json, type RequestParts } from "../fixture.ts";

/** Shorter than that of the service, for what runs into it. */
const TIMEOUT_MS = 100;
/** Longer, for what must run into another limit first, also on a slow machine. */
const LONG_TIMEOUT_MS = 60_000;
/** The longest time that this thread is busy: it copies 16 MiB at most, in parts. */
const BUSY_MS_MAX = 200;

const BODY_BYTES = 16 * 1024 * 1024;
const VALUES_MAX = 1_000_000;

const TIME = `it took longer than ${TIMEOUT_MS} ms`;
const LOST = "it ended the Worker";
/** The Worker is lost where the machine gives it no time to end a job: not three times in a row. */
const TRIES_MAX = 3;
const TOO_LARGE = /Invalid string length$|longer than|it ended the Worker/;
const LONG_LIST = "a list of more than 1000000 elements";
const NOT_AT_ONCE = /is false$|longer than/;

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
    reason: "contains() would look for 20001 characters in 8388608 characters",
  },
  {
    name: "looking for many texts",
    expression: "body.sought.exists(s, body.text.contains(s))",
    parts: () =>
      json({ text: "ab".repeat(BODY_BYTES / 4), sought: Array(5000).fill("ab".repeat(150) + "c") }),
    reason: "contains() would look for 301 characters in 8388608 characters",
  },
  {
    name: "adding texts",
    expression: `size(${tree("raw", "+", 32)}) == 1`,
    parts: () => rawText(large),
    reason: TOO_LARGE,
  },
  {
    name: "adding texts that are kept",
    expression: "[body.map(x, raw + x)].all(l, l.all(s, !s.contains('q')))",
    parts: () => json(Array.from({ length: 500 }, (_, i) => `${"é".repeat(8000)}${i}`)),
    reason: TOO_LARGE,
  },
  {
    name: "bytes that are kept",
    expression: "body.map(x, bytes(raw)).all(b, size(b) > 0)",
    parts: () => json(Array(500).fill("x".repeat(16_000))),
    reason: "it makes more than 33554432 bytes",
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
    reason: NOT_AT_ONCE,
  },
  {
    name: "a pattern of which each place leads to all others",
    expression: "raw.matches('(a|b)*a(a|b){14}(?:(a|b)?){900}[cd]')",
    parts: () => rawText(`c${noise(26_000)}`),
    reason: NOT_AT_ONCE,
  },
  {
    name: "a pattern in a text that is too long for it",
    expression: "raw.matches('(a|b)*a(a|b){300}[cd]')",
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
    reason: NOT_AT_ONCE,
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
    reason: NOT_AT_ONCE,
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

Deno.test("payload_filter: whatever it costs, requests go on being answered", async (t) => {
  using work = newHeavyWork();
  const within = (timeout_ms: number): FilterWork => ({
    run: (kind, input, options) => work.run(kind, input, { ...options, timeout_ms }),
  });
  // Once, so that it has started.
  const first = { ...context(), heavyWork: within(LONG_TIMEOUT_MS) };
  await checkOnce(payloadFilter, { expression: "body.all(x, x == 1)" }, json(zeros(9_000)), first);
  for (const { name, expression, parts, reason } of cases) {
    await t.step(name, async () => {
      const made = parts();
      const isOtherLimit = ![undefined, TIME, NOT_AT_ONCE, TOO_LARGE].includes(reason);
      const heavyWork = within(isOtherLimit ? LONG_TIMEOUT_MS : TIMEOUT_MS);
      await assertTakesLess(BUSY_MS_MAX, async () => {
        const surroundings = { ...context(), heavyWork };
        const check = () => checkOnce(payloadFilter, { expression }, made, surroundings);
        let refusal = await check();
        for (let tries = 1; reason === TIME && tries < TRIES_MAX; tries++) {
          if (!refusal?.reason.includes(LOST)) break;
          refusal = await check();
        }
        assert(refusal, "it passes");
        if (typeof reason === "string") assert(refusal.reason.endsWith(reason), refusal.reason);
        else assertMatch(refusal.reason, reason ?? /^/);
        assertMatch(refusal.reason, /^Payload filter /);
      });
    });
  }
});
