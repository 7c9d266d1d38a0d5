/**
 * Machines on which containers cannot be run: the execution ends, or waits, with a reason that says what to do.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { temporaryFolder } from "../../surroundings.ts";
import { hasContainers, runHosted } from "./containers.ts";

const SETTINGS = { poll_ms: 20, reach_ms: 300 };
const HOSTS = { docker: "DOCKER_HOST", podman: "CONTAINER_HOST" };
const RUNNERS = ["docker", "podman"] as const;

const fieldsOf = (runner: string) => ({ engine: { type: "local", runner }, image: "busybox" });

Deno.test("containers: docker and podman are not installed", async () => {
  await using path = await temporaryFolder();
  // Nothing but what the engine needs of the machine.
  const link = 'for each; do ln -s "$(command -v "$each")" "$0/$each"; done';
  const names = ["sh", "cat", "rm", "chmod"];
  await new Deno.Command("sh", { args: ["-c", link, path.path, ...names] }).output();
  const runs = RUNNERS.map((runner) => ({ fields: fieldsOf(runner), settings: SETTINGS }));
  const ran = await runHosted(runs, { PATH: path.path });
  for (const [index, { status, reason }] of ran.entries()) {
    assertEquals(status, "error");
    const said = `Cannot run: ${RUNNERS[index]} is not installed: install it`;
    assertStringIncludes(reason ?? "", said);
  }
  assertEquals(ran.length, RUNNERS.length);
});

const there = RUNNERS.filter(hasContainers);

Deno.test({
  name: `containers: one waits for what cannot be reached, and can be stopped: ${there.join(", ")}`,
  ignore: there.length === 0,
  async fn() {
    const ran = await runHosted(
      there.map((runner) => ({ fields: fieldsOf(runner), settings: SETTINGS, isStopped: true })),
      Object.fromEntries(there.map((runner) => [HOSTS[runner], "unix:///no/such.sock"])),
    );
    for (const [index, { status, waited }] of ran.entries()) {
      const runner = there[index] ?? "docker";
      assertEquals(status, "stopped");
      assertStringIncludes(waited ?? "", `Cannot reach ${runner}: `);
      assertStringIncludes(waited ?? "", HOSTS[runner]);
    }
    assertEquals(ran.length, there.length);
  },
});
