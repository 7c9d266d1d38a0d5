/**
 * Engines of containers that are slow to answer, or cannot do all that others can.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import type { Execution } from "../../../src/store/records/executions.ts";
import { type Containers, hasContainers, makeImage, runHosted } from "./containers.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("containers that take long");

/** Runs a command in a container, by a program that takes some seconds for each call of a subcommand. */
function runSlowly(
  program: Containers | undefined,
  { subcommand, seconds, stop = "" }: { subcommand: string; seconds: number; stop?: string },
): Promise<Execution & { stop_ms: number; stopped_as: string }> {
  return runWith(program, `[ "$1" != ${subcommand} ] || sleep ${seconds}`, stop);
}

/** Runs a command in a container, by a program that does something before each call. */
async function runWith(
  program: Containers | undefined,
  before: string,
  stop = "",
  given: Partial<Execution> = {},
): Promise<Execution & { stop_ms: number; stopped_as: string }> {
  assert(program);
  const bin = await Deno.makeTempDir();
  const path = Deno.env.get("PATH") ?? "";
  const script = `#!/bin/sh
${before}
PATH='${path}' exec ${program} "$@"
`;
  await Deno.writeTextFile(join(bin, program), script, { mode: 0o700 });
  const image = await makeImage(program);
  const fields = { image, ...given, engine: { type: "local", runner: program, ...given.engine } };
  const ran = await runHosted<Execution & { stop_ms: number; stopped_as: string }>(fields, {
    env: { PATH: `${bin}:${path}` },
    stop,
  });
  await Deno.remove(bin, { recursive: true });
  return ran;
}

// What is shown is the engine's own, the same for both programs.
const program = (["docker", "podman"] as const).find(hasContainers);

test({
  name: "containers: how long one ran does not count how long it takes to remove",
  ignore: program === undefined,
  async fn() {
    const { status, duration } = await runSlowly(program, { subcommand: "rm", seconds: 6 });
    assertEquals(status, "complete");
    assert(duration !== undefined && duration < 6, `${duration}`);
  },
});

test({
  name: "containers: who stops one does not wait until the engine answers",
  ignore: program === undefined,
  async fn() {
    const { status, stop_ms, stopped_as } = await runSlowly(program, {
      subcommand: "kill",
      seconds: 8,
      stop: "stop",
    });
    assertEquals([status, stopped_as], ["stopped", "stopping"]);
    assert(stop_ms < 8_000, `${stop_ms}`);
  },
});

test({
  name: "containers: an engine that cannot give them a low priority runs them without",
  ignore: program === undefined,
  async fn() {
    // As crun says it where the controller is not delegated to the user.
    const { status, reason } = await runWith(
      program,
      `case "$*" in *--cpu-shares*)
        echo 'Error: the requested cgroup controller \`cpu\` is not available' >&2; exit 126 ;;
      esac`,
    );
    assertEquals([status, reason], ["complete", undefined]);
  },
});

test({
  name:
    "containers: an image that is too large for its project is removed, and fails its execution",
  ignore: program === undefined,
  async fn() {
    // No registry is asked: pulling an image gives another name to one that is there.
    const pull = 'case "$1" in pull) set -- tag hooklaunch-test "$3" ;; esac';
    const run = (image: string, disk_mb: number) =>
      runWith(program, pull, "", { image, engine: { type: "local", disk_mb } });
    const image = `hooklaunch.invalid/pulled-${crypto.randomUUID().slice(0, 8)}`;
    const { status, reason } = await run(image, 1);
    assertEquals(status, "error");
    assertMatch(
      reason ?? "",
      /^Cannot run: The images of project "files" take \d+ MiB on disk, .* which is 1 MiB/,
    );
    assertEquals((await run(image, 100)).status, "complete");
  },
});
