/**
 * Machines on which containers cannot be run: the execution ends, or waits, with a reason that says what to do.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Execution } from "../../../src/store/records/executions.ts";
import { hasContainers, runHosted } from "./containers.ts";

/** Runs an execution in a container, by an engine that has this environment. */
function runIn(
  runner: string,
  env: Record<string, string>,
  stop = "",
): Promise<Execution & { waited?: string }> {
  const fields = { engine: { type: "local", runner }, image: "busybox" };
  return runHosted(fields, { env, settings: { poll_ms: 20, reach_ms: 300 }, stop });
}

const HOSTS = { docker: "DOCKER_HOST", podman: "CONTAINER_HOST" };

for (const runner of ["docker", "podman"] as const) {
  Deno.test(`containers: ${runner} is not installed`, async () => {
    const path = await Deno.makeTempDir();
    // Nothing but what the engine needs of the machine.
    const link = 'for each; do ln -s "$(command -v "$each")" "$0/$each"; done';
    const names = ["sh", "cat", "rm", "chmod"];
    await new Deno.Command("sh", { args: ["-c", link, path, ...names] }).output();
    const { status, reason } = await runIn(runner, { PATH: path });
    assertEquals(status, "error");
    assertStringIncludes(reason ?? "", `Cannot run: ${runner} is not installed: install it`);
    await Deno.remove(path, { recursive: true });
  });

  Deno.test({
    name: `containers: one waits for ${runner} that cannot be reached, and can be stopped`,
    ignore: !hasContainers(runner),
    async fn() {
      const env = { [HOSTS[runner]]: "unix:///no/such.sock" };
      const { status, waited } = await runIn(runner, env, "stop");
      assertEquals(status, "stopped");
      assertStringIncludes(waited ?? "", `Cannot reach ${runner}: `);
      assertStringIncludes(waited ?? "", HOSTS[runner]);
    },
  });
}
