/** Executions that wait at the leader, and that other machines begin. */
import { assertEquals } from "@std/assert";
import { exists } from "../../../src/platform/files/missing_file.ts";
import { join } from "node:path";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { claimWaiting } from "../../../src/engines/local/claiming.ts";
import { LocalEngine } from "../../../src/engines/local/mod.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { newId } from "../../../src/platform/ids.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { stopped, writeEnd } from "../../../src/engines/shared/execution_end.ts";
import { changeExecution } from "../../../src/store/records/execution_changes.ts";
import {
  type Execution,
  executionWrites,
  getExecution,
  hasEnded,
} from "../../../src/store/records/executions.ts";
import { lead } from "../../../src/store/kv_store.ts";
import { executionOf } from "../../store/execution.ts";
import { sharedStore, standIn, watchedKv } from "../../store/fixture.ts";
import { GitFixture, projectOf } from "../../projects/code/git_fixture.ts";
import { Engines } from "../../../src/engines/mod.ts";
import type { EngineParts } from "../../../src/engines/engine.ts";
import { Projects } from "../../../src/projects/projects.ts";
import { firstAttempt } from "../../../src/store/records/attempts.ts";
import { keys } from "../../../src/store/keys.ts";
import { recordWrite } from "../../../src/store/records/record_size.ts";
import type { Store } from "../../../src/store/store.ts";
import { PATIENCE_MS, temporaryFolder, TestClock } from "../../surroundings.ts";
import { QUICK, textOf, until } from "../fixture.ts";

/** One machine: its instance's store and engine. */
interface Machine {
  store: Store;
  engine: LocalEngine;
  folder: string;
  /** Each change that the engine reported as the leader's: the execution's id and its status. */
  told: string[];
  /** Ends as a process that is killed does, but for what it runs. */
  leave(deadline_ms?: number): Promise<void>;
}

/** Machines that share a database and a folder of artifacts. */
class Machines implements AsyncDisposable {
  readonly #opened = new AsyncDisposableStack();
  readonly #kv: Deno.Kv;
  readonly folder: string;
  readonly all: Machine[] = [];

  private constructor(kv: Deno.Kv, folder: string) {
    this.#kv = kv;
    this.folder = folder;
  }

  static async make(kv?: Deno.Kv): Promise<Machines> {
    const folder = await temporaryFolder();
    const machines = new Machines(kv ?? await Deno.openKv(":memory:"), folder.path);
    machines.#opened.use(folder);
    machines.#opened.defer(() => machines.#kv.close());
    return machines;
  }

  /** Adds a machine with so many places, or an instance that starts on one after another. The first one leads. */
  async add(
    executionsMax: number,
    {
      isShared = true,
      hasRoom = (): boolean => true,
      waitingMax = 1_000,
      after = undefined as Machine | undefined,
      artifacts = new FolderStore(join(this.folder, "artifacts"), { isShared }),
      kv = this.#kv,
    } = {},
  ): Promise<Machine> {
    const leads = this.all.length === 0;
    const folder = after?.folder ?? join(this.folder, `machine${this.all.length}`);
    const machineId = after?.store.shared?.machineId;
    const store = await sharedStore(kv, systemClock, { leads, look_ms: 50, machineId });
    const told: string[] = [];
    const engine = new LocalEngine({
      store,
      artifacts,
      projects: { checkout: (_project, _commit, destination) => Deno.mkdir(destination) },
      clock: systemClock,
      dataFolder: folder,
      executionsMax,
      waitingMax,
      hasRoom,
      settings: QUICK,
      onChange: ({ id, status }) => told.push(`${id} ${status}`),
    });
    const { instances } = store.shared ?? {};
    if (instances === undefined) throw new Error("The store is not shared");
    instances.load = () => ({ isFull: false, executionsWait: engine.wantsRoom });
    await instances.takeMachine();
    await (leads ? engine.start() : engine.resume());
    let left: Promise<void> | undefined;
    const leave = (deadline_ms = PATIENCE_MS) =>
      left ??= engine.close(deadline_ms).then(() => store.close());
    this.#opened.defer(leave);
    const machine = { store, engine, folder, told, leave };
    this.all.push(machine);
    return machine;
  }

