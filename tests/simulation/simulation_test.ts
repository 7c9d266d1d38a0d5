/** What must hold of acceptance and work, on many schedules of calls, crashes, lost answers and failed commits. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { check, describe } from "./check.ts";
import type { Defect } from "./world.ts";

Deno.test("simulation: each accepted run is performed once, quotas and deduplication are exact", async () => {
  const checked = await check({ runs: 60 });
  assertEquals(describe(checked), "");
  assertGreater(checked.accepted, 200);
});

Deno.test("simulation: a seed gives the same schedules again", async () => {
  const [first, second] = [await check({ runs: 8, seed: 7 }), await check({ runs: 8, seed: 7 })];
  assertEquals(second, first);
  assertEquals((await check({ runs: 8, seed: 8 })).trace === first.trace, false);
});

/** Each with a finding by which it shows, and a seed that finds it soon. */
const DEFECTS: readonly [Defect, RegExp, seed: number][] = [
  ["lost undo", /was refused though there was room/, 15],
  ["window not restored", /more than \d+ launches in \d+ s/, 2],
  [
    "unchecked commit",
    /made run|is started|executions complete|was stored twice|is pending|began again/,
    1,
  ],
  ["unchecked ledger", /launched twice|more than \d+ launches/, 15],
  ["commits that are not fenced off", /is unavailable, and made run/, 6],
];

for (const [defect, finding, first] of DEFECTS) {
  Deno.test(`simulation: it finds a planted defect, and repeats it: ${defect}`, async () => {
    const { failure, seed } = await check({ runs: 2_000, seed: first, defect });
    assert(failure, "nothing was found");
    assert(failure.findings.some((each) => finding.test(each)), failure.findings.join("\n"));
    const again = await check({ runs: 1, seed, path: failure.path, defect });
    assertEquals(again.failure?.findings, failure.findings);
  });
}
