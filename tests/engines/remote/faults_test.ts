/**
 * The remote engine over a cluster that loses, doubles, delays and forgets jobs, and cannot be reached: each
 * command runs once, and nothing that runs is declared lost.
 *
 * @module
 */
import { assert, assertEquals, assertExists, assertMatch } from "@std/assert";
import { delay } from "@std/async/delay";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { LaunchRefusedError, type Seen } from "../../../src/engines/remote/backend.ts";
import { REMOTE_SETTINGS, RemoteContext } from "../../../src/engines/remote/context.ts";
import { LogWatchers } from "../../../src/engines/shared/log_watchers.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import { getJob } from "../../../src/store/records/jobs.ts";
import { payloadWrites } from "../../../src/store/records/payloads.ts";
import { textOf } from "../fixture.ts";
import { collectLog } from "../../log_records.ts";
import { SteadyAheadClock } from "../../surroundings.ts";
import { until } from "../service.ts";
import { RemoteService } from "./fixture.ts";
import { HeldService, PlayedAgent } from "./held_cluster.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("faults of clusters");

async function endsWell(service: RemoteService, id: string): Promise<void> {
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], ["complete", undefined]);
  assertEquals(await service.printed(id, "stdout"), ["begun", "done"]);
  assertEquals(service.ran, 1);
}

test("remote: a job whose launch got no answer is not launched again", async () => {
  await using service = await RemoteService.make();
  service.cluster.faults.unanswered = 1;
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  assertEquals((await service.cluster.copies(id)).length, 1);
  await service.go();
  await endsWell(service, id);
});

test("remote: a launch that was lost is made again", async () => {
  await using service = await RemoteService.make();
  service.cluster.faults.dropped = 2;
  await endsWell(service, await service.submit(service.noting(0)));
});

test("remote: of a job that was started twice one agent runs the command", async () => {
  await using service = await RemoteService.make();
  service.cluster.faults.doubled = 1;
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  await until(async () => (await service.cluster.copies(id)).length === 2);
  await service.go();
  await endsWell(service, id);
});

test("remote: of a job that appears late, and was launched again, one runs the command", async () => {
  await using service = await RemoteService.make({ settle_ms: 300 });
  service.cluster.faults.late = 1;
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  await until(async () => (await service.cluster.copies(id)).length > 1);
  await service.go();
  await endsWell(service, id);
});

test("remote: an agent whose claim, log and output get no answer sends them again, and runs the command once", async () => {
  await using service = await RemoteService.make();
  const unheard = new Set<string>();
  service.host.isUnheard = (asked, { headers }) => {
    // Other messages carry nothing that could be stored twice.
    const isEmpty = asked === "POST beat" && headers.get("content-length") === "0";
    // Nobody waits for the second report of an end.
    if (isEmpty || asked === "POST end" || unheard.has(asked)) return false;
    unheard.add(asked);
    return true;
  };
  const id = await service.submit(`echo a >"$VH_OUTPUTS_DIR/a"; ${service.noting(0)}`);
  await endsWell(service, id);
  assertEquals((await service.record(id)).outputs.map(({ path }) => path), ["a"]);
  for (const asked of ["POST claim", "POST beat", "POST outputs"]) {
    assert(unheard.has(asked), asked);
    assert(service.host.asked.filter((each) => each === asked).length > 1, asked);
  }
});

test("remote: a job that the cluster does not show is not lost while its agent is heard", async () => {
  const clock = new SteadyAheadClock();
  const silence_ms = 600_000;
  await using service = await RemoteService.make({ silence_ms }, { clock });
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  service.cluster.faults.isForgetful = true;
  const beats = () => service.host.asked.filter((each) => each === "POST beat").length;
  // It is not shown for longer than an agent may be silent, and heard between.
  for (const part of [0, 0.6, 0.6]) {
    clock.ahead_ms += part * silence_ms;
    const [heard, looks] = [beats(), service.cluster.looks];
    // The second of them begins when the first has been answered.
    await until(() => beats() >= heard + 2);
    await until(() => service.cluster.looks >= looks + 2);
  }
  await service.go();
  await endsWell(service, id);
});

