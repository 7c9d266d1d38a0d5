/** Short forms of `deno task faults writes`. */
import { has } from "../needs.ts";
import { failingWrites, FAILURES } from "./failing_writes.ts";
import { Findings, Random } from "./findings.ts";
import { atOnce } from "../at_once.ts";

const test = atOnce("writes that fail", 2);

for (const failure of FAILURES) {
  const { calls, error, endsService } = failure;
  const says = endsService ? "ends the service, and nothing" : "loses nothing that";
  test({
    name: `${calls} that fails with ${error} ${says} was answered 200`,
    ignore: !has("strace"),
    async fn() {
      const findings = new Findings();
      await failingWrites(findings, new Random(1), failure, 150);
      findings.assertNone();
    },
  });
}
