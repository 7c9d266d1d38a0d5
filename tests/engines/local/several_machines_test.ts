/** Records that the leader and the machine of an execution change at the same time. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { storeBesideLeader } from "../../../src/engines/local/following.ts";
import { OtherMachines } from "../../../src/engines/local/other_machines.ts";
import { stopped } from "../../../src/engines/shared/execution_end.ts";
import {
  type Execution,
  executionWrites,
  getExecution,
  hasEnded,
} from "../../../src/store/records/executions.ts";
import { keys } from "../../../src/store/keys.ts";
import { changeExecution } from "../../../src/store/records/execution_changes.ts";
import { firstAttempt, waitingAttempts } from "../../../src/store/records/attempts.ts";
import type { Store } from "../../../src/store/store.ts";
import { executionOf } from "../../store/execution.ts";
import { sharedStore } from "../../store/fixture.ts";
import { eventually, TestClock } from "../../surroundings.ts";

interface Both {
  leader: Store;
  machine: Store;
  others: OtherMachines;
  /** The record as the machine has it. */
  execution: Execution;
  clock: TestClock;
  /** The executions that the leader was told of. */
  told: Execution[];
}

/** Runs a test with a leader, and an instance on the machine that runs an execution. */
async function both(
  test: (parts: Both) => Promise<void>,
  fields: Partial<Execution> = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using leader = await sharedStore(kv, clock);
  await using machine = await sharedStore(kv, clock, { leads: false });
  const closing = new AbortController();
  const execution = firstAttempt(executionOf({
    status: "started",
    engine_state: { machine_id: machine.shared?.machineId },
    ...fields,
  }));
  await leader.committer.write(executionWrites(execution));
  const told: Execution[] = [];
  const others = new OtherMachines({
    store: leader,
    clock,
    onChange: (each) => told.push(each),
    signal: closing.signal,
  });
  try {
    others.add(structuredClone(execution));
    await test({ leader, machine, others, execution, clock, told });
  } finally {
    closing.abort();
    await others.close();
  }
}

Deno.test("a stop of the leader and a change of the machine at the same time are both stored", () =>
  both(async ({ leader, machine, others, execution }) => {
    for (let round = 0; round < 10; round++) {
      execution.metadata.round = round;
      const stop = round === 5 ? others.stop(execution.id, stopped("enough")) : true;
      const saved = storeBesideLeader(machine, execution);
      assertEquals(await Promise.all([saved, stop]), [true, true]);
      const { status, metadata } = await getExecution(leader, execution.id) ?? {};
      assertEquals([metadata?.round, status], [round, round < 5 ? "started" : "stopping"]);
    }
    assertEquals(execution.engine_state?.ending, stopped("enough"), "the machine has seen it");
  }));

Deno.test("an end that the machine has stored is not stopped, nor given up", () =>
  both(async ({ leader, machine, others, execution }) => {
    execution.status = "complete";
    assertEquals(await storeBesideLeader(machine, execution), true);
    assertEquals(await others.stop(execution.id, stopped()), false);
    assertEquals((await getExecution(leader, execution.id))?.status, "complete");
    assertEquals(others.has(execution.id), false);
  }));

Deno.test("a notifier that is new is told of an end that another machine stores", () =>
  both(async ({ leader, machine, execution }) => {
    const told = ["told"];
    let isKnown = false;
    machine.refreshNotifiers = () => {
      if (isKnown) return undefined;
      isKnown = true;
      machine.tellEnd = ({ of }) => [{ key: told, value: of }];
      return Promise.resolve();
    };
    execution.status = "complete";
    assertEquals(await storeBesideLeader(machine, execution), true);
    assertEquals((await leader.kv.get(told)).value, execution.id);
  }));

Deno.test("an end is told once, also where an older record is read later", () =>
  both(async ({ leader, machine, others, execution, told }) => {
    const before = structuredClone(execution);
    execution.status = "complete";
    assertEquals(await storeBesideLeader(machine, execution), true);
    others.watchClaims();
    await eventually(() => told.length > 0 || undefined);
    others.claimed(before);
    assertEquals(others.has(execution.id), false);
    const claim = keys.executionClaimed(execution.id);
    await eventually(async () => (await leader.kv.get(claim)).value === null || undefined);
    await nextLook(leader);
    others.claimed(before);
    assertEquals(told.map(({ status }) => status), ["complete"]);
  }));