test("remote: a job that the cluster has shown again is not lost when it is missing for a moment", async () => {
  const clock = new SteadyAheadClock();
  const silence_ms = 600_000;
  await using service = await RemoteService.make({ silence_ms }, { clock });
  const id = await service.submit(service.notingUntilGo);
  await service.said(id, "begun");
  // Its agent is not heard all the time.
  service.host.isAway = true;
  for (const isForgetful of [true, false, true, false]) {
    if (isForgetful) clock.ahead_ms += 1.2 * silence_ms;
    service.cluster.faults.isForgetful = isForgetful;
    const { looks } = service.cluster;
    const isOver = async () => (await service.record(id)).status !== "started";
    await until(async () => service.cluster.looks >= looks + 2 || await isOver());
  }
  service.host.isAway = false;
  await service.go();
  await endsWell(service, id);
});

for (const [way, set_ms] of [["ahead", 3_600_000], ["back", -3_600_000]] as const) {
  test(`remote: a wall clock that is set ${way} keeps neither a time limit nor a stop from its time`, async () => {
    let [passed_ms, offset_ms] = [0, 0];
    const clock = {
      ...systemClock,
      now: () => systemClock.now() + passed_ms + offset_ms,
      steady: () => systemClock.steady() + passed_ms,
    };
    await using service = await RemoteService.make({}, { clock });
    const { cluster, host } = service;
    const looked = async () => {
      const { looks } = cluster;
      await until(() => cluster.looks > looks + 2);
    };
    let cancelled = 0;
    cluster.cancel = () => Promise.resolve(void cancelled++);
    // Before a job begins, and after it has.
    offset_ms = set_ms;
    const early = await service.submit(service.notingUntilGo, { time_limit: 600 });
    await service.said(early, "begun");
    await looked();
    offset_ms = 0;
    const late = await service.submit(service.notingUntilGo, { time_limit: 600 });
    await until(() => service.ran === 2);
    await looked();
    offset_ms = set_ms;
    await looked();
    for (const id of [early, late]) assertEquals((await service.record(id)).status, "started");
    // The agents do not hear of the end.
    host.isAway = true;
    passed_ms += 600_000 + 15_000 + 1_000;
    for (const id of [early, late]) {
      await until(async () => (await service.record(id)).status === "stopping");
    }
    await looked();
    offset_ms = 0;
    await looked();
    assertEquals(cancelled, 0);
    passed_ms += 2_000 + 30_000 + 1_000;
    await until(() => cancelled > 1);
    host.isAway = false;
    for (const id of [early, late]) {
      assertMatch((await service.ended(id)).reason ?? "", /time limit of 600 s/);
    }
  });
}

test("remote: a cluster that is away says nothing about its jobs, and that is shown", async () => {
  await using service = await RemoteService.make({ silence_ms: 500 });
  const running = await service.submit(service.notingUntilGo);
  await service.said(running, "begun");
  service.cluster.faults.isAway = true;
  const waiting = await service.submit("echo late");
  await until(async () => (await service.record(running)).reachable === false);
  await until(async () => (await service.record(waiting)).waiting !== undefined);
  assertMatch((await service.record(waiting)).waiting ?? "", /the cluster is away/);
  const [outage] = service.engine.outages ?? [];
  assertMatch(outage?.detail ?? "", /the cluster is away/);
  // Neither is heard nor seen now.
  service.host.isAway = true;
  await delay(1_500);
  assertEquals((await service.record(running)).status, "started");
  const { since, projects } = service.engine.outages?.[0] ?? {};
  assertEquals([since, projects?.length], [outage?.since, 1]);
  service.host.isAway = false;
  await delay(300);
  service.cluster.faults.isAway = false;
  await service.go();
  await endsWell(service, running);
  assertEquals((await service.ended(waiting)).status, "complete");
  const { reachable, waiting: why } = await service.record(waiting);
  assertEquals([reachable, why], [undefined, undefined]);
  assertEquals(service.engine.outages, []);
});

