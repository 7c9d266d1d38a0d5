/** Three instances on one denokv server: one that is killed costs senders nothing but a repeat. */
import { has } from "../needs.ts";
import { Findings, Random } from "./findings.ts";
import { instances } from "./instances.ts";

Deno.test({
  name: "instances: killed under load, with connections that fail, they keep every promise",
  ignore: !has("denokv"),
  async fn() {
    const seed = Math.floor(Math.random() * 1e9);
    const said: string[] = [];
    const findings = new Findings((line) => said.push(line));
    findings.say(`seed ${seed}`);
    // A machine that runs all tests at once is slow, and each launch runs a command.
    await instances(findings, new Random(seed), {
      faults: ["kill", "connections"],
      gap_ms: 10_000,
      answer_ms: 3_000,
      pause_ms: 700,
      paced: 3,
      settle_ms: 500,
      rounds: 9,
      quota: [3, 8],
      deliveries: 12,
      least: 30,
    });
    if (findings.violations.length > 0) console.log(said.join("\n"));
    findings.assertNone();
  },
});
