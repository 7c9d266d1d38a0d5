/**
 * Restarts: whatever an earlier service has left, no command is started twice, and how each ended is not
 * lost.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { systemClock } from "../../../src/platform/clock.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { lookAtMachine } from "../../../src/engines/local/processes.ts";
import { findAgain, isSameBoot } from "../../../src/engines/local/recovery.ts";
import { wrapperArguments } from "../../../src/engines/local/wrapper.ts";
import { type Execution, saveExecution } from "../../../src/store/records/executions.ts";
import { EngineFixture, lives, QUICK, textOf, until } from "../fixture.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("recovery of the local engine");

const { bootId } = await lookAtMachine();

/** An execution whose record says that it was started, by an engine that is gone. */
async function started(
  fixture: EngineFixture,
  { command = `echo ran >>${fixture.folder}/ran`, boot = bootId, files = {}, ...fields }:
    & Partial<Execution>
    & { boot?: string; files?: Record<string, string> },
): Promise<string> {
  const execution = fixture.execution(command, {
    status: "started",
    started_at: new Date().toISOString(),
    engine_state: { boot_id: boot },
    ...fields,
  });
  await fixture.store.committer.commit(saveExecution(execution));
  await fixture.prepare(execution);
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(fixture.path(execution.id, "control", name), text);
  }
  return execution.id;
}

/** The state that recovery finds, by the files that the wrapper has left. */
const FOUND: [kind: string, boot: string, files: string[]][] = [
  ["started", bootId, ["started"]],
  ["started", bootId, ["exit_code"]],
  ["started", bootId, ["started", "exit_code"]],
  ["started", "other", ["started"]],
  ["started", "other", ["exit_code"]],
  ["not_started", bootId, []],
  ["lost", "other", []],
];

