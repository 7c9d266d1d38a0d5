/**
 * Executions that wait: how many run at once, in which order they start, and that none is lost or started
 * twice, whether it waits in memory or in the database alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ExecutionQueue } from "../../../src/engines/local/queue.ts";
import { derivedId, newId } from "../../../src/platform/ids.ts";
import { saveExecution } from "../../../src/store/records/executions.ts";
import { EngineFixture, textOf, until } from "../fixture.ts";

/** An id that sorts by its number. */
function idOf(number: number): string {
  return derivedId(newId(1_700_000_000_000 + number), number);
}

function lines(path: string): string[] {
  return textOf(path).split("\n").filter(Boolean);
}

function mostAtOnce(folder: string): number {
  let running = 0;
  let most = 0;
  for (const sign of lines(`${folder}/count`)) {
    running += sign === "+" ? 1 : -1;
    most = Math.max(most, running);
  }
  return most;
}

Deno.test("queue: no more than allowed run at once, and as many as allowed do", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 3 });
  const { folder } = fixture;
  // Each waits until three have begun, so less than three at once would never end.
  const command = `echo + >>${folder}/count
    until [ $(grep -c + ${folder}/count) -ge 3 ]; do sleep 0.01; done
    sleep 0.05; echo - >>${folder}/count`;
  const ids = [];
  for (let number = 0; number < 9; number++) ids.push(await fixture.submit(command));
  for (const id of ids) assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(mostAtOnce(folder), 3);
});

Deno.test("queue: the oldest starts first, whatever the order they were handed over in", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1 });
  const first = await fixture.submit(`until [ -e ${fixture.folder}/go ]; do sleep 0.01; done`);
  const numbers = [5, 2, 8, 1, 9, 3];
  const ids = [];
  for (const number of numbers) {
    const id = idOf(number);
    ids.push(await fixture.submit(`echo ${number} >>${fixture.folder}/order`, { id }));
  }
  await Deno.writeTextFile(`${fixture.folder}/go`, "");
  for (const id of [first, ...ids]) await fixture.ended(id);
  assertEquals(lines(`${fixture.folder}/order`), ["1", "2", "3", "5", "8", "9"]);
});

Deno.test("queue: what does not fit in memory waits in the database and is not lost", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 2, waitingMax: 4 });
  const ids = [];
  for (let number = 0; number < 40; number++) {
    const command = `echo ${number} >>${fixture.folder}/order`;
    ids.push(await fixture.submit(command, { id: idOf(number) }));
    assert(fixture.engine.load.waiting <= 4);
  }
  const started: (string | undefined)[] = [];
  for (const id of ids) {
    const { status, started_at } = await fixture.ended(id);
    assertEquals(status, "complete");
    started.push(started_at);
  }
  const ran = lines(`${fixture.folder}/order`).map(Number);
  assertEquals(ran.toSorted((a, b) => a - b), Array.from({ length: 40 }, (_, index) => index));
  // Of two that run at once either may print first, so when they have started tells the order.
  assertEquals(started, started.toSorted());
});

Deno.test("queue: it survives a restart", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1, waitingMax: 2 });
  const ids = [];
  for (let number = 0; number < 8; number++) {
    const command = `echo ${number} >>${fixture.folder}/order; sleep 0.02`;
    ids.push(await fixture.submit(command, { id: idOf(number) }));
  }
  await until(() => lines(`${fixture.folder}/order`).length >= 2);
  await fixture.restart();
  for (const id of ids) assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(lines(`${fixture.folder}/order`), ["0", "1", "2", "3", "4", "5", "6", "7"]);
});

Deno.test("queue: handing over again, before, while and after it runs, changes nothing", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1 });
  const blocker = await fixture.submit("sleep 0.1");
  const command = `echo ran >>${fixture.folder}/order; sleep 0.1`;
  const execution = fixture.execution(command);
  await fixture.store.committer.commit(saveExecution(execution));
  const again = () => fixture.engine.submit({ ...execution, status: "queued" });
  fixture.engine.submit(execution);
  again();
  await until(() => lines(`${fixture.folder}/order`).length === 1);
  again();
  await fixture.ended(execution.id);
  again();
  fixture.engine.submit(await fixture.record(execution.id));
  await fixture.ended(blocker);
  await fixture.ended(await fixture.submit("true"));
  assertEquals(lines(`${fixture.folder}/order`), ["ran"]);
});