test("remote: a cluster that does not answer is shown before each of many launches has failed", async () => {
  await using service = new RemoteService(await Deno.makeTempDir(), {});
  await service.open();
  const { cluster, store } = service;
  const end = Promise.withResolvers<void>();
  using _end = { [Symbol.dispose]: end.resolve };
  let launches = 0;
  cluster.launch = async () => {
    if (++launches > 8) await end.promise;
    throw new TypeError("the cluster is away");
  };
  cluster.look = () => Promise.reject(new TypeError("the cluster is away"));
  const executions = Array.from({ length: 20 }, () => service.execution("true"));
  for (const execution of executions) await store.committer.commit(saveExecution(execution));
  await service.engine.start();
  await until(() => service.engine.outages.length > 0);
});

Deno.test("remote: a cluster that is away while jobs are cleaned up is told once", async () => {
  await using logs = await collectLog("warning");
  await using service = await RemoteService.make({ settle_ms: 1 });
  const { cluster } = service;
  const remove = cluster.remove.bind(cluster);
  const tries = new Map<string, number>();
  const triedOften = Promise.withResolvers<void>();
  let port = 40_000;
  let isAway = true;
  cluster.remove = async (ref) => {
    if (!isAway) return await remove(ref);
    tries.set(ref.name, (tries.get(ref.name) ?? 0) + 1);
    if ([...tries.values()].filter((count) => count >= 3).length === 2) triedOften.resolve();
    throw new Error(`no answer from 127.0.0.1:${port++}: refused`);
  };
  const ids = [await service.submit("true"), await service.submit("true")];
  await triedOften.promise;
  const told = () => logs.lines().filter((line) => line.includes("Cannot clean up"));
  assertEquals(told().length, 1, told().join("\n"));
  assertMatch(told()[0] ?? "", /trying again: no answer from 127.0.0.1:\d+: refused/);
  isAway = false;
  for (const id of ids) {
    await until(async () =>
      (await getJob(service.store, id) ?? { is_removed: true }).is_removed === true
    );
  }
});

test("remote: the cluster's own reason for waiting is shown, and a stop ends what waits", async () => {
  await using service = await RemoteService.make();
  service.cluster.faults.pending = "Unschedulable: 0/3 nodes have a GPU";
  const first = await service.submit(service.noting(0));
  const second = await service.submit(service.noting(0));
  await until(async () => (await service.record(first)).waiting !== undefined);
  const { waiting, status } = await service.record(first);
  assertEquals([waiting, status], ["Unschedulable: 0/3 nodes have a GPU", "queued"]);
  assertEquals(await service.engine.stop(second), true);
  assertEquals((await service.record(second)).status, "stopped");
  service.cluster.faults.pending = undefined;
  await endsWell(service, first);
  const { machine, waiting: later } = await service.record(first);
  assertExists(machine);
  assertEquals(later, undefined);
});

test("remote: a job that is stopped while its launch goes on is removed behind that", async () => {
  await using service = await RemoteService.make({ settle_ms: 200 });
  const { cluster } = service;
  const launch = cluster.launch.bind(cluster);
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const launched = Promise.withResolvers<void>();
  cluster.launch = async (spec) => {
    asked.resolve();
    await answer.promise;
    const made = await launch(spec);
    launched.resolve();
    return made;
  };
  const slow = await service.submit("true");
  await asked.promise;
  await service.engine.stop(slow);
  // Another one, by which it is known that ended jobs were looked at.
  const planned = await service.submit("true");
  await until(async () => await getJob(service.store, planned) !== undefined);
  await service.engine.stop(planned);
  await until(async () => (await getJob(service.store, planned))?.is_removed === true);
  answer.resolve();
  await launched.promise;
  await until(async () => (await cluster.copies(slow)).length === 0);
});

test("remote: a job that the cluster refuses ends with the cluster's reason", async () => {
  await using service = await RemoteService.make();
  service.cluster.launch = () =>
    Promise.reject(new LaunchRefusedError('there is no partition "gpu"'));
  const { status, reason } = await service.run("true");
  assertEquals([status, reason], ["error", 'Cannot run: there is no partition "gpu"']);
});

