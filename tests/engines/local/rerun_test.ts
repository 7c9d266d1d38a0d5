/**
 * Executions of which nobody can tell how they ended: run again when that is wanted, a few times at most.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { lookAtMachine } from "../../../src/engines/local/processes.ts";
import { ProcessRunner } from "../../../src/engines/local/runners/process.ts";
import type { Execution } from "../../../src/store/records/executions.ts";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { EngineFixture, lives, textOf, until } from "../fixture.ts";

const { bootId } = await lookAtMachine();
const WAITS = `echo $PPID >$VH_OUTPUTS_DIR/pid; : >$VH_OUTPUTS_DIR/trace; echo '{"begun": 1}'
  until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.01; done; echo done`;

/** Kills an execution's wrapper, and what it runs, as something else could. */
async function kill(fixture: EngineFixture, id: string, times: number): Promise<void> {
  await until(async () => (await fixture.printed(id, "stdout")).length === times);
  const pid = textOf(fixture.path(id, "control", "started")).split(" ")[0];
  await new Deno.Command("sh", { args: ["-c", `kill -KILL -${pid}`] }).output();
}

/** An execution that ran when the machine was restarted, by what is left of it. */
async function interrupted(
  fixture: EngineFixture,
  { mark, ...fields }: Partial<Execution> & { mark: boolean },
): Promise<string> {
  const execution = fixture.execution("echo ran", {
    status: "started",
    started_at: "2026-01-01T00:00:00.000Z",
    engine_state: { boot_id: "another" },
    ...fields,
  });
  await fixture.store.committer.commit(saveExecution(execution));
  await Deno.mkdir(fixture.path(execution.id, "control"), { recursive: true });
  await Deno.writeTextFile(fixture.path(execution.id, "left"), "left");
  const line = { time: "2026-01-01T00:00:00Z", stream: "stdout", message: "old", end: 4_000 };
  await Deno.writeTextFile(
    fixture.path(execution.id, "control", "log"),
    `${JSON.stringify(line)}\n`,
  );
  if (mark) {
    await Deno.writeTextFile(fixture.path(execution.id, "control", "started"), "99 99\n");
  }
  return execution.id;
}

Deno.test("rerun: one that was killed is run again from the start, its log goes on", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(WAITS, { rerun: true });
  await kill(fixture, id, 1);
  await until(async () => (await fixture.printed(id, "stdout")).length === 2);
  const { engine_state, status, started_at } = await fixture.record(id);
  const start_id = engine_state?.start_id;
  assertMatch(String(start_id), /^[0-9a-f]{8}$/);
  assertEquals([engine_state, status], [{ boot_id: bootId, start_id, reruns: 1 }, "started"]);
  await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
  const ended = await fixture.ended(id);
  assertEquals([ended.status, ended.started_at, ended.metadata], [
    "complete",
    started_at,
    { begun: 1 },
  ]);
  const { lines } = await fixture.engine.log(id);
  assertEquals(lines.map(({ stream, message }) => [stream, message]), [
    ["stdout", '{"begun": 1}'],
    [
      "event",
      "The command's process ended without leaving an exit code: something else has killed it: " +
      "it is run again from the start (1 of 3)",
    ],
    ["stdout", '{"begun": 1}'],
    ["stdout", "done"],
  ]);
  const events = textOf(fixture.path(id, "control", "metadata.jsonl")).trim().split("\n");
  assertEquals(events.length, 1);
});

Deno.test("rerun: it is not wanted, so it is an error", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(WAITS);
  await kill(fixture, id, 1);
  const { status, reason } = await fixture.ended(id);
  assertEquals(status, "error");
  assertStringIncludes(reason ?? "", "something else has killed it");
});

Deno.test("rerun: three times at most, restarts of the service included", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(WAITS, { rerun: true });
  for (const times of [1, 2, 3]) {
    await kill(fixture, id, times);
    if (times === 2) await fixture.restart();
  }
  await kill(fixture, id, 4);
  const { status, reason } = await fixture.ended(id);
  assertEquals(status, "error");
  assertStringIncludes(reason ?? "", "something else has killed it");
  const events = await fixture.printed(id, "event");
  assertEquals(events.map((event) => event.match(/\d of \d/)?.[0]), [
    "1 of 3",
    "2 of 3",
    "3 of 3",
    undefined,
  ]);
});

Deno.test("rerun: one whose command runs on without its wrapper is ended first", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    `${WAITS.replace("$PPID", "$$")}`,
    { rerun: true },
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  const command = Number(textOf(fixture.path(id, "outputs", "pid")));
  const wrapper = textOf(fixture.path(id, "control", "started")).split(" ")[0];
  await new Deno.Command("sh", { args: ["-c", `kill -KILL ${wrapper}`] }).output();
  await until(async () => (await fixture.printed(id, "stdout")).length === 2);
  await until(async () => !await lives(command));
  await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
  assertEquals((await fixture.ended(id)).status, "complete");
});

Deno.test("rerun: one that ran, or may have, when the machine was restarted", async () => {
  await using fixture = await EngineFixture.make();
  const ids = [
    await interrupted(fixture, { mark: true, rerun: true }),
    await interrupted(fixture, { mark: false, rerun: true }),
  ];
  const error = await interrupted(fixture, { mark: true });
  await fixture.restart();
  for (const id of ids) {
    const { status, metadata, started_at } = await fixture.ended(id);
    assertEquals([status, metadata], ["complete", {}]);
    assertEquals((started_at ?? "") > "2026-01-02", true);
    assertEquals(await fixture.printed(id, "stdout"), ["old", "ran"]);
    assertStringIncludes((await fixture.printed(id, "event")).join(), "may have been restarted");
    assertEquals(textOf(fixture.path(id, "left")), "");
  }
  assertStringIncludes((await fixture.ended(error)).reason ?? "", "how it ended is not known");
  const all = [...Deno.readDirSync(fixture.path(error, ".."))].map(({ name }) => name);
  assertEquals(all.toSorted(), [...ids, error].toSorted());
});

