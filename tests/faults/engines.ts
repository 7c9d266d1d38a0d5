/**
 * The tests of engines on a real Slurm, a real Kubernetes, a cluster that fails and podman, with those that take
 * too long for the suite.
 *
 * @module
 */
import type { Findings } from "./findings.ts";

const CLUSTERS = ["remote", "slurm", "kubernetes"].map((engine) => `tests/engines/${engine}`);

/** Runs them, and prints what they print. What this machine cannot run is left out. */
export async function engines(findings: Findings): Promise<void> {
  const common = ["--lock=tests/deno.lock"];
  findings.check(
    await deno(["test", "--allow-all", "--no-check", ...common, ...CLUSTERS]),
    "Tests of clusters failed",
  );
  // With a storage of podman's for tests alone.
  const run = ["run", "--allow-read", "--allow-write", "--allow-run", ...common, "tests/run.ts"];
  findings.check(
    await deno([
      ...run,
      ...["crash", "docker", "podman", "container"].map((name) =>
        `tests/engines/local/${name}_test.ts`
      ),
    ]),
    "Tests of crashes and of podman failed",
  );
}

/** Makes a release twice, with the images of both processors, and compares their bytes. */
export async function release(findings: Findings): Promise<void> {
  findings.check(
    await deno([
      ...["run", "--allow-read", "--allow-write", "--allow-run", "--lock=tests/deno.lock"],
      ...["tests/run.ts", "tests/packaging/release_test.ts"],
    ]),
    "Tests of a release failed",
  );
}

/** Runs a command of Deno's, with the tests that take too long for the suite. */
async function deno(args: string[]): Promise<boolean> {
  const env = { HOOKLAUNCH_LONG_TESTS: "1" };
  return (await new Deno.Command(Deno.execPath(), { args, env }).spawn().status).success;
}