  /** Stores executions and submits them to the leader. Each command says first that it was begun. */
  async submit(leader: Machine, count: number, command: string): Promise<Execution[]> {
    const executions = Array.from({ length: count }, () => {
      const id = newId(Date.now());
      return executionOf({ id, command: `echo ${id} >>${this.begun}\n${command}` });
    });
    await leader.store.committer.write(executions.flatMap(executionWrites));
    for (const execution of executions) leader.engine.submit(execution);
    return executions;
  }

  /** Submits two executions. Returns that of the leader and that of another machine, once both have begun. */
  async submitTo(
    leader: Machine,
    other: Machine,
    command: string,
  ): Promise<[own: Execution, theirs: Execution]> {
    const executions = await this.submit(leader, 2, command);
    await until(() => this.begunIds.length === 2);
    const found = await Promise.all(executions.map(({ id }) => getExecution(other.store, id)));
    const runsThere = (each?: Execution) =>
      each && other.engine.machineOf(each) === other.store.shared?.machineId;
    const theirs = found.find(runsThere);
    const own = found.find((each) => !runsThere(each));
    if (own === undefined || theirs === undefined) throw new Error("None runs there");
    return [own, theirs];
  }

  get begun(): string {
    return join(this.folder, "begun");
  }

  /** The ids of the executions whose commands have begun, in their order. */
  get begunIds(): string[] {
    return textOf(this.begun).split("\n").filter((id) => id !== "");
  }

  get gate(): string {
    return join(this.folder, "gate");
  }

  /** A command that ends when the gate is opened, or the folder is gone, as that of a test that was killed. */
  get untilOpen(): string {
    return `until [ -e ${this.gate} ] || [ ! -d ${this.folder} ]; do sleep 0.05; done`;
  }

