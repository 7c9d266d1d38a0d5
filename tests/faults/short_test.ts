/** The short forms of what `deno task faults` does at length. */
import { has } from "../needs.ts";
import { clock } from "./clock.ts";
import { crowd } from "./crowd.ts";
import { damage } from "./damage.ts";
import { Findings, Random } from "./findings.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzBodies } from "./fuzz_bodies.ts";
import { overload } from "./overload.ts";

const parts: {
  name: string;
  ignore?: boolean;
  run(findings: Findings, random: Random): Promise<void>;
}[] = [
  {
    name: "a clock that jumps by hours loses no run and grants no more than a quota",
    run: (findings, random) => clock(findings, random, { jumps: 16, restartEvery: 12 }),
  },
  {
    name: "damaged records keep nothing else from being done",
    run: (findings, random) =>
      // What is damaged together keeps nothing else from being looked at.
      damage(findings, random, [["pending", "run", "rate", "upload"], ["payload", "delivery"]]),
  },
  {
    name: "more launches than can be accepted are turned away, and what was taken is done",
    ignore: !has("h2load"),
    run: (findings) => overload(findings, { connections: 2_500, duration_s: 1, leastTaken: 0 }),
  },
  {
    name: "idle connections and slow senders leave others alone",
    run: (findings) => crowd(findings, { idle: 1_000, slow: 200, launches: 50 }),
  },
  {
    name: "no drawn request makes the service fail or hang",
    run: (findings, random) => fuzz(findings, random, 800),
  },
  {
    name: "no drawn body or coding makes the service fail or hang, nor does a bomb",
    run: (findings, random) => fuzzBodies(findings, random, { requests: 150 }),
  },
];

for (const { name, ignore = false, run } of parts) {
  Deno.test({
    name,
    ignore,
    async fn() {
      const findings = new Findings();
      await run(findings, new Random(1));
      findings.assertNone();
    },
  });
}
