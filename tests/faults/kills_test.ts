import { Findings, Random } from "./findings.ts";
import { kills } from "./kills.ts";

for (const [signal, rounds] of [["SIGKILL", 3], ["SIGTERM", 2]] as const) {
  const seed = Math.floor(Math.random() * 1e9);
  Deno.test(`${signal} at random moments under load breaks no promise`, async () => {
    const findings = new Findings();
    findings.say(`seed ${seed}`);
    await kills(findings, new Random(seed), { rounds, signal });
    try {
      findings.assertNone();
    } catch (error) {
      throw new Error(`With the seed ${seed}`, { cause: error });
    }
  });
}