  async open(): Promise<void> {
    await Deno.writeTextFile(this.gate, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

async function statuses(store: Store, executions: readonly Execution[]): Promise<string[]> {
  const records = await Promise.all(executions.map(({ id }) => getExecution(store, id)));
  return records.map((record) => record?.status ?? "none");
}

async function ended(store: Store, executions: readonly Execution[]): Promise<void> {
  await until(async () =>
    (await statuses(store, executions)).every((status) => hasEnded(status as Execution["status"]))
  );
}

async function claims(store: Store): Promise<number> {
  return (await Array.fromAsync(store.kv.list({ prefix: ["execution_claimed"] }))).length;
}

Deno.test("what waits at the leader begins on machines with room, once, and is read everywhere", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const other = await machines.add(2);
  const executions = await machines.submit(
    leader,
    4,
    `echo out; echo made >"$VH_OUTPUTS_DIR/file"; ${machines.untilOpen}`,
  );
  await until(() => machines.begunIds.length === 3);
  assertEquals([leader.engine.load.running, other.engine.load.running], [1, 2]);
  // The leader knows where they run.
  await until(async () => {
    const running = await Promise.all(executions.map(({ id }) => getExecution(leader.store, id)));
    return running.filter((each) => each && leader.engine.machineOf(each)).length === 3;
  });
  await machines.open();
  await ended(leader.store, executions);
  assertEquals(await statuses(leader.store, executions), Array(4).fill("complete"));
  assertEquals(machines.begunIds.toSorted(), executions.map(({ id }) => id).toSorted());
  for (const { id } of executions) {
    await until(() => leader.told.includes(`${id} complete`));
    for (const { engine } of machines.all) {
      const { lines } = await engine.log(id);
      assertEquals(lines.filter(({ stream }) => stream === "stdout").map((l) => l.message), [
        "out",
      ]);
      const output = await engine.output(id, "file");
      assertEquals(await new Response(output?.stream).text(), "made\n");
    }
  }
  await until(async () => await claims(leader.store) === 0);
  const ends = leader.told.filter((each) => each.endsWith(" complete"));
  assertEquals(ends.length, 4, "each end is told once");
  assertEquals(other.told, []);
  // What the artifact store has is not kept beside the leader.
  for (const { id } of executions) {
    await until(async () => !await exists(join(other.folder, "executions", id)));
  }
});

Deno.test("a leader whose places are taken is told of what others begin and end meanwhile", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  await machines.add(1);
  const long = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  const seen = join(machines.folder, "seen");
  const short = await machines.submit(
    leader,
    2,
    `until [ -e ${seen}-$VH_EXECUTION_ID ] || [ ! -d ${machines.folder} ]; do sleep 0.05; done`,
  );
  await Promise.all(short.map(async ({ id }) => {
    await until(() => leader.told.includes(`${id} started`));
    await Deno.writeTextFile(`${seen}-${id}`, "");
    await until(() => leader.told.includes(`${id} complete`));
    assertEquals(leader.told.filter((each) => each.startsWith(id)), [
      `${id} started`,
      `${id} complete`,
    ]);
  }));
  assertEquals([leader.engine.load, leader.engine.wantsRoom], [{ running: 1, waiting: 0 }, false]);
  await machines.open();
  await ended(leader.store, long);
});

Deno.test("what the leader does not hold in memory begins elsewhere once others have begun what it holds", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1, { waitingMax: 2 });
  const long = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  const [first, second, ...left] = (await machines.submit(leader, 4, "true"))
    .toSorted((one, other) => one.id < other.id ? -1 : 1);
  assertEquals(leader.engine.load.waiting, 2);
  const engine_state = { machine_id: "another", start_id: "1" };
  for (const held of [first, second]) {
    if (held === undefined) throw new Error("None is held");
    await leader.store.committer.write([
      ...executionWrites({ ...held, status: "started", engine_state }),
      { key: keys.executionClaimed(held.id), value: true },
    ]);
    await until(() => leader.told.includes(`${held.id} started`));
  }
  await until(() => leader.engine.wantsRoom);
  await machines.add(1);
  await ended(leader.store, left);
  await machines.open();
  await ended(leader.store, long);
});

Deno.test("what another machine has begun is not begun, and can be stopped at once", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const execution = executionOf({ id: newId(Date.now()), command: `echo >${machines.begun}` });
  const engine_state = { machine_id: "another", start_id: "1" };
  await leader.store.committer.write(executionWrites({
    ...execution,
    status: "started",
    engine_state,
  }));
  // As it was read before.
  leader.engine.submit(execution);
  await until(() => leader.told.includes(`${execution.id} started`));
  assertEquals(await leader.engine.stop(execution.id), true);
  assertEquals(await statuses(leader.store, [execution]), ["stopping"]);
  assertEquals(await exists(join(leader.folder, "executions", execution.id)), false);
  assertEquals(await exists(machines.begun), false);
});

Deno.test("an attempt that has ended on another machine is not begun once the database answers again", async () => {
  const kv = await Deno.openKv(":memory:");
  await using machines = await Machines.make(kv);
  const launched = executionOf({
    command: `echo >${machines.begun}`,
    retry: { attempts: 2, first: 3_600, factor: 1, exit_codes: "*" },
  });
  const attempt = firstAttempt(launched);
  let reads = 0;
  const leader = await machines.add(1, {
    kv: standIn(kv, {
      async getMany(wanted: Deno.KvKey[]) {
        const isOfIt = wanted.some(([kind, id]) => kind === "execution_open" && id === attempt.id);
        if (isOfIt && reads++ === 0) throw new TypeError("the connection broke");
        return await kv.getMany(wanted);
      },
    }),
  });
  const engine_state = { machine_id: "another" };
  await leader.store.committer.write(
    executionWrites({ ...attempt, status: "error", ended_at: attempt.created_at, engine_state }),
  );
  // As it was read before.
  leader.engine.submit(attempt);
  await until(() => reads > 0 && leader.engine.load.running === 0);
  assertEquals([leader.told, await exists(machines.begun)], [[], false]);
});

