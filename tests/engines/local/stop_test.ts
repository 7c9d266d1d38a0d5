/**
 * Executions that are stopped: by request, by a limit, by force.
 *
 * @module
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import { existsSync } from "node:fs";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../../../src/store/records/record_size.ts";
import { EngineFixture, lives, QUICK, textOf, until } from "../fixture.ts";
import {
  AheadClock,
  slownessOfThread,
  SteadyAheadClock,
  temporaryFolder,
  threadTimeOf,
} from "../../surroundings.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("stops of executions");

test("stop: a running one is stopping, then stopped, its grandchildren with it", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    "echo begun; sh -c 'sleep 100 & echo $! >$VH_OUTPUTS_DIR/pid; wait' & wait",
  );
  await until(() => textOf(fixture.path(id, "outputs", "pid")) !== "");
  assertEquals(await fixture.engine.stop(id), true);
  assertEquals((await fixture.record(id)).status === "queued", false);
  const execution = await fixture.ended(id);
  assertEquals(execution.status, "stopped");
  assertEquals(execution.reason, "Stopped by request");
  assertEquals(execution.exit_code, 143);
  // It is told a moment after it is stored.
  await until(() => fixture.states.length >= 3);
  assertEquals(fixture.states, [`${id} started`, `${id} stopping`, `${id} stopped`]);
  const pid = Number(textOf(fixture.path(id, "outputs", "pid")));
  await until(async () => !await lives(pid));
  assertEquals(await fixture.printed(id, "stdout"), ["begun"]);
  assertEquals(await fixture.printed(id, "event"), ["Stopped by request"]);
  assertEquals(await fixture.engine.stop(id), false);
});

test("stop: a command may end well when it is told to stop", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    "trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.02; done",
  );
  await until(async () => (await fixture.printed(id, "stdout")).length > 0);
  await fixture.engine.stop(id);
  const execution = await fixture.ended(id);
  assertEquals(execution.status, "stopped");
  assertEquals(execution.exit_code, 0);
  assertEquals(await fixture.printed(id, "stdout"), ["begun", "saved"]);
});

test("stop: a command that ignores SIGTERM is killed after the grace period", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, grace_ms: 400 } });
  const id = await fixture.submit(
    "trap '' TERM; echo $$ >$VH_OUTPUTS_DIR/pid; echo begun; while :; do sleep 0.05; done",
  );
  await until(async () => (await fixture.printed(id, "stdout")).length > 0);
  const asked_ms = performance.now();
  await fixture.engine.stop(id);
  const execution = await fixture.ended(id);
  assert(performance.now() - asked_ms >= 380);
  assertEquals(execution.status, "stopped");
  assertEquals(execution.exit_code, undefined);
  assertEquals(await fixture.printed(id, "event"), [
    "The command did not end by itself: it is killed",
    "Stopped by request",
  ]);
  const pid = Number(textOf(fixture.path(id, "outputs", "pid")));
  await until(async () => !await lives(pid));
});

test("stop: what a command has started is killed after the grace period, too", async () => {
  await using fixture = await EngineFixture.make({ settings: { ...QUICK, grace_ms: 400 } });
  const id = await fixture.submit(
    `sh -c 'trap "" TERM; echo $$; while :; do sleep 0.05; done'; echo behind it`,
  );
  await until(async () => (await fixture.printed(id, "stdout")).length > 0);
  await fixture.engine.stop(id);
  const { status, exit_code } = await fixture.ended(id);
  assertEquals([status, exit_code], ["stopped", 143]);
  assertEquals(await fixture.printed(id, "event"), [
    "The command did not end by itself: it is killed",
    "Stopped by request",
  ]);
  const pid = Number((await fixture.printed(id, "stdout"))[0]);
  await until(async () => !await lives(pid));
});

test("stop: one that waits ends at once, in memory or only in the database", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1, waitingMax: 1 });
  const running = await fixture.submit("sleep 100");
  const waiting = [];
  for (let count = 0; count < 3; count++) waiting.push(await fixture.submit("echo ran"));
  assertEquals(fixture.engine.load.waiting, 1);
  for (const id of waiting) {
    assertEquals(await fixture.engine.stop(id), true);
    const { status, reason, ended_at, started_at } = await fixture.record(id);
    assertEquals([status, reason, started_at], ["stopped", "Stopped by request", undefined]);
    assert(ended_at !== undefined);
  }
  await fixture.engine.stop(running, "Its pipeline ended");
  const { status, reason } = await fixture.ended(running);
  assertEquals([status, reason], ["stopped", "Its pipeline ended"]);
  assertEquals((await fixture.run("true")).status, "complete");
  for (const id of waiting) assertEquals((await fixture.record(id)).status, "stopped");
});

test("stop: one that is being prepared does not start", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using fixture = await EngineFixture.make({
    projects: {
      checkout: async (_project, _commit, destination) => {
        await promise;
        await Deno.mkdir(destination);
      },
    },
  });
  const id = await fixture.submit(`echo ran >${fixture.folder}/ran`);
  await until(async () => (await fixture.record(id)).status === "started");
  await fixture.engine.stop(id);
  resolve();
  assertEquals((await fixture.ended(id)).status, "stopped");
  assertEquals(textOf(`${fixture.folder}/ran`), "");
});

test("stop: one that waits for files that can be opened is stopped, or runs when there are", async () => {
  let isShort = true;
  let tries = 0;
  const checkout = async (_project: string, _commit: string, destination: string) => {
    tries++;
    if (isShort) throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
    await Deno.mkdir(destination);
  };
  await using fixture = await EngineFixture.make({ projects: { checkout }, executionsMax: 2 });
  const stopped = await fixture.submit("echo never");
  const runs = await fixture.submit("echo at last");
  await until(() => tries >= 4);
  assertEquals(await fixture.engine.stop(stopped), true);
  const { status, reason } = await fixture.ended(stopped);
  assertEquals([status, reason], ["stopped", "Stopped by request"]);
  isShort = false;
  assertEquals((await fixture.ended(runs)).status, "complete");
  assertEquals(await fixture.printed(runs, "stdout"), ["at last"]);
  assertEquals(await fixture.printed(stopped, "stdout"), []);
});

test("stop: one that cannot begin ends once its log can be stored", async () => {
  await using folder = await temporaryFolder();
  const artifacts = new FolderStore(folder.path, { isShared: true });
  const { put } = artifacts;
  let isShort = true;
  let tries = 0;
  artifacts.put = async (...args) => {
    tries++;
    if (!isShort) return await put.apply(artifacts, args);
    await new Response(args[1]).body?.cancel();
    throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
  };
  const checkout = () => Promise.reject(new Error("no such commit"));
  await using fixture = await EngineFixture.make({ projects: { checkout }, artifacts });
  const id = await fixture.submit("true");
  await until(() => tries >= 2);
  isShort = false;
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["error", "Cannot run: no such commit"]);
});

test("stop: one that waits and cannot be read is stopped the next time, or starts", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1, waitingMax: 1 });
  const running = await fixture.submit("sleep 100");
  await fixture.submit("true");
  const [stopped, left] = [await fixture.submit("echo ran"), await fixture.submit("true")];
  const { reads } = fixture.store;
  const { read } = reads;
  reads.read = () => Promise.reject(new UnavailableError("The database is away", 1));
  for (const id of [stopped, left]) {
    await assertRejects(() => fixture.engine.stop(id), UnavailableError);
  }
  reads.read = read;
  assertEquals(await fixture.engine.stop(stopped), true);
  assertEquals((await fixture.record(stopped)).status, "stopped");
  await fixture.engine.stop(running);
  assertEquals((await fixture.ended(left)).status, "complete");
});

test("stop: an unknown one is not known", async () => {
  await using fixture = await EngineFixture.make();
  const execution = fixture.execution("true");
  assertEquals(await fixture.engine.stop(execution.id), false);
  await fixture.store.committer.commit(saveExecution(execution));
  fixture.engine.submit(execution);
  assertEquals((await fixture.ended(execution.id)).status, "complete");
});

test("stop: one that ends while its stop is being stored is told of once", async () => {
  await using fixture = await EngineFixture.make();
  const go = `${fixture.folder}/go`;
  const id = await fixture.submit(`until [ -e ${go} ]; do sleep 0.02; done`);
  await until(() => fixture.states.includes(`${id} started`));
  const { committer } = fixture.store;
  const { commit } = committer;
  committer.commit = async (change) => {
    await commit.call(committer, change);
    await Deno.writeTextFile(go, "");
    await delay(500);
  };
  assertEquals(await fixture.engine.stop(id), true);
  await until(() => fixture.engine.load.running === 0);
  const ends = fixture.states.filter((state) => state === `${id} stopped`);
  assertEquals(ends.length, 1);
});

test("limit: one that takes too long is stopped", async () => {
  await using fixture = await EngineFixture.make();
  const execution = await fixture.run("echo begun; sleep 100", { time_limit: 1 });
  assertEquals(execution.status, "error");
  assertEquals(execution.reason, "Stopped: time limit of 1 s reached");
  assertEquals(execution.exit_code, 143);
  assert((execution.duration ?? 0) >= 1 && (execution.duration ?? 0) < 60);
  assertEquals(await fixture.printed(execution.id, "stdout"), ["begun"]);
});

// It holds all others up.
Deno.test("limit: one that has ended in time is not stopped by a service that was held up", async () => {
  await using fixture = await EngineFixture.make();
  const fields = { time_limit: 2, no_output_timeout: 1 };
  const id = await fixture.submit("echo begun; sleep 0.2; echo done", fields);
  await until(async () => (await fixture.printed(id, "stdout")).length > 0);
  const until_ms = performance.now() + 2_500;
  // As a process that is stopped, and goes on when its time is long over.
  while (performance.now() < until_ms);
  const { status, reason, exit_code } = await fixture.ended(id);
  assertEquals([status, reason, exit_code], ["complete", undefined, 0]);
  assertEquals(await fixture.printed(id, "stdout"), ["begun", "done"]);
});

test("limit: setting the clock while one is prepared takes and gives it no time", async () => {
  const clock = new AheadClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  await using fixture = await EngineFixture.make({
    clock,
    projects: {
      checkout: async (_project, _commit, destination) => {
        await promise;
        await Deno.mkdir(destination);
      },
    },
  });
  const id = await fixture.submit("echo ran", { time_limit: 1_800 });
  await until(async () => (await fixture.record(id)).status === "started");
  clock.ahead_ms = 60 * 60_000;
  resolve();
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["complete", undefined]);
});

test("stop: one whose metadata takes nearly all of its record's room is stopped all the same", async () => {
  const clock = new SteadyAheadClock();
  await using fixture = await EngineFixture.make({ clock });
  const length = `${fixture.folder}/length`;
  const id = await fixture.submit(
    `until [ -s ${length} ]; do sleep 0.02; done
     printf '{"a": "%0*d"}\n' $(cat ${length}) 0; exec sleep 100`,
    { environment_variables: { TEXT: "x".repeat(45_000) } },
  );
  await until(async () => (await fixture.record(id)).status === "started");
  const room = RECORD_BYTES_MAX - recordBytes(await fixture.record(id));
  await Deno.writeTextFile(`${length}-new`, String(room - `"a":""`.length));
  await Deno.rename(`${length}-new`, length);
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  clock.ahead_ms = 60_000;
  await until(() => fixture.states.length === 2);
  assertEquals(await fixture.engine.stop(id), true);
  assertEquals((await fixture.ended(id)).status, "stopped");
});

test("limit: one that is silent for too long is stopped, one that prints is not", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 2 });
  const talking = fixture.run("for i in $(seq 25); do echo $i; sleep 0.1; done", {
    no_output_timeout: 2,
  });
  const silent = await fixture.run("echo begun >&2; sleep 100", { no_output_timeout: 2 });
  assertEquals(silent.status, "error");
  assertEquals(silent.reason, "Stopped: no output for 2 s");
  assertEquals((await talking).status, "complete");
});

test("stop: a command that has hardly begun is told, and not killed after waiting", async () => {
  await using fixture = await EngineFixture.make();
  for (let delay_ms = 0; delay_ms < 20; delay_ms++) {
    const id = await fixture.submit("sleep 100");
    await until(async () => (await fixture.record(id)).status === "started");
    await new Promise((resolve) => setTimeout(resolve, delay_ms));
    await fixture.engine.stop(id);
    assertEquals((await fixture.ended(id)).status, "stopped");
  }
});

test("condition: one that has done enough is stopped", async () => {
  await using fixture = await EngineFixture.make();
  const { status, reason, exit_code, metadata } = await fixture.run(
    `for a in 0.5 0.7; do echo "{\\"accuracy\\": $a}"; done; sleep 100`,
    { stop_condition: "accuracy >= parameter.enough", parameters: { enough: 0.7 } },
  );
  assertEquals(status, "stopped");
  assertEquals(reason, 'Stopped: its stop condition "accuracy >= parameter.enough" holds');
  assertEquals(exit_code, 143);
  assertEquals(metadata, { accuracy: 0.7 });
});

test("condition: it asks for metadata, and one that nobody can read is none", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 2 });
  const wait = "until [ -e $TMPDIR/go ]; do sleep 0.01; done";
  const ids = [
    // It holds from the start on, but nothing is known before there is metadata.
    await fixture.submit(`echo text; ${wait}`, { stop_condition: "not accuracy" }),
    await fixture.submit(`echo '{"a": 1}'; ${wait}`, { stop_condition: "a ~ 1" }),
  ];
  for (const id of ids) {
    await until(async () => (await fixture.printed(id, "stdout")).length === 1);
    Deno.writeTextFileSync(fixture.path(id, "tmp", "go"), "");
    assertEquals((await fixture.ended(id)).status, "complete");
  }
});

test("condition: what was printed while no service ran counts", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    `echo begun; until [ -e $TMPDIR/go ]; do sleep 0.01; done; echo '{"loss": 0.1}'
     : >$VH_OUTPUTS_DIR/told; sleep 100`,
    { stop_condition: "loss < .2" },
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.close();
  Deno.writeTextFileSync(fixture.path(id, "tmp", "go"), "");
  await until(() => existsSync(fixture.path(id, "outputs", "told")));
  await fixture.begin();
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["stopped", 'Stopped: its stop condition "loss < .2" holds']);
});

test("condition: metadata that an earlier service has taken in counts after a restart", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    `echo '{"loss": 0.1}'; until [ -e $TMPDIR/go ]; do sleep 0.01; done; echo '{"epoch": 2}'
     sleep 100`,
    { stop_condition: "loss < .2 and epoch == 2" },
  );
  await until(async () => (await fixture.printed(id, "stdout")).length === 1);
  await fixture.restart();
  Deno.writeTextFileSync(fixture.path(id, "tmp", "go"), "");
  assertEquals((await fixture.ended(id)).status, "stopped");
});

// It takes the time of its thread.
Deno.test("stop: an end does not wait for the metadata in all that was printed", async () => {
  await using fixture = await EngineFixture.make();
  const id = await fixture.submit(
    `yes '{}' | head -c 30000000; echo x >$VH_OUTPUTS_DIR/x; sleep 100`,
  );
  await until(() => textOf(fixture.path(id, "outputs", "x")) !== "");
  const taken_ms = await threadTimeOf(async () => {
    assertEquals(await fixture.engine.stop(id), true);
    assertEquals((await fixture.ended(id)).status, "stopped");
  });
  // Else it takes over a second of this thread's time, whatever else the machine does.
  assertLess(taken_ms, 600 * await slownessOfThread());
  // It is behind millions of lines.
  const log = textOf(fixture.path(id, "control", "log"));
  assert(log.includes("is not searched for metadata"));
});
