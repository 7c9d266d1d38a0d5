/**
 * The tests of engines on a real Slurm, a real Kubernetes, a cluster that fails and podman, with those that take
 * too long for the suite.
 *
 * @module
 */
import type { Findings } from "./findings.ts";

const TESTS = ["remote", "slurm", "kubernetes", "local/podman_test.ts"]
  .map((path) => `tests/engines/${path}`);

/** Runs them, and prints what they print. What this machine cannot run is left out. */
export async function engines(findings: Findings): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", "--no-check", "--lock=tests/deno.lock", ...TESTS],
    env: { HOOKLAUNCH_LONG_TESTS: "1" },
  }).spawn().status;
  findings.check(success, "Tests of engines failed");
}