Deno.test("what another machine has begun, and the leader neither holds nor has seen begin, can be stopped", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const engine_state = { machine_id: "another", start_id: "1" };
  const execution = executionOf({ id: newId(Date.now()), status: "started", engine_state });
  await leader.store.committer.write(executionWrites(execution));
  assertEquals(await leader.engine.stop(execution.id), true);
  assertEquals(await statuses(leader.store, [execution]), ["stopping"]);
  await until(() => leader.told.includes(`${execution.id} stopping`));
});

Deno.test("several machines that claim at once begin each execution once", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(2);
  await machines.add(3);
  await machines.add(3);
  const executions = await machines.submit(leader, 60, "true");
  await ended(leader.store, executions);
  assertEquals(machines.begunIds.toSorted(), executions.map(({ id }) => id).toSorted());
  await until(async () => await claims(leader.store) === 0);
  for (const { id } of executions) {
    assertEquals(leader.told.filter((each) => each === `${id} complete`).length, 1);
  }
  // Whoever has not come first has made no folder.
  const ran = await Promise.all(executions.map(({ id }) => getExecution(leader.store, id)));
  const own = ran.filter((each) =>
    each && leader.engine.machineOf(each) === leader.store.shared?.machineId
  );
  for (const [at, { folder }] of machines.all.entries()) {
    const kept = () => Array.fromAsync(Deno.readDir(join(folder, "executions")));
    await until(async () => (await kept()).length === (at === 0 ? own.length : 0));
  }
  // None stays in its memory as one that waits.
  await until(() => leader.engine.load.waiting === 0);
  assertEquals(leader.engine.wantsRoom, false);
});

Deno.test("the leader stops what another machine runs, and what nobody has begun", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  await machines.add(1);
  const executions = await machines.submit(leader, 4, machines.untilOpen);
  await until(() => machines.begunIds.length === 2);
  // Those that wait are the last ones: a place that is free again would be theirs.
  for (const { id } of executions.toReversed()) assertEquals(await leader.engine.stop(id), true);
  await ended(leader.store, executions);
  assertEquals(await statuses(leader.store, executions), Array(4).fill("stopped"));
  assertEquals(machines.begunIds.length, 2);
  for (const { id } of executions) assertEquals(await leader.engine.stop(id), false);
});

/** Gives up an execution, as the leader does while its machine is silent. */
async function giveUp({ store }: Machine, { id }: Execution): Promise<void> {
  await changeExecution(store, id, (execution) => {
    const { engine_state } = execution;
    writeEnd(execution, { ending: stopped("Given up"), at_ms: Date.now() });
    return { ...execution, engine_state: { ...engine_state, given_up: true } };
  });
}

Deno.test("what the leader has given up ends on a machine whose instance was silent and goes on", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const other = await machines.add(1);
  const [own, theirs] = await machines.submitTo(leader, other, machines.untilOpen);
  await giveUp(leader, theirs);
  // Its place is free, and nothing of it is left, while the gate is closed.
  await until(() => other.engine.load.running === 0);
  assertEquals(await exists(join(other.folder, "executions", theirs.id)), false);
  assertEquals((await getExecution(leader.store, theirs.id))?.reason, "Given up");
  await machines.open();
  await ended(leader.store, [own]);
});

Deno.test("what was given up, and is being ended when its instance stops, is ended by the next one", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  let other = await machines.add(1);
  const told = join(machines.folder, "told");
  const command = `set +e; trap 'echo >>${told}' TERM; ${machines.untilOpen}`;
  const [own, theirs] = await machines.submitTo(leader, other, command);
  await other.leave(0);
  await giveUp(leader, theirs);
  for (const times of [1, 2]) {
    other = await machines.add(1, { after: other });
    await until(() => textOf(told).length === times);
    if (times === 1) await other.leave(0);
  }
  await machines.open();
  await until(() => other.engine.load.running === 0);
  await ended(leader.store, [own]);
});