test("remote: what cannot be prepared ends that execution, with the reason", async () => {
  await using service = await RemoteService.make();
  const { status, reason } = await service.run("true", {
    inputs: { data: [{ name: "model", url: "file:///etc/passwd" }] },
  });
  assertEquals(status, "error");
  assertMatch(reason ?? "", /^Cannot run: Cannot fetch model.*inputs.folders/);
});

const ENDS_WHILE_BRINGING: {
  what: string;
  end(service: RemoteService, id: string): Promise<unknown>;
  expected: [status: string, event: string];
}[] = [
  {
    what: "that is stopped",
    end: ({ engine }, id) => engine.stop(id),
    expected: ["stopped", "Stopped by request"],
  },
  {
    what: "that the cluster ends",
    end: ({ cluster }, id) => cluster.terminate(id),
    expected: ["error", "The engine ended the job before its command had ended"],
  },
];

for (const { what, end, expected } of ENDS_WHILE_BRINGING) {
  test(`remote: a job ${what} while it brings many short files brings no more of them`, async () => {
    await using service = await RemoteService.make();
    const body = new TextEncoder().encode("one two");
    const { run_id } = service.execution("");
    await service.store.committer.write(payloadWrites(run_id, body));
    const names = Array.from({ length: 300 }, (_, nth) => `${nth}.csv`);
    const { promise: asked, resolve: begin } = Promise.withResolvers<void>();
    service.host.isAway = (each) => {
      if (each === "GET 1") begin();
      return false;
    };
    const data = names.map((name) => ({ name, payload_of: run_id, size: body.length }));
    const id = await service.submit("echo never", { inputs: { data } });
    await asked;
    await end(service, id);
    const { status } = await service.ended(id);
    assertEquals([status, ...await service.printed(id, "event")], expected);
    const brought = service.host.asked.filter((each) => /^GET \d+$/.test(each)).length;
    assert(brought < names.length, `${brought} files were brought`);
    assertEquals(await service.printed(id, "stdout"), []);
  });
}

