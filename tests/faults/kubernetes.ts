/**
 * The tests of the Kubernetes engine on a real cluster, with those that take too long for the suite.
 *
 * @module
 */
import type { Findings } from "./findings.ts";

const TESTS = "tests/engines/kubernetes/cluster_test.ts";

/** Runs them, and prints what they print. */
export async function kubernetes(findings: Findings): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", "--no-check", "--lock=tests/deno.lock", TESTS],
    env: { HOOKLAUNCH_LONG_TESTS: "1" },
  }).spawn().status;
  findings.check(success, `Tests in ${TESTS} failed`);
}