Deno.test("a claim that arrives after its instance was killed and another runs on the machine is not stored", async () => {
  const kv = await Deno.openKv(":memory:");
  await using machines = await Machines.make(kv);
  const leader = await machines.add(1);
  const sent = Promise.withResolvers<void>();
  const arriving = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  let isKilled = false;
  const killed = await machines.add(1, {
    kv: watchedKv(kv, async (commit, store) => {
      if (isKilled) throw new Error("the process is killed");
      if (!commit.keys.some(([kind]) => kind === "execution_claimed")) return await store();
      isKilled = true;
      sent.resolve();
      await arriving.promise;
      await store().finally(arrived.resolve);
      return await new Promise(() => {});
    }),
  });
  const [first] = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  const [second] = await machines.submit(leader, 1, "true");
  await sent.promise;
  await machines.add(1, { after: killed });
  arriving.resolve();
  await arrived.promise;
  const executions = [first, second].filter((each) => each !== undefined);
  await ended(leader.store, executions.slice(1));
  await machines.open();
  await ended(leader.store, executions);
  isKilled = false;
  await killed.leave(0);
});

Deno.test("an execution that is stopped while another machine claims it ends once, stopped or not begun", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  await machines.add(4);
  const first = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  for (let round = 0; round < 5; round++) {
    const executions = await machines.submit(leader, 4, machines.untilOpen);
    await new Promise((resolve) => setTimeout(resolve, round * 30));
    const stops = await Promise.all(executions.map(({ id }) => leader.engine.stop(id)));
    assertEquals(stops, Array(4).fill(true));
    await ended(leader.store, executions);
    assertEquals(await statuses(leader.store, executions), Array(4).fill("stopped"));
  }
  await machines.open();
  await ended(leader.store, first);
});

Deno.test("nobody is told of a stop that could not be stored", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const executions = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  leader.store.shared?.lanes.fence();
  const { id = "" } = executions[0] ?? {};
  const stops = [leader.engine.stop(id), leader.engine.stop(id)];
  await leader.leave(0);
  assertEquals(await Promise.all(stops), [false, false]);
  const { store } = await machines.add(1, { after: leader });
  await machines.open();
  await ended(store, executions);
  assertEquals(await statuses(store, executions), ["complete"]);
});

Deno.test("the end of a command that ends before its stop is stored is told, once its results are kept", async () => {
  const kv = await Deno.openKv(":memory:");
  await using machines = await Machines.make(kv);
  const reading = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  let stopping = "";
  const artifacts = new FolderStore(join(machines.folder, "artifacts"), { isShared: true });
  const leader = await machines.add(1, {
    artifacts: standIn(artifacts, {
      async put(...args: Parameters<FolderStore["put"]>) {
        await stopped.promise;
        await artifacts.put(...args);
      },
    }),
    kv: standIn(kv, {
      async getMany(wanted: Deno.KvKey[]) {
        if (wanted.some(([kind, id]) => kind === "execution_open" && id === stopping)) {
          reading.resolve();
          await read.promise;
        }
        return await kv.getMany(wanted);
      },
    }),
  });
  const [first] = await machines.submit(leader, 1, machines.untilOpen);
  await until(() => machines.begunIds.length === 1);
  await machines.submit(leader, 1, "true");
  stopping = first?.id ?? "";
  const isStopped = leader.engine.stop(stopping);
  await reading.promise;
  await machines.open();
  // It has the place of the first one, whose command is over.
  await until(() => machines.begunIds.length === 2);
  read.resolve();
  assertEquals(await isStopped, true);
  const record = await getExecution(leader.store, stopping);
  assertEquals(record?.status, "stopping", "nothing is kept of it yet");
  stopped.resolve();
  await until(() => leader.told.includes(`${stopping} stopped`));
});

Deno.test("more claims of ended executions than a commit holds are all removed", async () => {
  await using machines = await Machines.make();
  const { store } = await machines.add(1);
  const ids = Array.from({ length: 1_200 }, () => newId(Date.now()));
  await store.committer.writeInParts(
    ids.map((id) => ({ key: keys.executionClaimed(id), value: true })),
  );
  await until(async () => await claims(store) === 0);
});

