/** The checker of histories: it takes right ones, and finds each mistake that was planted. */
import { assertEquals } from "@std/assert";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";
import { History, type Operation } from "./history.ts";

type Told = Partial<Operation> & Pick<Operation, "kind">;

const OPEN = { outcome: "unknown" } as const;

/** Operations of one key, `at` sent and answered so many milliseconds after the begin. */
function history(model: Operation["model"], operations: readonly [at: number[], Told][]): History {
  const all = new History();
  for (const [client, [[sent_ms = 0, answered_ms = sent_ms], told]] of operations.entries()) {
    all.add({ client, model, key: "k", outcome: "ok", sent_ms, answered_ms, ...told });
  }
  return all;
}

/** Launches of a trigger that takes two in 3 s. */
function quota(...operations: [at: number[], Partial<Operation>?][]): History {
  const limit = { kind: "launch", quota: 2, period: 3e6 } as const;
  return history("quota", operations.map(([at, told]) => [at, { ...limit, ...told }]));
}

/** Runs of a concurrency key with so many places. */
function turns(limit: number, ...operations: [at: number[], Told][]): History {
  return history("turn", operations.map(([at, told]) => [at, { limit, ...told }]));
}

/** Launches of a trigger that takes two in 3 s, and refusals. */
function refusals(...operations: [at: number[], Partial<Operation>][]): History {
  const limit = { kind: "launch", quota: 2, period: 3e6 } as const;
  return history("refusal", operations.map(([at, told]) => [at, { ...limit, ...told }]));
}

const REFUSED = { kind: "refused" } as const;
const launch = (value: string): Told => ({ kind: "launch", value });
const stored = (...values: string[]): Told => ({ kind: "stored", values });
const begin = (value: string): Told => ({ kind: "begin", value });
const end = (value: string): Told => ({ kind: "end", value });
const perform = (...values: string[]): Told => ({
  kind: "perform",
  value: values.at(-1) ?? "",
  values,
});
const REST: Told = { kind: "rest" };
const write = (value: string): Told => ({ kind: "write", value });
const read = (value: string): Told => ({ kind: "read", value });

