import { has } from "../needs.ts";
import { Findings, Random } from "./findings.ts";
import { fullDisk } from "./full_disk.ts";

Deno.test({
  name:
    "on a full disk launches are answered 503, reads go on, and nothing is lost or half-written",
  ignore: !has("mount"),
  async fn() {
    const findings = new Findings();
    await fullDisk(findings, new Random(1), { rounds: 1, full_ms: 3_000 });
    findings.assertNone();
  },
});
