/**
 * Kills a process that hosts an engine, at many moments, and takes over what it left: each command, and each
 * attempt of what is tried again, has run exactly once, and its exit code is known. The process has the permissions
 * of the service.
 *
 * @module
 */
import { CONFIG_FLAGS, isLong } from "../../surroundings.ts";
import { assert, assertEquals, assertExists } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConflictError } from "../../../src/platform/errors.ts";
import type { Execution } from "../../../src/store/records/executions.ts";
import { hasContainers, makeImage } from "./containers.ts";
import { EngineFixture, lives, textOf, until } from "../fixture.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("crashes of the local engine");

const PERMISSIONS = [
  "--allow-run=sh,git",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net",
];

/** What the host is to do, and when it is killed. */
interface Crash {
  count: number;
  /** What its executions have in common. */
  fields: Partial<Execution>;
  after_ms?: number;
  /** Waits until it is to be killed. */
  when?(ids: string[]): Promise<void>;
}

/** Starts the host, and kills it some time after it has stored what is to be done. */
async function killHost(
  folder: string,
  { count, fields, after_ms = 0, when }: Crash,
): Promise<string[]> {
  const host = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...CONFIG_FLAGS,
      ...PERMISSIONS,
      join(import.meta.dirname ?? "", "crash_host.ts"),
      folder,
      String(count),
      JSON.stringify(fields),
    ],
    cwd: join(import.meta.dirname ?? "", "../../.."),
    stdout: "piped",
  }).spawn();
  const reader = host.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let told = "";
  while (!told.endsWith("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    told += value;
  }
  if (after_ms > 0) await new Promise((resolve) => setTimeout(resolve, after_ms));
  await when?.(JSON.parse(told));
  host.kill("SIGKILL");
  await host.status;
  await reader.cancel();
  return JSON.parse(told);
}

/** Opens the data folder. A process that was just being started holds its lock a moment longer. */
async function takeOver(folder: string): Promise<EngineFixture> {
  const opened: EngineFixture[] = [];
  await until(async () => {
    try {
      opened.push(await EngineFixture.make({ executionsMax: 3 }, folder));
      return true;
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  });
  const [fixture] = opened;
  assertExists(fixture);
  return fixture;
}

/** Kills the host, takes over, and sees that each command has printed what it prints once. */
async function survive(crash: Crash, test: (folder: string) => void = () => {}): Promise<void> {
  const folder = await Deno.makeTempDir();
  const ids = await killHost(folder, crash);
  await using fixture = await takeOver(folder);
  for (const [index, id] of ids.entries()) {
    const { exit_code, status, reason, attempts } = await fixture.ended(id);
    assertEquals([exit_code, status], [index, index === 0 ? "complete" : "error"], reason);
    // Every second one is tried again.
    assertEquals(attempts?.length, index % 2 ? 2 : undefined);
    const ids = attempts?.map(({ execution_id }) => execution_id) ?? [id];
    for (const each of ids) {
      assertEquals(await fixture.printed(each, "stdout"), ["begun", "done"]);
    }
  }
  test(folder);
}

for (const after_ms of isLong ? [0, 5, 12, 25, 60, 130] : [0, 60]) {
  test(`crash: killed after ${after_ms} ms, each command runs once`, async () => {
    const count = isLong ? 12 : 6;
    await survive({ count, fields: {}, after_ms }, (folder) => {
      const ran = textOf(`${folder}/ran`).trim().split("\n").map(Number).sort((a, b) => a - b);
      const once = Array.from(
        { length: count },
        (_, index) => index % 2 ? [index, index] : [index],
      );
      assertEquals(ran, once.flat());
    });
  });
}

test("crash: what an ended command has left in another group ends with the next start", async () => {
  const folder = await Deno.makeTempDir();
  const command = `set -m; sleep 600 >/dev/null 2>&1 9>&- & echo $! >$VH_OUTPUTS_DIR/pid`;
  const path = (id: string, ...of: string[]) => join(folder, "data", "executions", id, ...of);
  const untilEnded = ([id = ""]: string[]) =>
    until(() => textOf(path(id, "control", "exit_code")) !== "" && !existsSync(path(id, "tmp")));
  const [id = ""] = await killHost(folder, { count: 1, fields: { command }, when: untilEnded });
  const pid = Number(textOf(path(id, "outputs", "pid")));
  assert(pid > 1);
  await using fixture = await takeOver(folder);
  assertEquals((await fixture.record(id)).status, "complete");
  await until(async () => !await lives(pid));
});

const first = (["docker", "podman"] as const).find(hasContainers);

for (const runner of ["docker", "podman"] as const) {
  const ignore = !hasContainers(runner) || runner !== first && !isLong;
  for (const after_ms of isLong ? [60, 200, 400, 800] : [60]) {
    const name = `crash: killed after ${after_ms} ms, each container of ${runner} runs once`;
    test({
      name,
      ignore,
      async fn() {
        const fields = { engine: { type: "local", runner }, image: await makeImage(runner) };
        await survive({ count: 3, fields, after_ms });
      },
    });
  }
}
