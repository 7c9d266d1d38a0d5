/**
 * A process that hosts an engine whose docker goes and comes back, for a test. Its DOCKER_HOST is a link to the real
 * socket in a folder of its own. It is given that folder, the socket and an image, and fails where something is
 * not as it should be.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { type Execution, hasEnded } from "../../../src/store/records/executions.ts";
import { EngineFixture, until } from "../fixture.ts";
import { call } from "./containers.ts";

const [folder = "", socket = "", image = ""] = Deno.args;
const link = join(folder, "docker.sock");
const inDocker: Partial<Execution> = { engine: { type: "local", runner: "docker" }, image };
const asProcess: Partial<Execution> = { engine: { type: "local" }, project: "other" };
const WAITS = "echo begun; until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.1; done; echo done";

const comes = () => Deno.symlink(socket, link);
const goes = () => Deno.remove(link);

await comes();
await using fixture = await EngineFixture.make({
  executionsMax: 2,
  settings: { poll_ms: 20, grace_ms: 1_000 },
}, join(folder, "service"));

/** Waits until an execution shows that its runner cannot be asked, and why. */
async function isOut(id: string): Promise<void> {
  await until(async () => (await fixture.record(id)).reachable === false);
  assertMatch((await fixture.record(id)).waiting ?? "", /^Cannot reach docker: .*DOCKER_HOST/);
}

async function hasStarted(id: string): Promise<void> {
  await until(async () => (await fixture.printed(id, "stdout")).includes("begun"));
}

async function ends(id: string): Promise<Partial<Execution>> {
  await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
  return await fixture.ended(id);
}

const containers = () =>
  call(
    "docker",
    "ps",
    "--quiet",
    `--filter=label=hooklaunch.executions=${fixture.path("x", "..")}`,
  );

const [goesOn, isStopped] = await Promise.all([
  fixture.submit(WAITS, inDocker),
  fixture.submit(WAITS, inDocker),
]);
await Promise.all([hasStarted(goesOn), hasStarted(isStopped)]);

// It goes under the running service, and is away when the next one starts.
for (const begins of [() => Promise.resolve(), () => fixture.restart()]) {
  await goes();
  await begins();
  await Promise.all([isOut(goesOn), isOut(isStopped)]);
  const [outage, ...others] = fixture.engine.outages ?? [];
  assertMatch(outage?.detail ?? "", /^Cannot reach docker: /);
  assertEquals([outage?.projects, others], [["files"], []]);
  // Theirs are all places there are.
  assertEquals((await fixture.run("echo ran", asProcess)).status, "complete");
  await comes();
  for (const id of [goesOn, isStopped]) {
    await until(async () => (await fixture.record(id)).reachable === undefined);
    assertEquals((await fixture.record(id)).waiting, undefined);
  }
  assertEquals(fixture.engine.outages, []);
}

await goes();
await Promise.all([isOut(goesOn), isOut(isStopped)]);
const waits = await fixture.submit("echo ran", inDocker);
await fixture.engine.stop(isStopped);
const stopped = await fixture.ended(isStopped);
assertEquals(stopped.status, "stopped");
assertMatch(stopped.reason ?? "", /^Stopped by request\. Its runner cannot be asked: /);
assertEquals((await fixture.record(waits)).status, "queued");

await comes();
await until(async () => (await containers()).split("\n").length === 1);
assertEquals((await fixture.ended(waits)).status, "complete");
assertEquals((await ends(goesOn)).status, "complete");

// One that is just starting waits, too, and starts when there is room for it.
await goes();
const starts = await fixture.submit("echo ran", inDocker);
await isOut(starts);
const wanted = await fixture.submit(WAITS, asProcess);
await hasStarted(wanted);
assertEquals(hasEnded((await fixture.record(starts)).status), false);
await comes();
assertEquals((await fixture.ended(starts)).status, "complete");
assertEquals((await ends(wanted)).status, "complete");

// One that the next service cannot find can be stopped, too.
const found = await fixture.submit(WAITS, inDocker);
await hasStarted(found);
await goes();
await fixture.restart();
await isOut(found);
await fixture.engine.stop(found);
assertEquals((await fixture.ended(found)).status, "stopped");
await comes();
await until(async () => await containers() === "");
