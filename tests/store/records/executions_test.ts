/** The records of executions: the lists of open and ended ones are true at every status. */
import { assertEquals, assertRejects } from "@std/assert";
import { newId } from "../../../src/platform/ids.ts";
import {
  endedExecutionsMadeBefore,
  type Execution,
  type ExecutionStatus,
  getExecution,
  getExecutions,
  hasEnded,
  listExecutions,
  openExecutions,
  removeExecutionWrites,
  saveExecution,
} from "../../../src/store/records/executions.ts";
import type { Store } from "../../../src/store/store.ts";
import { executionOf } from "../execution.ts";
import { storeInMemory } from "../fixture.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const OPEN: readonly ExecutionStatus[] = ["created", "queued", "started", "stopping"];
const ENDED: readonly ExecutionStatus[] = ["stopped", "error", "complete"];

async function save(store: Store, parts: Partial<Execution> = {}): Promise<Execution> {
  const execution = executionOf(parts);
  await store.committer.commit(saveExecution(execution));
  return execution;
}

Deno.test("an execution is open until it has ended, and its record is what was stored last", async () => {
  await using store = await storeInMemory();
  const { id } = executionOf();
  for (const status of [...OPEN, ...ENDED]) {
    const execution = await save(store, { id, status, metadata: { status } });
    assertEquals(await getExecution(store, id), execution);
    const open = await Array.fromAsync(openExecutions(store));
    assertEquals(open, hasEnded(status) ? [] : [{ id, status }]);
    assertEquals(hasEnded(status), ENDED.includes(status));
  }
  await store.committer.write(removeExecutionWrites(executionOf({ id })));
  assertEquals(await getExecution(store, id), undefined);
});

Deno.test("what is stored is the record as it is when it is written", async () => {
  await using store = await storeInMemory();
  const execution = executionOf();
  const saved = store.committer.commit(saveExecution(execution));
  execution.status = "started";
  await saved;
  assertEquals((await getExecution(store, execution.id))?.status, "started");
});

Deno.test("open executions are listed from the oldest", async () => {
  await using store = await storeInMemory();
  const made: Execution[] = [];
  for (let index = 0; index < 25; index++) {
    made.push(await save(store, { id: newId(NOW_MS + index) }));
  }
  await save(store, { status: "complete" });
  const open = await Array.fromAsync(openExecutions(store));
  assertEquals(open.map(({ id }) => id), made.map(({ id }) => id));
});

Deno.test("many executions are read at once, in the order that was asked for", async () => {
  await using store = await storeInMemory();
  const made: Execution[] = [];
  for (let index = 0; index < 23; index++) made.push(await save(store));
  const ids = made.map(({ id }) => id).toReversed();
  assertEquals(await getExecutions(store, ids), made.toReversed());
  assertEquals(await getExecutions(store, [newId(0), ids[3] ?? "", newId(0)]), [
    made.at(-4) ?? executionOf(),
  ]);
  assertEquals(await getExecutions(store, []), []);
});

Deno.test("executions are listed from the newest, page by page, each once", async () => {
  await using store = await storeInMemory();
  const made: string[] = [];
  for (let index = 0; index < 25; index++) {
    made.push((await save(store, { id: newId(NOW_MS + index) })).id);
  }
  const pages: string[][] = [];
  let before: string | undefined;
  do {
    const options = { before, limit: 10 };
    const page = await listExecutions(store, options);
    pages.push(page.records.map(({ id }) => id));
    before = page.next;
  } while (before !== undefined);
  assertEquals(pages.map(({ length }) => length), [10, 10, 5]);
  assertEquals(pages.flat(), made.toReversed());
});

Deno.test("ended executions made before a time are found behind any number of open ones", async () => {
  await using store = await storeInMemory();
  const ended: string[] = [];
  for (let index = 0; index < 30; index++) {
    const status = index % 10 === 9 ? "complete" : "started";
    const { id } = await save(store, { id: newId(NOW_MS + index), status });
    if (status === "complete") ended.push(id);
  }
  const found: string[] = [];
  let page = await endedExecutionsMadeBefore(store, NOW_MS + 25, { limit: 4 });
  for (;;) {
    found.push(...page.ended.map(({ id }) => id));
    if (page.next === undefined) break;
    page = await endedExecutionsMadeBefore(store, NOW_MS + 25, { after: page.next, limit: 4 });
  }
  assertEquals(found, ended.slice(0, 2));
});

const sizes: { name: string; parts: Partial<Execution>; isStored: boolean }[] = [
  { name: "a new one of 50 KiB", parts: { command: "x".repeat(51_200) }, isStored: true },
  { name: "a new one of 57 KiB", parts: { command: "x".repeat(58_368) }, isStored: false },
  {
    name: "one that runs, of 57 KiB",
    parts: { status: "started", command: "x".repeat(58_368) },
    isStored: true,
  },
  {
    name: "one that runs, of 61 KiB",
    parts: { status: "started", command: "x".repeat(62_464) },
    isStored: false,
  },
  { name: "30,000 letters of two bytes", parts: { command: "語".repeat(30_000) }, isStored: false },
  { name: "25,000 letters of two bytes", parts: { command: "語".repeat(25_000) }, isStored: true },
];

for (const { name, parts, isStored } of sizes) {
  Deno.test(`an execution that ${isStored ? "fits" : "does not fit"} into a record: ${name}`, async () => {
    await using store = await storeInMemory();
    const execution = executionOf(parts);
    const saved = () => store.committer.commit(saveExecution(execution));
    if (isStored) await saved();
    else await assertRejects(saved, RangeError, execution.id);
    assertEquals(await getExecution(store, execution.id), isStored ? execution : undefined);
  });
}
