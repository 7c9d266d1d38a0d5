/** Runs that are their instances' own, over three instances, with crashes, freezes and lost answers. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { check, describe } from "./check.ts";
import type { OwnDefect } from "./world.ts";

Deno.test("simulation: each run is performed once, whoever performs it, and its request has one sender at a time", async () => {
  const checked = await check({ runs: 40, isOwn: true });
  assertEquals(describe(checked), "");
  assertGreater(checked.accepted, 100);
});

/** Each with a finding by which it shows, and a seed that finds it soon. */
const DEFECTS: readonly [OwnDefect, RegExp, seed: number][] = [
  ["end without the lanes", /ended twice|began again after its end/, 1],
  ["own run claimed", /ended twice|began again after its end/, 1],
  ["own run of a gone instance left", /is pending/, 1],
];

for (const [defect, finding, seed] of DEFECTS) {
  Deno.test(`simulation: it finds a planted defect of own runs: ${defect}`, async () => {
    const { failure } = await check({ runs: 500, seed, isOwn: true, defect });
    assert(failure, "nothing was found");
    assert(failure.findings.some((each) => finding.test(each)), failure.findings.join("\n"));
  });
}