Deno.test("executions of a cluster that have waited for longer keep no machine from claiming", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const other = await machines.add(1);
  const atCluster = Array.from(
    { length: 250 },
    () => executionOf({ id: newId(Date.now()), engine: { type: "slurm" } }),
  );
  for (let at = 0; at < atCluster.length; at += 50) {
    await leader.store.committer.write(atCluster.slice(at, at + 50).flatMap(executionWrites));
  }
  const executions = await machines.submit(leader, 2, machines.untilOpen);
  await until(() => other.engine.load.running === 1);
  await machines.open();
  await ended(leader.store, executions);
});

Deno.test("a machine without room on its disk claims nothing until it has some", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  let hasRoom = false;
  let asked = 0;
  const other = await machines.add(1, {
    hasRoom() {
      asked++;
      return hasRoom;
    },
  });
  const executions = await machines.submit(leader, 2, machines.untilOpen);
  await until(() => asked > 2);
  assertEquals([machines.begunIds.length, other.engine.load.running], [1, 0]);
  hasRoom = true;
  await until(() => machines.begunIds.length === 2);
  await machines.open();
  await ended(leader.store, executions);
});

Deno.test("a machine leaves what waits for a runner that does not answer there, and asks it again later", async () => {
  const clock = new TestClock();
  const closing = new AbortController();
  const ofDocker = executionOf({ engine: { type: "local", runner: "docker" } });
  const ofProcess = executionOf();
  let [asked, answers] = [0, false];
  const begun: string[] = [];
  let wake = () => {};
  const leader = {
    ...{ id: "1", machine_id: "1", started_at: "", beats: 1, time_ms: 0 },
    executions_wait: true as const,
  };
  const claiming = claimWaiting({
    instances: { leader, obstacle: undefined },
    clock,
    reachability: {
      answers(runner) {
        if (runner === "process") return Promise.resolve(true);
        asked++;
        return Promise.resolve(answers);
      },
    },
    room: () => 1,
    waiting: (max, isWanted) =>
      Promise.resolve([ofDocker, ofProcess].filter((each) => isWanted(each)).slice(0, max)),
    begin: ({ id }) => begun.push(id),
    onFreed: (call) => void (wake = call),
    signal: closing.signal,
  });
  const looks = async (count: number) => {
    for (let look = 0; look < count; look++) {
      clock.time_ms += 250;
      wake();
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  await looks(20);
  assertEquals([asked, begun.includes(ofDocker.id), begun.includes(ofProcess.id)], [
    1,
    false,
    true,
  ]);
  answers = true;
  await looks(40);
  assertEquals([asked > 1, begun.includes(ofDocker.id)], [true, true]);
  closing.abort();
  await claiming;
});

Deno.test("without a common artifact store the leader alone begins executions", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1, { isShared: false });
  const other = await machines.add(2, { isShared: false });
  // From then on it would claim.
  await until(() => other.store.shared?.instances.obstacle === undefined);
  const executions = await machines.submit(leader, 3, "sleep 1");
  await ended(leader.store, executions);
  assertEquals(await statuses(leader.store, executions), Array(3).fill("complete"));
  const records = await Promise.all(executions.map(({ id }) => getExecution(leader.store, id)));
  const where = records.map((each) => each && leader.engine.machineOf(each));
  assertEquals(where, Array(3).fill(leader.store.shared?.machineId));
  assertEquals(await claims(leader.store), 0);
});

Deno.test("without a common artifact store nothing is left of what a machine goes on with but its record", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1, { isShared: false });
  const other = await machines.add(1, { isShared: false });
  const engine_state = { machine_id: other.store.shared?.machineId };
  const begun = executionOf({ id: newId(Date.now()), status: "started", engine_state });
  await leader.store.committer.write(executionWrites(begun));
  await other.leave();
  await machines.add(1, { isShared: false, after: other });
  await ended(leader.store, [begun]);
  assertEquals(await claims(leader.store), 0);
});