Deno.test("queue: what is handed over before the start waits for it", async () => {
  await using fixture = await EngineFixture.make();
  await fixture.close();
  await fixture.open();
  const id = await fixture.submit("true");
  assertEquals(fixture.engine.load, { running: 0, waiting: 1 });
  await fixture.engine.start();
  assertEquals((await fixture.ended(id)).status, "complete");
});

Deno.test("queue: after closing nothing more starts, and what runs may end", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1 });
  const go = `${fixture.folder}/go`;
  const running = await fixture.submit(`until [ -e ${go} ]; do sleep 0.01; done`);
  const waiting = await fixture.submit("true");
  await until(async () => (await fixture.record(running)).status === "started");
  const closed = fixture.engine.close(60_000);
  await Deno.writeTextFile(go, "");
  await closed;
  assertEquals((await fixture.record(running)).status, "complete");
  assertEquals((await fixture.record(waiting)).status, "queued");
});

Deno.test("queue: one that is left to the database during a reading is read the next time", async () => {
  const waiting = new ExecutionQueue(2);
  const fixture = { execution: EngineFixture.prototype.execution };
  const [a, b, c, d] = [1, 2, 3, 4].map((number) => fixture.execution("", { id: idOf(number) }));
  assert(a && b && c && d);
  for (const each of [b, c]) waiting.add(each);
  // One that is older comes in, and the youngest goes out.
  waiting.add(a);
  assertEquals([waiting.size, waiting.has(c.id)], [2, false]);
  assertEquals([waiting.take()?.id, waiting.take()?.id], [a.id, b.id]);
  assertEquals(waiting.wantsMore, true);
  await waiting.refill(() => {
    waiting.add(d);
    return Promise.resolve({ executions: [c], isAll: true });
  });
  assertEquals(waiting.take()?.id, c.id);
  assertEquals(waiting.wantsMore, true);
  await waiting.refill(() => Promise.resolve({ executions: [d], isAll: true }));
  assertEquals([waiting.take()?.id, waiting.wantsMore], [d.id, false]);
});

Deno.test("queue: one that is stopped when it was just read from the database does not start", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 1, waitingMax: 1 });
  const begins = await fixture.submit("echo begun; until [ -e $TMPDIR/go ]; do sleep 0.01; done");
  await fixture.submit("true");
  const [stopped, last] = [await fixture.submit("echo ran"), await fixture.submit("true")];
  const { refill } = ExecutionQueue.prototype;
  let isStopped: boolean | undefined;
  ExecutionQueue.prototype.refill = function (read) {
    return refill.call(this, async () => {
      const found = await read();
      if (found.executions.some(({ id }) => id === stopped)) {
        isStopped ??= await fixture.engine.stop(stopped);
      }
      return found;
    });
  };
  try {
    await until(async () => (await fixture.printed(begins, "stdout")).length === 1);
    await Deno.writeTextFile(fixture.path(begins, "tmp", "go"), "");
    assertEquals((await fixture.ended(last)).status, "complete");
    assertEquals(isStopped, true);
    assertEquals((await fixture.record(stopped)).status, "stopped");
    assertEquals(fixture.states.filter((state) => state.startsWith(stopped)).length, 1);
  } finally {
    ExecutionQueue.prototype.refill = refill;
  }
});

Deno.test("queue: a place that is free goes to the project that has the fewest", async () => {
  await using fixture = await EngineFixture.make({ executionsMax: 2 });
  const waits = "until [ -e $VH_OUTPUTS_DIR/go ]; do sleep 0.05; done";
  const busy: string[] = [];
  for (let count = 0; count < 4; count++) {
    busy.push(await fixture.submit(waits, { project: "busy" }));
  }
  const other = await fixture.submit("true", { project: "other" });
  const [first = ""] = busy;
  await until(async () => (await fixture.record(first)).status === "started");
  await until(() => Deno.stat(fixture.path(first, "outputs")).then(() => true, () => false));
  await Deno.writeTextFile(fixture.path(first, "outputs", "go"), "");
  assertEquals((await fixture.ended(other)).status, "complete");
  for (const id of busy.slice(1)) {
    await until(() => Deno.stat(fixture.path(id, "outputs")).then(() => true, () => false));
    await Deno.writeTextFile(fixture.path(id, "outputs", "go"), "");
    await fixture.ended(id);
  }
});