test("remote: what is still brought for a run that was lost is over before the next run gets its files", async () => {
  await using service = await HeldService.start();
  const { held, host } = service;
  const { checkout } = host;
  const released: (() => void)[] = [];
  let [underWay, most] = [0, 0];
  host.checkout = async (...args) => {
    most = Math.max(most, ++underWay);
    await new Promise<void>((resolve) => released.push(resolve));
    await checkout(...args);
    underWay--;
  };
  const lost = await (await service.play({ rerun: true })).claims();
  const { id } = lost;
  const manifest = (agent: PlayedAgent) => agent.said("manifest", { method: "GET" });
  assertEquals(await manifest(lost), [202, "preparing"]);
  held.seen.set(id, { kind: "ended", isLost: true, isOver: true });
  await until(() => held.tokens.has(`${id}-1`));
  held.tokens.set(id, held.tokens.get(`${id}-1`) ?? "");
  const next = new PlayedAgent(service, id);
  assertEquals((await next.said("claim?host=node2&folder=/next"))[0], 200);
  let [status] = await manifest(next);
  while (status === 202) {
    released.pop()?.();
    [status] = await manifest(next);
  }
  assertEquals([status, most], [200, 1]);
  const files = await (await next.ask("files/0", { method: "GET" })).text();
  assertMatch(files, /VH_OUTPUTS_DIR='?\/next\//);
});

test("remote: what cannot be had now is fetched again", async () => {
  await using service = await RemoteService.make();
  const { checkout } = service.host;
  let tries = 0;
  service.host.checkout = (...args) =>
    ++tries < 3 ? Promise.reject(new UnavailableError("Cannot read", 1)) : checkout(...args);
  await endsWell(service, await service.submit(service.noting(0)));
  assertEquals(tries, 3);
});

test("remote: a job whose machine is lost ends as an error, or runs again where it may", async () => {
  await using service = await RemoteService.make({ silence_ms: 600 });
  const [once, again] = await Promise.all([
    service.submit("echo begun; sleep 100"),
    service.submit(
      `echo run >>${service.folder}/ran; echo begun; echo '{"a": 1}'; echo old >$VH_OUTPUTS_DIR/old
      [ "$(wc -l <${service.folder}/ran)" -gt 1 ] || sleep 100; echo done >$VH_OUTPUTS_DIR/new`,
      { rerun: true },
    ),
  ]);
  await service.said(once, "begun");
  await service.said(again, '{"a": 1}');
  await service.cluster.destroy(once);
  await service.cluster.destroy(again);
  const { status, reason } = await service.ended(once);
  assertEquals(status, "error");
  assertMatch(reason ?? "", /without a report of its agent: node failure/);
  const rerun = await service.ended(again);
  assertEquals([rerun.status, rerun.outputs.map(({ path }) => path)], ["complete", ["new", "old"]]);
  assertEquals(rerun.metadata, { a: 1 });
  assertEquals(await service.printed(again, "stdout"), ["begun", '{"a": 1}', "begun", '{"a": 1}']);
  const [event = ""] = await service.printed(again, "event");
  assertMatch(event, /node failure: it is run again from the start \(1 of 3\)/);
});

test("remote: an agent that was cut off ends its command when another one has the execution", async () => {
  await using service = await RemoteService.make({ silence_ms: 600 });
  const beats = join(service.folder, "beats");
  const id = await service.submit(
    `echo run >>${service.folder}/ran; echo begun
    [ "$(wc -l <${service.folder}/ran)" -gt 1 ] || while :; do echo beat >>${beats}; sleep 0.1; done`,
    { rerun: true },
  );
  await service.said(id, "begun");
  service.host.isAway = true;
  service.cluster.faults.isForgetful = true;
  await until(async () => (await getJob(service.store, id))?.attempt === 1);
  service.cluster.faults.isForgetful = false;
  service.host.isAway = false;
  assertEquals((await service.ended(id)).status, "complete");
  await until(async () => {
    const before = textOf(beats).length;
    await delay(500);
    return textOf(beats).length === before;
  });
  assertEquals(service.ran, 2);
});

test("remote: a job that the cluster ends tells so", async () => {
  await using service = await RemoteService.make();
  const id = await service.submit("echo begun; sleep 100");
  await service.said(id, "begun");
  await service.cluster.terminate(id);
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], [
    "error",
    "The engine ended the job before its command had ended",
  ]);
});

/** Plays an agent that was told to end, of which only its cluster knows why, and waits for a look at its job. */
async function untilAsked(service: HeldService, answer: () => Promise<Seen>): Promise<string> {
  const { held } = service;
  const agent = await (await service.play({ rerun: true })).claims();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  held.look = async (jobs) => {
    const hasEnded = (await getJob(service.store, agent.id))?.end !== undefined;
    if (hasEnded) resolve();
    const seen: Seen = hasEnded ? await answer() : { kind: "running" };
    return new Map(jobs.map(({ name }) => [name, seen]));
  };
  assertEquals((await agent.said("end?stdout=0&stderr=0&cause=terminated"))[0], 200);
  await asked;
  return agent.id;
}

const LATE: Seen = { kind: "ended", reason: "TIMEOUT" };
const LATE_REASON = "The engine ended the job before its command had ended: TIMEOUT";

test("remote: a cluster that does not answer is asked again why it has ended a job", async () => {
  await using service = await HeldService.start({ silence_ms: 600_000 });
  let failures = 0;
  const answer = () =>
    ++failures <= 8 ? Promise.reject(new TypeError("the cluster is away")) : Promise.resolve(LATE);
  const id = await untilAsked(service, answer);
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], ["error", LATE_REASON]);
});

test("remote: a service that stops while it asks why a job has ended asks again at its next start", async () => {
  await using service = await HeldService.start({ silence_ms: 600_000 });
  const id = await untilAsked(service, () => Promise.resolve({ kind: "running" }));
  await service.close();
  service.held.look = (jobs) => Promise.resolve(new Map(jobs.map(({ name }) => [name, LATE])));
  await service.begin();
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], ["error", LATE_REASON]);
});

