/**
 * Engines of containers that are slow to answer, or cannot do all that others can.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { newId } from "../../../src/platform/ids.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { hasContainers, makeImage, runHosted } from "./containers.ts";
import type { HostedRun, Ran } from "./run_host.ts";

// What is shown is the engine's own, the same for both programs.
const program = (["docker", "podman"] as const).find(hasContainers);

/** An execution, and what its engine of containers does before each call that names it, in the shell. */
interface SlowRun extends HostedRun {
  before?: string;
}

/** Runs executions at once, in one process, by a program of containers that has its ways with each. */
async function runWith(
  runs: Readonly<Record<string, SlowRun>>,
): Promise<Readonly<Record<string, Ran>>> {
  assert(program);
  await using bin = await temporaryFolder();
  const path = Deno.env.get("PATH") ?? "";
  const image = await makeImage(program);
  const cases: string[] = [];
  const given = Object.values(runs).map(({ before = ":", fields, ...rest }) => {
    const id = newId(Date.now());
    cases.push(`*${id}*) ${before} ;;`);
    const engine = { type: "local", runner: program, ...fields.engine };
    return { fields: { id, image, ...fields, engine }, ...rest };
  });
  // No registry is asked: pulling an image gives another name to one that is there.
  const script = `#!/bin/sh
case "$*" in
${cases.join("\n")}
esac
case "$1" in pull) set -- tag ${image} "$3" ;; esac
PATH='${path}' exec ${program} "$@"
`;
  await Deno.writeTextFile(join(bin.path, program), script, { mode: 0o700 });
  const ran = await runHosted(given, { PATH: `${bin.path}:${path}` });
  return Object.fromEntries(
    Object.keys(runs).map((name, index) => {
      const one = ran[index];
      assert(one);
      return [name, one];
    }),
  );
}

Deno.test({
  name: "containers that take long, of an engine without priorities, of images that are too large",
  ignore: program === undefined,
  async fn(t) {
    const pulled = () => `hooklaunch.invalid/pulled-${crypto.randomUUID().slice(0, 8)}`;
    const limited = (disk_mb: number) => ({
      fields: { image: pulled(), engine: { type: "local", disk_mb } },
    });
    await using notes = await temporaryFolder();
    const removals = join(notes.path, "removals");
    const { removed, stopped, plain, large, small } = await runWith({
      removed: {
        fields: {},
        before: `[ "$1" != rm ] || { date +%s%3N >>'${removals}'; sleep 1; }`,
      },
      stopped: { fields: {}, before: '[ "$1" != kill ] || sleep 8', isStopped: true },
      // As crun says it where the controller is not delegated to the user.
      plain: {
        fields: {},
        before: `case "$*" in *--cpu-shares*)
          echo 'Error: the requested cgroup controller \`cpu\` is not available' >&2; exit 126 ;;
        esac`,
      },
      large: limited(1),
      small: limited(100),
    });
    await t.step("how long one ran does not count how long it takes to remove", async () => {
      assertEquals(removed?.status, "complete");
      const started_ms = Date.parse(removed?.started_at ?? "");
      const ended_ms = started_ms + 1_000 * (removed?.duration ?? NaN);
      const text = await Deno.readTextFile(removals);
      const removed_ms = text.trim().split("\n").map(Number).find((at_ms) => at_ms >= started_ms);
      // Each removal takes a second.
      assert(ended_ms < Number(removed_ms) + 1_000, `${ended_ms}, ${text}`);
    });
    await t.step("who stops one does not wait until the engine answers", () => {
      assertEquals([stopped?.status, stopped?.stopped_as], ["stopped", "stopping"]);
      assert((stopped?.stop_ms ?? 8_000) < 8_000, `${stopped?.stop_ms}`);
    });
    await t.step("an engine that cannot give them a low priority runs them without", () => {
      assertEquals([plain?.status, plain?.reason], ["complete", undefined]);
    });
    await t.step("an image that is too large for its project fails its execution", () => {
      assertEquals(large?.status, "error");
      assertMatch(
        large?.reason ?? "",
        /^Cannot run: The images of project "files" take \d+ MiB on disk, .* which is 1 MiB/,
      );
      assertEquals(small?.status, "complete");
    });
  },
});