const CASES: Record<"ok" | "illegal", Record<string, History>> = {
  ok: {
    "a full quota, and a launch once its first is a period old": quota(
      [[0, 10]],
      [[5, 20]],
      [[2_990, 3_000]],
    ),
    "a launch over the quota that may have been counted late": quota(
      [[0, 10]],
      [[5, 20]],
      [[100, 3_100]],
    ),
    "launches that are counted in another order than they were sent": quota(
      [[0, 4_000]],
      [[1, 2]],
      [[3, 4]],
    ),
    "launches over the quota that are refused, or open": quota(
      [[0, 10]],
      [[5, 20]],
      [[30, 40], { outcome: "fail" }],
      [[30, 40], OPEN],
    ),
    "repeats of a delivery at once": history("delivery", [
      [[0, 50], launch("a")],
      [[10, 20], launch("a")],
      [[60], stored("a")],
    ]),
    "a launch without an answer that is stored": history("delivery", [
      [[0, 10], { kind: "launch", ...OPEN }],
      [[20, 30], { kind: "launch", ...OPEN }],
      [[60], stored("a")],
    ]),
    "a launch without an answer that is not stored": history("delivery", [
      [[0, 10], { kind: "launch", ...OPEN }],
      [[60], stored()],
    ]),
    "a change without an answer that takes effect late": history("version", [
      [[0, 1], write("1")],
      [[2, 3], { ...write("2"), ...OPEN }],
      [[4, 5], read("1")],
      [[6, 7], read("2")],
    ]),
    "launches that lie in each other": quota(
      [[0, 9_000]],
      [[100, 8_500]],
      [[1_000, 7_000]],
      [[2_000, 2_001]],
      [[2_002, 2_003]],
      [[5_002, 5_003]],
    ),
    "commands in the order of commits, which is not that of answers": turns(
      1,
      [[0, 50], launch("a")],
      [[10, 20], launch("b")],
      [[30], begin("b")],
      [[40], end("b")],
      [[41], begin("a")],
      [[60], end("a")],
    ),
    "two turns whose commands begin the other way round": turns(
      2,
      [[0, 1], launch("a")],
      [[2, 3], launch("b")],
      [[30], begin("b")],
      [[40], begin("a")],
      [[50], end("a")],
      [[60], end("b")],
    ),
    "a launch without an answer that was accepted late": turns(
      1,
      [[0, 1], { ...launch("a"), ...OPEN }],
      [[2, 3], launch("b")],
      [[30], begin("b")],
      [[40], end("b")],
      [[41], begin("a")],
    ),
    "a burst, and the next one that began before it was performed": history("burst", [
      [[0, 10], launch("a")],
      [[5, 20], launch("b")],
      [[30, 40], launch("c")],
      [[50], perform("b", "a")],
      [[60], perform("c")],
      [[70], REST],
    ]),
    "a burst whose run made no command": history("burst", [
      [[0, 10], launch("a")],
      [[0, 10], { ...perform("a"), ...OPEN }],
      [[70], REST],
    ]),
    "a refusal behind a full quota, and one while it may be full": refusals(
      [[0, 10], {}],
      [[5, 20], OPEN],
      [[30, 40], REFUSED],
      [[2_990, 3_020], REFUSED],
    ),
  },
  illegal: {
    "a launch too many between launches that lie in each other": quota(
      [[0, 9_000]],
      [[100, 8_000]],
      [[1_000, 7_000]],
      [[2_000, 2_001]],
      [[2_002, 2_003]],
      [[5_002, 5_003]],
      [[5_004, 5_005]],
      [[8_100, 8_101]],
      [[8_000, 8_200]],
    ),
    "three commands of two places": turns(
      2,
      [[0, 1], launch("a")],
      [[0, 1], launch("b")],
      [[0, 1], launch("c")],
      [[30], begin("a")],
      [[31], begin("b")],
      [[32], begin("c")],
    ),
    "a command before that of an earlier commit": turns(
      1,
      [[0, 1], launch("a")],
      [[2, 3], launch("b")],
      [[30], begin("b")],
      [[40], end("b")],
      [[41], begin("a")],
    ),
    "a command before its launch": turns(1, [[10], begin("a")], [[20, 30], launch("a")]),
    "a command that runs twice": turns(
      2,
      [[0, 1], launch("a")],
      [[30], begin("a")],
      [[40], end("a")],
      [[41], begin("a")],
    ),
    "a launch in no burst": history("burst", [
      [[0, 10], launch("a")],
      [[15, 20], launch("b")],
      [[50], perform("b")],
      [[70], REST],
    ]),
    "a launch that is left": history("burst", [
      [[0, 10], launch("a")],
      [[15, 20], launch("b")],
      [[50], perform("a")],
      [[70], REST],
    ]),
    "a launch in two bursts": history("burst", [
      [[0, 10], launch("a")],
      [[15, 20], launch("b")],
      [[50], perform("a")],
      [[60], perform("a", "b")],
      [[70], REST],
    ]),
    "a burst that is performed as an older launch": history("burst", [
      [[0, 10], launch("a")],
      [[15, 20], launch("b")],
      [[50], perform("b", "a")],
      [[70], REST],
    ]),
    "a refusal while there is room": refusals([[0, 10], {}], [[30, 40], REFUSED]),
    "a refusal once the first is a period old": refusals(
      [[0, 10], {}],
      [[5, 20], {}],
      [[3_021, 3_030], REFUSED],
    ),
    "a refusal without a quota": refusals([[0, 10], { ...REFUSED, quota: 0, period: 0 }]),
    "a quota exceeded by one": quota([[0, 10]], [[5, 20]], [[2_900, 2_999]]),
    "a quota exceeded behind an open launch": quota(
      [[0, 10]],
      [[0, 10], OPEN],
      [[5, 20]],
      [[2_900, 2_999]],
    ),
    "two runs of a delivery": history("delivery", [
      [[0, 50], launch("a")],
      [[10, 20], launch("b")],
    ]),
    "two stored runs of a delivery": history("delivery", [
      [[0, 10], { kind: "launch", ...OPEN }],
      [[10, 20], launch("a")],
      [[60], stored("a", "b")],
    ]),
    "an accepted launch that is lost": history("delivery", [
      [[0, 10], launch("a")],
      [[60], stored()],
    ]),
    "a refused launch that is stored": history("delivery", [
      [[0, 10], { kind: "launch", outcome: "fail" }],
      [[60], stored("a")],
    ]),
    "a change that is read backwards": history("version", [
      [[0, 1], write("1")],
      [[2, 20], write("2")],
      [[3, 4], read("2")],
      [[5, 6], read("1")],
    ]),
    "an old version between many changes without an answer": history("version", [
      [[0, 1], write("1")],
      ...Array.from(
        { length: 60 },
        (_, index): [number[], Told] => [[2, 3], { ...write(`open ${index}`), ...OPEN }],
      ),
      [[4, 5], read("open 7")],
      [[6, 7], read("1")],
    ]),
    "an old version after a change was answered": history("version", [
      [[0, 1], write("1")],
      [[2, 3], write("2")],
      [[4, 5], read("1")],
    ]),
  },
};

Deno.test({
  name: "histories: right ones pass, each planted mistake is found",
  ignore: !has("check-history"),
  async fn() {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/history`;
    for (const [verdict, cases] of Object.entries(CASES)) {
      for (const [name, each] of Object.entries(cases)) {
        const { code, lines } = await each.check(path);
        assertEquals(lines[0]?.split(" ")[0], verdict, `${name}:\n${lines.join("\n")}`);
        assertEquals(code, verdict === "ok" ? 0 : 1, name);
      }
    }
  },
});

Deno.test({
  name: "histories: of a thousand launches one too many is found",
  ignore: !has("check-history"),
  async fn() {
    await using folder = await temporaryFolder();
    const long = new History();
    const add = (client: number, sent_ms: number) =>
      long.add({
        client,
        model: "quota",
        key: "k",
        kind: "launch",
        outcome: "ok",
        quota: 30,
        period: 3e6,
        sent_ms,
        answered_ms: sent_ms + 150,
      });
    // Thirty in three seconds, one each 100 ms, two at once at most.
    for (let count = 0; count < 1_000; count++) add(count % 12, count * 100);
    assertEquals((await long.check(`${folder.path}/right`)).code, 0);
    for (let count = 0; count < 3; count++) add(12 + count, 50_000);
    const { code, lines } = await long.check(`${folder.path}/wrong`);
    assertEquals(code, 1, lines.join("\n"));
  },
});

Deno.test({
  name: "histories: a line that is no operation is an error",
  ignore: !has("check-history"),
  async fn() {
    await using folder = await temporaryFolder();
    const { code, lines } = await history("version", [[[2, 1], write("1")]])
      .check(`${folder.path}/history`);
    assertEquals([code, lines[0]?.startsWith("operation 1 is not one of its model")], [2, true]);
  },
});
