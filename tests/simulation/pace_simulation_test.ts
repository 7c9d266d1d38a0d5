/** Paces and schedules over three instances, with crashes, freezes, lost answers and clocks that jump. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { check, describe } from "./check.ts";
import type { PaceDefect } from "./world.ts";

Deno.test("simulation: turns keep their order and limits, and a burst or an occurrence makes one run", async () => {
  const checked = await check({ runs: 30, seed: 1, isPaced: true });
  assertEquals(describe(checked), "");
  assertGreater(checked.accepted, 100);
});

Deno.test("simulation: a burst that was open at a crash makes one run of all that was accepted", async () => {
  const checked = await check({ runs: 1, seed: 100, path: "1047", isPaced: true });
  assertEquals(describe(checked), "");
  assertGreater(checked.accepted, 1);
});

Deno.test("simulation: what a burst becomes is performed once, though a listing shows it before its commit is answered", async () => {
  const checked = await check({ runs: 1, seed: 7, path: "189", isPaced: true });
  assertEquals(describe(checked), "");
  assertGreater(checked.accepted, 1);
});

/** Each with a finding by which it shows, and a seed that finds it soon. */
const DEFECTS: readonly [PaceDefect, RegExp, seed: number][] = [
  ["order by receipt", /were out of order|on the wrong side of it/, 2],
  ["limit outside the commit", /more than \d runs of .* had work under way/, 8],
  ["window that restarts", /closed \d+ ms after its time/, 4],
  ["occurrence at two instances", /the occurrence of .* made \d runs/, 1],
  ["superseded run that starts", /began though it is superseded/, 8],
  ["retry that doubles", /began again after its end/, 1],
];

for (const [defect, finding, seed] of DEFECTS) {
  Deno.test(`simulation: it finds a planted defect of paces: ${defect}`, async () => {
    const { failure } = await check({ runs: 200, seed, isPaced: true, defect });
    assert(failure, "nothing was found");
    assert(failure.findings.some((each) => finding.test(each)), failure.findings.join("\n"));
  });
}