Deno.test("rerun: one that a shutdown of the machine has told to end is not one that failed", async () => {
  await using fixture = await EngineFixture.make();
  const leaving = async (code: number, fields: Partial<Execution>) => {
    const id = await interrupted(fixture, { mark: true, ...fields });
    await Deno.writeTextFile(fixture.path(id, "control", "exit_code"), `${code}\n`);
    return id;
  };
  const again = await leaving(143, { rerun: true });
  const failed = [
    await leaving(1, { rerun: true }),
    await leaving(143, { rerun: true, engine_state: { boot_id: bootId } }),
    await leaving(143, {}),
  ];
  await fixture.restart();
  assertEquals((await fixture.ended(again)).status, "complete");
  assertEquals(await fixture.printed(again, "stdout"), ["old", "ran"]);
  assertStringIncludes((await fixture.printed(again, "event")).join(), "told to end");
  for (const id of failed) {
    const { status, reason, exit_code } = await fixture.ended(id);
    assertEquals([status, reason], ["error", `The command ended with exit code ${exit_code}`]);
    assertEquals(await fixture.printed(id, "stdout"), ["old"]);
  }
});

Deno.test("rerun: a service that ended while it made the folder anew has lost nothing", async () => {
  await using fixture = await EngineFixture.make();
  const id = await interrupted(fixture, { mark: true, rerun: true });
  await Deno.rename(fixture.path(id), fixture.path(`old-${id}`));
  await Deno.mkdir(fixture.path(`tmp-${id}`, "outputs"), { recursive: true });
  // The other one may have begun, and is about to be run again for that.
  const state = { boot_id: bootId, reruns: 1 };
  const again = await interrupted(fixture, { mark: false, rerun: true, engine_state: state });
  await Deno.mkdir(fixture.path(`tmp-${again}`));
  await fixture.restart();
  for (const each of [id, again]) {
    assertEquals((await fixture.ended(each)).status, "complete");
    assertEquals(await fixture.printed(each, "stdout"), ["old", "ran"]);
  }
  assertEquals(textOf(fixture.path(again, "left")), "");
});

Deno.test("rerun: one that cannot be prepared anew has nothing of the run that was lost", async () => {
  let checkouts = 0;
  const checkout = async (_project: string, _commit: string, destination: string) => {
    if (++checkouts === 2) throw new Error("The code is gone");
    await Deno.mkdir(destination);
  };
  await using fixture = await EngineFixture.make({ projects: { checkout } });
  const id = await fixture.submit(WAITS, { rerun: true });
  await kill(fixture, id, 1);
  const { status, reason, outputs, metadata } = await fixture.ended(id);
  assertEquals([status, reason], ["error", "Cannot run: The code is gone"]);
  assertEquals([outputs, metadata], [[], {}]);
  assertEquals(await fixture.engine.output(id, "pid"), undefined);
});

Deno.test("rerun: one whose folder was not made anew to the end has not been run once more", async () => {
  await using fixture = await EngineFixture.make();
  const engine_state = { boot_id: "another", reruns: 3 };
  const id = await interrupted(fixture, { mark: true, rerun: true, engine_state });
  await Deno.mkdir(fixture.path(`tmp-${id}`, "outputs"), { recursive: true });
  await fixture.restart();
  assertEquals((await fixture.ended(id)).status, "complete");
  assertMatch((await fixture.printed(id, "event")).join(), /\(3 of 3\)/);
});

Deno.test("rerun: one that was asked to stop is not run again", async () => {
  await using fixture = await EngineFixture.make();
  const ending = { status: "stopped", reason: "Stopped by request" };
  const id = await interrupted(fixture, {
    mark: true,
    rerun: true,
    status: "stopping",
    engine_state: { boot_id: "another", ending },
  });
  await fixture.restart();
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["stopped", "Stopped by request"]);
  assertEquals(await fixture.printed(id, "stdout"), ["old"]);
});

/** Has what is left of commands removed no earlier than it is let, as engines of containers take their time. */
function slowRemoval() {
  const { start } = ProcessRunner.prototype;
  const begun = Promise.withResolvers<void>();
  const allowed = Promise.withResolvers<void>();
  ProcessRunner.prototype.start = async function (job) {
    const command = await start.call(this, job);
    const settle = async (exitCode: number | undefined) => {
      begun.resolve();
      await allowed.promise;
      return await command.settle(exitCode);
    };
    return { ...command, settle };
  };
  return {
    begun: begun.promise,
    allow: allowed.resolve,
    [Symbol.dispose]: () => void (ProcessRunner.prototype.start = start),
  };
}

Deno.test("rerun: one that is asked to stop while what is left of it is removed is not run again", async () => {
  using removal = slowRemoval();
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(WAITS, { rerun: true });
  await kill(fixture, id, 1);
  await removal.begun;
  const isStopped = await fixture.engine.stop(id);
  removal.allow();
  assertEquals(isStopped, true);
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["stopped", "Stopped by request"]);
  assertEquals((await fixture.printed(id, "stdout")).length, 1);
});

Deno.test("rerun: it is too late to stop one that has completed while what is left of it is removed", async () => {
  using removal = slowRemoval();
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit("true", { rerun: true });
  await removal.begun;
  const isStopped = await fixture.engine.stop(id);
  removal.allow();
  assertEquals(isStopped, false);
  assertEquals((await fixture.ended(id)).status, "complete");
});