test("remote: a job that has ended while its cluster is away for good can be stopped", async () => {
  await using service = await HeldService.start({ silence_ms: 600_000 });
  const id = await untilAsked(service, () => Promise.reject(new TypeError("away")));
  assertEquals(await service.engine.stop(id), true);
  assertEquals((await service.ended(id)).status, "stopped");
});

test("remote: a command that the cluster's signal reaches before the agent tells so, too", async () => {
  await using service = await RemoteService.make();
  const id = await service.submit(`echo begun; ${service.untilGo}; kill -TERM $$`);
  await service.said(id, "begun");
  const { claim } = await getJob(service.store, id) ?? {};
  service.host.isAway = true;
  await service.go();
  await until(() => textOf(join(claim?.folder ?? "", "control", "exit_code")) !== "");
  await service.cluster.terminate(id);
  service.host.isAway = false;
  const { status, reason } = await service.ended(id);
  assertEquals([status, reason], [
    "error",
    "The engine ended the job before its command had ended",
  ]);
});

test("remote: no line is lost while nobody answers the agent, and lines keep their times", async () => {
  await using service = await RemoteService.make();
  const id = await service.submit("for i in $(seq 1 30); do echo line $i; sleep 0.1; done");
  await service.said(id, "line 3");
  service.host.isAway = true;
  await delay(1_500);
  service.host.isAway = false;
  assertEquals((await service.ended(id)).status, "complete");
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  assertEquals(await service.printed(id, "stdout"), lines);
  const all = await service.engine.log(id);
  const part = await service.engine.log(id, { limit: 10 });
  const rest = await service.engine.log(id, { after: part.next });
  assertEquals([...part.lines, ...rest.lines], all.lines);
});

test("remote: long lines are cut, and a log of many lines is whole", async () => {
  await using service = await RemoteService.make();
  const { id, status } = await service.run(
    "head -c 300000 /dev/zero | tr '\\0' a; echo; seq 1 50000; printf end",
  );
  assertEquals(status, "complete");
  let after: string | undefined;
  const lines: string[] = [];
  for (;;) {
    const page = await service.engine.log(id, after === undefined ? {} : { after });
    if (page.lines.length === 0) break;
    lines.push(...page.lines.map(({ message }) => message));
    after = page.next;
  }
  assertMatch(lines[0] ?? "", /^a{16384} \[cut: longer than 16384 bytes\]$/);
  assertEquals(lines.length, 50_002);
  assertEquals([lines[50_000], lines[50_001]], ["50000", "end"]);
});

test("remote: a job that was lost is ended in its cluster also while the artifact store is away", async () => {
  await using service = await HeldService.start();
  const artifacts = new FolderStore(join(service.folder, "data", "artifacts"));
  service.host.artifacts = artifacts;
  await service.restart();
  artifacts.put = () => Promise.reject(new UnavailableError("Cannot use the bucket", 1));
  const { held } = service;
  const cancelled: string[] = [];
  held.cancel = ({ name }) => Promise.resolve(void cancelled.push(name));
  const { id } = await (await service.play()).claims();
  held.seen.set(id, { kind: "ended", reason: "node failed", isOver: true });
  await until(() => cancelled.includes(id));
  assertEquals((await getJob(service.store, id))?.is_archived, undefined);
});

test("remote: few logs at once wait for an artifact store that is away, and each is tried again after a while", async () => {
  await using service = await HeldService.start({ settle_ms: 600_000 });
  const artifacts = new FolderStore(join(service.folder, "data", "artifacts"));
  service.host.artifacts = artifacts;
  await service.restart();
  const { held } = service;
  const answered = Promise.withResolvers<void>();
  // What is not answered would hold up the end of the service.
  using _end = { [Symbol.dispose]: answered.resolve };
  let [tries, underWay, most, looks] = [0, 0, 0, 0];
  artifacts.put = async () => {
    tries++;
    most = Math.max(most, ++underWay);
    await answered.promise;
    underWay--;
    throw new UnavailableError("Cannot use the bucket", 1);
  };
  const look = held.look.bind(held);
  held.look = (jobs) => {
    looks++;
    return look(jobs);
  };
  const seenOften = async () => {
    const before = looks;
    await until(() => looks > before + 5);
  };
  const ids: string[] = [];
  for (let nth = 0; nth < 12; nth++) {
    const agent = await (await service.play()).claims();
    assertEquals(await agent.said("end?stdout=0&stderr=0&exit_code=7"), [200, "ended"]);
    ids.push(agent.id);
  }
  await service.play();
  await seenOften();
  assertEquals(most, 4);
  answered.resolve();
  await until(() => tries >= ids.length);
  await seenOften();
  assertEquals(tries, ids.length);
});