/** The id of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = new Deno.Command("sh", { args: ["-c", "true"] }).spawn();
  await child.status;
  return child.pid;
}

test("recovery: no mark, same start of the machine: it is started", async () => {
  await using fixture = await EngineFixture.make();
  const long_ago = { started_at: "2026-01-01T00:00:00.000Z", time_limit: 60 };
  const prepared = await started(fixture, long_ago);
  const unprepared = await started(fixture, {});
  // As a service leaves it that is killed while it prepares one.
  await Deno.rename(fixture.path(unprepared), fixture.path(unprepared, "..", `tmp-${unprepared}`));
  await fixture.restart();
  for (const id of [prepared, unprepared]) {
    assertEquals((await fixture.ended(id)).status, "complete");
  }
  assertEquals(textOf(`${fixture.folder}/ran`), "ran\nran\n");
});

test("recovery: one that is to stop before the engine has started is stopped once it has", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit("echo begun; sleep 100");
  await until(async () => (await fixture.printed(id, "stdout")).length > 0);
  await fixture.close();
  await fixture.open();
  await assertRejects(() => fixture.engine.stop(id), UnavailableError, "has not started yet");
  await fixture.engine.start();
  assertEquals(await fixture.engine.stop(id), true);
  assertEquals((await fixture.ended(id)).status, "stopped");
});

test("recovery: no mark, other start of the machine: it may have run, so it is not", async () => {
  await using fixture = await EngineFixture.make();
  const ids = [await started(fixture, { boot: "other" }), await started(fixture, { boot: "" })];
  await fixture.restart();
  for (const id of ids) {
    const { status, reason } = await fixture.ended(id);
    assertEquals(status, "error");
    assertStringIncludes(reason ?? "", "it is not started again");
    assertStringIncludes(reason ?? "", "or its data came from a backup");
    assertEquals(await fixture.printed(id, "event"), [reason]);
  }
  assertEquals(textOf(`${fixture.folder}/ran`), "");
  // A machine that does not tell is known to be the same one by nothing.
  const untold = fixture.execution("", { engine_state: { boot_id: "" } });
  assert(!isSameBoot(untold, { bootId: "", shell: "sh", beginSession: [], lowPriority: [] }));
});

test("recovery: for a command with a mark or an exit code no second wrapper is started", async () => {
  await using fixture = await EngineFixture.make();
  const texts = { started: `${await endedProcess()} 123\n`, exit_code: "0\n" };
  const parts = { machine: await lookAtMachine(), onSessionOver() {} };
  for (const [kind, boot_id, files] of FOUND) {
    const execution = fixture.execution("true", { engine_state: { boot_id } });
    const folder = await fixture.prepare(execution);
    for (const [name, text] of Object.entries(texts)) {
      if (!files.includes(name)) continue;
      await Deno.writeTextFile(fixture.path(execution.id, "control", name), text);
    }
    assertEquals((await findAgain(execution, folder, parts)).kind, kind, `${boot_id} ${files}`);
  }
});

test("recovery: an exit code is there: that is how it ended", async () => {
  await using fixture = await EngineFixture.make();
  const pid = await endedProcess();
  const files = {
    started: `${pid} 123\n`,
    exit_code: "3\n",
    stdout: 'a\n{"x": 1}\nlast',
    stderr: "oh\n",
    log: `{"time":"2026-01-01T00:00:00Z","stream":"stdout","message":"a","end":2}\n{"time":"20`,
  };
  const { started: _mark, ...unmarked } = files;
  const ids = [
    await started(fixture, { files }),
    await started(fixture, { files, boot: "other" }),
    await started(fixture, { files: unmarked }),
  ];
  await fixture.restart();
  for (const id of ids) {
    const { status, exit_code, reason, metadata } = await fixture.ended(id);
    assertEquals([status, exit_code], ["error", 3]);
    assertEquals(reason, "The command ended with exit code 3");
    assertEquals(metadata, { x: 1 });
    assertEquals(await fixture.printed(id, "stdout"), ["a", '{"x": 1}', "last"]);
    assertEquals(await fixture.printed(id, "stderr"), ["oh"]);
  }
  assertEquals(textOf(`${fixture.folder}/ran`), "");
});

test("recovery: exit code 0 of an earlier start of the machine counts with results that are on the disk", async () => {
  await using fixture = await EngineFixture.make();
  // The kernel has written the exit code to disk, and then the power was cut.
  const files = { started: `${await endedProcess()} 123\n`, exit_code: "0\n", stdout: "" };
  const whole = { ...files, stdout: "ended\n" };
  const cases: { files: Record<string, string>; boot?: string; rerun?: true; ends: string }[] = [
    { files: whole, boot: bootId, ends: "complete" },
    { files: whole, ends: "complete" },
    { files: { ...whole, on_disk: "" }, boot: "other", ends: "complete" },
    { files, boot: "other", ends: "error" },
    { files, boot: "other", rerun: true, ends: "complete" },
  ];
  const ids: string[] = [];
  for (const { ends: _, boot, ...each } of cases) {
    // A backup has no boot.
    const engine_state: Record<string, unknown> = boot === undefined ? {} : { boot_id: boot };
    ids.push(await started(fixture, { ...each, command: "echo ended", engine_state }));
  }
  await fixture.restart();
  for (const [index, { ends }] of cases.entries()) {
    const id = ids[index] ?? "";
    const { status, exit_code, reason = "" } = await fixture.ended(id);
    assertEquals([status, exit_code], [ends, 0]);
    const expected = ends === "complete"
      ? /^$/
      : /^The command had just ended with exit code 0 when/;
    assertMatch(reason, expected);
    assertEquals(await fixture.printed(id, "stdout"), ends === "complete" ? ["ended"] : []);
  }
});

test("recovery: it ended at the time at which it left its exit code", async () => {
  await using fixture = await EngineFixture.make();
  const files = { started: `${await endedProcess()} 123\n`, exit_code: "0\n" };
  const id = await started(fixture, { files, started_at: "2026-01-01T00:00:00.000Z" });
  // The clock was set back.
  const later = await started(fixture, { files, started_at: "2026-01-01T00:00:10.000Z" });
  const time = new Date("2026-01-01T00:00:05Z");
  for (const each of [id, later]) {
    await Deno.utime(fixture.path(each, "control", "exit_code"), time, time);
  }
  await fixture.restart();
  assertEquals((await fixture.ended(later)).duration, 0);
  const { status, duration, ended_at } = await fixture.ended(id);
  assertEquals([status, duration, ended_at], ["complete", 5, "2026-01-01T00:00:05.000Z"]);
});

test("recovery: metadata is found again however its lines begin", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(`printf ' {"x": 1}\\n\\t{"y": 2}\\n'
    until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.01; done; echo '{"z": 3}'`);
  await until(async () => (await fixture.printed(id, "stdout")).length === 2);
  await fixture.restart();
  Deno.writeTextFileSync(fixture.path(id, "outputs", "go"), "");
  assertEquals((await fixture.ended(id)).metadata, { x: 1, y: 2, z: 3 });
});

test("recovery: dead without an exit code: that is told", async () => {
  await using fixture = await EngineFixture.make();
  const pid = await endedProcess();
  const dead = await started(fixture, { files: { started: `${pid} 123\n` } });
  const half = await started(fixture, { files: { started: `${pid} 123\n`, exit_code: "" } });
  const other = await started(fixture, { files: { started: `${pid} 123\n` }, boot: "other" });
  // A process of this id lives, but it is another one.
  const taken = await started(fixture, { files: { started: `${Deno.pid} 123\n` } });
  const empty = await started(fixture, { files: { started: "" } });
  await fixture.restart();
  for (const id of [dead, half, taken, empty]) {
    const { status, reason } = await fixture.ended(id);
    assertEquals(status, "error");
    assertStringIncludes(reason ?? "", "without leaving an exit code");
  }
  const { reason } = await fixture.ended(other);
  assertStringIncludes(reason ?? "", "may have been restarted while the command ran, or its data");
  assertEquals(textOf(`${fixture.folder}/ran`), "");
});

test("recovery: it lives: it is followed to its end, its output without a gap", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(`echo ran >>${fixture.folder}/ran
    for i in $(seq 60); do echo line $i; echo "{\\"i\\": $i}"; sleep 0.01; done; exit 4`);
  await until(async () => (await fixture.printed(id, "stdout")).length > 5);
  await fixture.restart();
  await until(async () => (await fixture.printed(id, "stdout")).length > 50);
  const before = await fixture.engine.log(id);
  await fixture.restart();
  const { status, exit_code, metadata } = await fixture.ended(id);
  assertEquals([status, exit_code, metadata], ["error", 4, { i: 60 }]);
  const expected = Array.from({ length: 60 }, (_, at) => [`line ${at + 1}`, `{"i": ${at + 1}}`]);
  assertEquals(await fixture.printed(id, "stdout"), expected.flat());
  const again = await fixture.engine.log(id, { limit: before.lines.length });
  assertEquals(again, before);
  const events = textOf(fixture.path(id, "control", "metadata.jsonl")).trim().split("\n");
  assertEquals(
    events.map((line) => JSON.parse(line).i),
    Array.from({ length: 60 }, (_, i) => i + 1),
  );
  assertEquals(textOf(`${fixture.folder}/ran`), "ran\n");
});

test("recovery: it ended while no service ran", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    "echo begun; until [ -e $TMPDIR/go ]; do sleep 0.01; done; echo done; : >$VH_OUTPUTS_DIR/model",
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.close();
  await Deno.writeTextFile(fixture.path(id, "tmp", "go"), "");
  await until(() => textOf(fixture.path(id, "control", "exit_code")) === "0\n");
  await fixture.open();
  assertEquals((await fixture.record(id)).status, "started");
  await fixture.engine.start();
  const { status, outputs } = await fixture.ended(id);
  assertEquals([status, outputs.length], ["complete", 1]);
  assertEquals(await fixture.printed(id, "stdout"), ["begun", "done"]);
});

test("recovery: the time limit counts from the start, silence from the last output", async () => {
  let passed_ms = 0;
  const now = () => systemClock.now() + passed_ms;
  const clock = { ...systemClock, now };
  await using fixture = await EngineFixture.make({ clock, executionsMax: 2 });
  const long = await fixture.submit("echo a; sleep 100", { time_limit: 3_600 });
  const silent = await fixture.submit("echo a; sleep 100", { no_output_timeout: 3_600 });
  for (const id of [long, silent]) {
    await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  }
  await fixture.close();
  passed_ms = 3_600_000;
  await fixture.begin();
  assertEquals((await fixture.ended(long)).reason, "Stopped: time limit of 3600 s reached");
  assertEquals((await fixture.ended(silent)).reason, "Stopped: no output for 3600 s");
});

test("recovery: one that was stopping goes on stopping", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, grace_ms: 400 } });
  const id = await fixture.submit(
    "trap '' TERM; echo $$ >$VH_OUTPUTS_DIR/pid; echo begun; while :; do sleep 0.05; done",
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.engine.stop(id);
  await fixture.restart();
  assertEquals((await fixture.record(id)).status, "stopping");
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["stopped", "Stopped by request"]);
  const pid = Number(textOf(fixture.path(id, "outputs", "pid")));
  await until(async () => !await lives(pid));
});

test("recovery: one that was found again can be stopped", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit("echo begun; sleep 100");
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.restart();
  await until(() => fixture.engine.load.running === 1);
  assertEquals(await fixture.engine.stop(id), true);
  const { status, exit_code } = await fixture.ended(id);
  assertEquals([status, exit_code], ["stopped", 143]);
});

test("recovery: of many wrappers that start at once one runs the command", async () => {
  await using fixture = await EngineFixture.make();
  const execution = fixture.execution(`echo ran >>${fixture.folder}/ran; sleep 0.1`);
  const folder = await fixture.prepare(execution);
  const codes = await Promise.all(Array.from({ length: 12 }, async () => {
    const { code } = await new Deno.Command("sh", {
      args: wrapperArguments({ shell: "/bin/sh", streamBytesMax: 1_024 }),
      cwd: folder.path,
      detached: true,
    }).output();
    return code;
  }));
  assertEquals(codes.filter((code) => code === 97).length, 11);
  assertEquals(textOf(`${fixture.folder}/ran`), "ran\n");
  assertEquals(textOf(folder.control("exit_code")), "0\n");
});

test("recovery: a wrapper that was only slow to start is followed", async () => {
  await using fixture = await EngineFixture.make();
  const id = await started(fixture, { command: `echo ran >>${fixture.folder}/ran; sleep 0.2` });
  await fixture.close();
  await fixture.open();
  // Both start at about the same time; whichever comes first, the command runs once.
  const slow = new Deno.Command("sh", {
    args: wrapperArguments({ shell: "/bin/sh", streamBytesMax: 1_024 }),
    cwd: fixture.path(id),
    detached: true,
  }).spawn();
  await fixture.engine.start();
  assertEquals((await fixture.ended(id)).status, "complete");
  await slow.status;
  assertEquals(textOf(`${fixture.folder}/ran`), "ran\n");
});

test("recovery: what was prepared for one that is still queued is prepared anew", async () => {
  await using fixture = await EngineFixture.make();
  const execution = fixture.execution("cat $VH_OUTPUTS_DIR/old 2>/dev/null || true");
  await fixture.store.committer.commit(saveExecution(execution));
  const folder = await fixture.prepare(execution);
  await Deno.writeTextFile(`${folder.outputs}/old`, "old");
  await fixture.restart();
  assertEquals((await fixture.ended(execution.id)).outputs, []);
});