Deno.test("what a machine has claimed goes on under the next leader, which is told of its end", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const other = await machines.add(1);
  const next = await machines.add(1);
  const executions = await machines.submit(leader, 3, machines.untilOpen);
  await until(() => machines.begunIds.length === 3);
  const records = await Promise.all(executions.map(({ id }) => getExecution(other.store, id)));
  const [theirs] = records.filter((each) =>
    each && other.engine.machineOf(each) === other.store.shared?.machineId
  );
  if (theirs === undefined) throw new Error("None runs there");
  await leader.store.shared?.leave();
  await lead(next.store, "memory");
  await next.engine.start();
  await machines.open();
  await ended(next.store, [theirs]);
  await until(() => next.told.includes(`${theirs.id} complete`));
  assertEquals(next.told.filter((each) => each === `${theirs.id} complete`).length, 1);
  assertEquals(machines.begunIds.toSorted(), executions.map(({ id }) => id).toSorted());
});

/** Keeps nothing while it is away. */
class AwayStore extends FolderStore {
  asked = 0;
  /** Returns the error by which it is away, if it is. */
  away: () => Error | undefined = () => new UnavailableError("It is away", 1);

  override async put(...args: Parameters<FolderStore["put"]>): Promise<void> {
    this.asked++;
    const error = this.away();
    if (error === undefined) return await super.put(...args);
    await new Response(args[1]).body?.cancel();
    throw error;
  }
}

Deno.test("what has ended on a machine that could not store it is not begun again there", async (t) => {
  await t.step("since its instance was taken for gone", async () => {
    await using machines = await Machines.make();
    const leader = await machines.add(1);
    const other = await machines.add(1);
    const executions = await machines.submitTo(leader, other, machines.untilOpen);
    other.store.shared?.lanes.fence();
    await machines.open();
    await other.leave();
    await machines.add(1, { after: other });
    await ended(leader.store, executions);
    assertEquals(await statuses(leader.store, executions), ["complete", "complete"]);
    assertEquals(machines.begunIds.length, 2);
  });

  await t.step("since the artifact store was away when it stopped", async () => {
    await using machines = await Machines.make();
    const leader = await machines.add(1);
    const artifacts = new AwayStore(join(machines.folder, "away"), { isShared: true });
    const other = await machines.add(1, { artifacts });
    const executions = await machines.submitTo(leader, other, machines.untilOpen);
    await machines.open();
    await until(() => artifacts.asked > 0);
    await other.leave(0);
    await machines.add(1, { after: other });
    await ended(leader.store, executions);
    assertEquals(await statuses(leader.store, executions), ["complete", "complete"]);
    assertEquals(machines.begunIds.length, 2);
  });

  await t.step("since there were too many open files", async () => {
    await using machines = await Machines.make();
    const leader = await machines.add(1);
    const artifacts = new AwayStore(join(machines.folder, "artifacts"), { isShared: true });
    artifacts.away = () =>
      artifacts.asked > 1 ? undefined : Object.assign(new Error("Too many"), { code: "EMFILE" });
    const other = await machines.add(1, { artifacts });
    const executions = await machines.submitTo(leader, other, machines.untilOpen);
    await machines.open();
    await ended(leader.store, executions);
    assertEquals(await statuses(leader.store, executions), ["complete", "complete"]);
    assertEquals([machines.begunIds.length, artifacts.asked], [2, 2]);
  });
});

Deno.test("a machine keeps no files of executions that are gone, and beside the leader those of open ones alone", async () => {
  await using machines = await Machines.make();
  const leader = await machines.add(1);
  const other = await machines.add(1);
  const [open, over] = await machines.submit(leader, 2, machines.untilOpen);
  await until(() => machines.begunIds.length === 2);
  assertEquals([open, over].includes(undefined), false);
  // What an instance leaves that led before, and that was removed since.
  const left = newId(Date.now());
  for (const { folder } of machines.all) await Deno.mkdir(join(folder, "executions", left));
  for (const { engine } of machines.all) await engine.tidy();
  for (const { folder } of [leader, other]) {
    const names = await Array.fromAsync(
      Deno.readDir(join(folder, "executions")),
      ({ name }) => name,
    );
    assertEquals([names.length, names.includes(left)], [1, false]);
  }
  await machines.open();
  await ended(leader.store, [open, over].filter((each) => each !== undefined));
});