Deno.test("an attempt whose end another machine stores is tried again once, and the leader is told", () =>
  both(async ({ leader, machine, others, execution, told }) => {
    const { id, attempt_of = "" } = execution;
    const ended_at = new Date().toISOString();
    Object.assign(execution, { status: "error", exit_code: 75, ended_at });
    assertEquals(await storeBesideLeader(machine, execution), true);
    // The machine may not know that it is stored.
    assertEquals(await storeBesideLeader(machine, execution), false);
    const { status, attempt_id = "", attempts = [] } = await getExecution(leader, attempt_of) ?? {};
    assertEquals([status, attempts.map((each) => each.status)], ["created", ["error", "created"]]);
    assertEquals(await waitingAttempts(leader), [{
      id: attempt_id,
      at_ms: Date.parse(ended_at) + 30_000,
    }]);
    assertEquals((await getExecution(leader, attempt_id))?.engine_state, undefined);
    await eventually(() =>
      told.some((each) => each.id === id && hasEnded(each.status)) || undefined
    );
    assertEquals(others.has(id), false);
  }, { retry: { attempts: 3, first: 30, factor: 2, exit_codes: [75] } }));

Deno.test("what is given up while its machine is silent stays so when the machine is back", () =>
  both(async ({ leader, machine, others, execution, clock }) => {
    await machine.shared?.leave();
    await leader.shared?.instances.look();
    clock.time_ms += 20_000;
    assertEquals(await others.stop(execution.id, stopped("Enough")), true);
    execution.status = "complete";
    assertEquals(await storeBesideLeader(leader, execution), false);
    const { status, reason = "", engine_state } = await getExecution(leader, execution.id) ?? {};
    assertEquals([status, engine_state?.given_up], ["stopped", true]);
    assertStringIncludes(reason, "Enough. Its machine was silent");
  }));

Deno.test("what a machine shows of a runner that it cannot ask stays while it is not silent itself", () =>
  both(async ({ leader, machine, others, execution, told }) => {
    await machine.shared?.instances.takeMachine();
    Object.assign(execution, { reachable: false, waiting: "docker does not answer" });
    assertEquals(await storeBesideLeader(machine, execution), true);
    await eventually(() => told.some(({ reachable }) => reachable === false) || undefined);
    await nextLook(leader);
    await nextLook(leader);
    const { reachable, waiting } = await getExecution(leader, execution.id) ?? {};
    assertEquals([reachable, waiting], [false, "docker does not answer"]);
    assertEquals(others.outages, []);
  }));

Deno.test("of two changes of one execution at the same time none is lost", () =>
  both(async ({ leader, execution }) => {
    for (let round = 0; round < 20; round++) {
      const changes = ["one", "other"].map((name) =>
        changeExecution(leader, execution.id, (stored) => {
          return { ...stored, metadata: { ...stored.metadata, [name]: round } };
        })
      );
      await Promise.all(changes);
      const { metadata } = await getExecution(leader, execution.id) ?? {};
      assertEquals(metadata, { one: round, other: round });
    }
  }));

Deno.test("of an end and a stop at the same time one is stored, and both know which", () =>
  both(async ({ leader, machine, others, execution, clock }) => {
    await machine.shared?.leave();
    await leader.shared?.instances.look();
    clock.time_ms += 20_000;
    const ended: Execution = { ...execution, status: "complete" };
    const [isSaved, isStopped] = await Promise.all([
      storeBesideLeader(leader, ended),
      others.stop(execution.id, stopped("Enough")),
    ]);
    const { status } = await getExecution(leader, execution.id) ?? {};
    assertEquals([isSaved, isStopped], status === "complete" ? [true, false] : [false, true]);
  }));

/** Resolves when the machines of a leader's executions have been looked at once more. */
async function nextLook(leader: Store): Promise<void> {
  const instances = leader.shared?.instances;
  assert(instances);
  const { promise, resolve } = Promise.withResolvers<void>();
  // It stands before that of the class until it is read.
  Object.defineProperty(instances, "all", {
    configurable: true,
    get() {
      Reflect.deleteProperty(instances, "all");
      resolve();
      return instances.all;
    },
  });
  await promise;
}

Deno.test("a machine is silent until an instance looks after what it runs", async (t) => {
  const cases: [name: string, isTaken: boolean, hasLooked: boolean][] = [
    ["one that does", true, true],
    ["one that does, while the leader could not look at the others", true, false],
    ["one that only serves", false, true],
  ];
  for (const [name, isTaken, hasLooked] of cases) {
    await t.step(
      name,
      () =>
        both(async ({ leader, machine, others, execution, clock }) => {
          if (isTaken) await machine.shared?.instances.takeMachine();
          await eventually(() => {
            const found = leader.shared?.instances.all
              .find(({ machine_id }) => machine_id === machine.shared?.machineId);
            return found && Boolean(found.has_machine) === isTaken ? true : undefined;
          }, { what: "the machine's record, as the leader sees it" });
          await nextLook(leader);
          clock.time_ms += 20_000;
          if (hasLooked) await nextLook(leader);
          assertEquals(await others.stop(execution.id, stopped()), true);
          const { status } = await getExecution(leader, execution.id) ?? {};
          assertEquals(status, isTaken ? "stopping" : "stopped");
        }),
    );
  }
});
