/** The short form of `deno task faults power`. */
import { has } from "../needs.ts";
import { Findings, Random } from "./findings.ts";
import { power } from "./power.ts";

Deno.test({
  name: "power: two cuts under load take nothing that was promised or recorded",
  ignore: !has("xfs_io"),
  async fn() {
    const findings = new Findings();
    // Each launch runs commands that wait for the next start.
    await power(findings, new Random(1), { cuts: 2, pause_ms: 240 });
    findings.assertNone();
  },
});