Deno.test("without a common artifact store a machine keeps the files of executions whose records are kept", async () => {
  const [kept, damaged, lost, removed, unprepared] = Array.from(
    { length: 5 },
    () => newId(Date.now()),
  );
  await using machines = await Machines.make(
    undecodable(await Deno.openKv(":memory:"), keys.execution(lost ?? "")),
  );
  const leader = await machines.add(1, { isShared: false });
  const other = await machines.add(1, { isShared: false });
  const status = "complete";
  await leader.store.committer.write([
    ...executionWrites(executionOf({ id: kept ?? "", status })),
    { key: keys.execution(damaged ?? ""), value: "no record" },
  ]);
  const executions = join(other.folder, "executions");
  for (const name of [kept, damaged, lost, removed, `tmp-${unprepared}`]) {
    await Deno.mkdir(join(executions, name ?? ""));
  }
  await other.engine.tidy();
  const left = await Array.fromAsync(Deno.readDir(executions), ({ name }) => name);
  assertEquals(left.sort(), [kept, damaged, lost]);
});

/** A database that cannot decode the value of a key. */
function undecodable(kv: Deno.Kv, damaged: Deno.KvKey): Deno.Kv {
  const expectWhole = (key: Deno.KvKey) => {
    if (key.join() === damaged.join()) throw new RangeError("could not deserialize value");
  };
  return standIn(kv, {
    async get(key: Deno.KvKey) {
      expectWhole(key);
      return await kv.get(key);
    },
    async getMany(wanted: Deno.KvKey[]) {
      wanted.forEach(expectWhole);
      return await kv.getMany(wanted);
    },
  });
}

Deno.test("code that is newer than a machine's mirror is fetched once, and the mirror stays", async () => {
  await using folder = await temporaryFolder();
  using kv = await Deno.openKv(":memory:");
  await using leader = await sharedStore(kv, systemClock);
  await using store = await sharedStore(kv, systemClock, { leads: false });
  const remote = await GitFixture.make(join(folder.path, "remote"), { code: "old" });
  const project = projectOf(remote.path);
  await leader.committer.write([recordWrite(keys.project(project.name), project)]);
  const projects = new Projects({ dataFolder: folder.path, clock: systemClock });
  let fetched = 0;
  let checkout: EngineParts["projects"]["checkout"] | undefined;
  const makers = {
    local(parts: EngineParts) {
      ({ checkout } = parts.projects);
      return new LocalEngine(parts);
    },
  };
  new Engines(makers, {
    store,
    dataFolder: folder.path,
    artifacts: new FolderStore(join(folder.path, "artifacts"), { isShared: true }),
    clock: systemClock,
    projects: {
      checkout: (...of) => projects.checkout(...of),
      hasCommit: (...of) => projects.hasCommit(...of),
      isKept: (...of) => projects.isKept(...of),
      fetch(of) {
        fetched++;
        return projects.fetch(of);
      },
    },
  });
  const mirrors: (number | null)[] = [];
  for (const code of ["first", "second", "third"]) {
    const commit = await remote.commit({ code });
    for (const copy of ["one", "other"]) {
      const path = join(folder.path, `${code}-${copy}`);
      await checkout?.(project.name, commit, path);
      assertEquals(await Deno.readTextFile(join(path, "code")), code);
    }
    const mirror = join(folder.path, "projects", project.name, "mirror.git");
    mirrors.push((await Deno.stat(mirror)).ino);
  }
  assertEquals(fetched, 3);
  assertEquals(new Set(mirrors).size, 1);
  await projects.close();
});