test("remote: it is known when the last of very many agents was heard", async () => {
  await using service = await HeldService.start();
  let now_ms = 0;
  const context = new RemoteContext({
    type: "remote",
    store: service.store,
    artifacts: new FolderStore(join(service.folder, "data", "artifacts")),
    clock: { ...systemClock, steady: () => now_ms },
    settings: REMOTE_SETTINGS,
    watchers: new LogWatchers(),
  });
  for (let agent = 0; agent < 200_000; agent++) {
    now_ms++;
    context.hear(String(agent));
  }
  assertEquals([context.lastHeard_ms, context.silence_ms("0")], [200_000, 199_999]);
});

const DAMAGES = {
  "cannot be decoded": "update kv set v_encoding = 1",
  "are cut off": "update kv set v = substr(v, 1, 7)",
  "hold something else": "update kv set v = cast(replace(v, '{', 'x') as blob)",
  "are there twice": "update kv set v = cast(v || v as blob)",
  "are missing": "delete from kv",
};

for (const [how, statement] of Object.entries(DAMAGES)) {
  test(`remote: parts of a log that ${how} hide nothing else of it, and keep no job from its end`, async () => {
    await using service = await HeldService.start();
    const agent = await (await service.play()).claims();
    let offset = 0;
    for (const body of ["whole 1\n", "damaged\n", "damaged\n", "whole 2\n", "damaged\n"]) {
      const beat = `beat?stream=stdout&offset=${offset}&state=running`;
      assertEquals((await agent.said(beat, { body }))[0], 200);
      offset += body.length;
    }
    {
      using database = new DatabaseSync(join(service.folder, "data", DATABASE_FILE), {
        timeout: 10_000,
      });
      const ofLog = "instr(k, 'job_log') and instr(v, cast('damaged' as blob))";
      assertEquals(database.prepare(`${statement} where ${ofLog}`).run().changes, 3);
    }
    const whole = ["whole 1", "whole 2"];
    assertEquals(await service.printed(agent.id, "stdout"), whole);
    // What the service has in memory of the log is read again.
    await service.restart();
    assertEquals((await agent.said(`end?stdout=${offset}&stderr=0&exit_code=7`))[0], 200);
    assertEquals((await service.ended(agent.id)).exit_code, 7);
    await until(async () => (await getJob(service.store, agent.id))?.is_archived === true);
    assertEquals(await service.printed(agent.id, "stdout"), whole);
    assertEquals(await service.printed(agent.id, "event"), ["The command ended with exit code 7"]);
  });
}

test("remote: an ended job leaves nothing in the cluster and in the database", async () => {
  await using service = await RemoteService.make({ keep_ms: 500, settle_ms: 200 });
  const { id } = await service.run("echo kept; echo x >$VH_OUTPUTS_DIR/x");
  await until(async () => await getJob(service.store, id) === undefined);
  assertEquals(await service.cluster.copies(id), []);
  for (const prefix of ["job", "job_log", "job_output"]) {
    assertEquals(await Array.fromAsync(service.store.kv.list({ prefix: [prefix] })), []);
  }
  assertEquals(await service.printed(id, "stdout"), ["kept"]);
  assertExists(
    await service.engine.output(id, "x").then(async (output) => {
      await output?.stream.cancel();
      return output;
    }),
  );
  assert(textOf(join(service.folder, "data/jobs", id)) === "");
});
