/** The records of runs: a run is found at every moment of its life, once, at its place in the lists. */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { serialize } from "node:v8";
import { newId } from "../../../src/platform/ids.ts";
import { listOldOfTriggers } from "../../../src/store/read/lists.ts";
import { endedRunsMadeBefore, listTriggerRuns } from "../../../src/store/records/run_lists.ts";
import {
  acceptWrites,
  endWrites,
  getPending,
  getRun,
  newPending,
  removeRunWrites,
  type Run,
} from "../../../src/store/records/runs.ts";
import type { Store } from "../../../src/store/store.ts";
import { pendingOf, TRIGGER_ID } from "../../runs/fixture.ts";
import { listPending, storeInMemory } from "../fixture.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

/** Accepts a run of a trigger at a time, and ends it unless it is to stay pending. */
async function makeRun(
  store: Store,
  { triggerId = TRIGGER_ID, time_ms = NOW_MS, ends = true } = {},
): Promise<Run> {
  const pending = pendingOf({ time_ms });
  pending.run.trigger_id = triggerId;
  await store.committer.write(acceptWrites(pending, new Uint8Array()));
  const ended: Run = { ...pending.run, status: "completed" };
  if (ends) await store.committer.write(endWrites(ended));
  return ends ? ended : pending.run;
}

Deno.test("what a pending run is taken to need holds it, and is not much more", () => {
  const long = "n".repeat(64);
  const parameters = { text: "x".repeat(9_000) };
  for (const actions of [[], [{ type: "a", parameters }], [{ type: "a" }, { type: "b" }]]) {
    for (const body of [new Uint8Array(), new Uint8Array(4_096)]) {
      const { run, ...rest } = pendingOf({ actions });
      const payload = {
        size: 2 ** 40,
        sha256: "a".repeat(64),
        content_type: "\xff".repeat(255),
      };
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      const remote_ip = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
      const full = { ...run, project: long, remote_ip, payload, replay_of: run.id };
      const pending = newPending({ ...rest, run: full, worker: run.id, traceparent }, body);
      const [write] = acceptWrites(pending, body).slice(-1);
      const stored = serialize(pending).length;
      assertLessOrEqual(stored, write?.bytes ?? 0);
      // Else a commit would hold fewer than it can.
      assertLessOrEqual(write?.bytes ?? Infinity, stored + 512);
    }
  }
});

Deno.test("a run is read while it is pending, when it has ended, and not when there is none", async () => {
  await using store = await storeInMemory();
  const run = await makeRun(store, { ends: false });
  assertEquals(await getRun(store, run.id), run);
  assertEquals((await getPending(store, run.id))?.run, run);

  const ended: Run = { ...run, status: "error", actions: [{ action: "a", error: "b" }] };
  await store.committer.write(endWrites(ended));
  assertEquals(await getRun(store, run.id), ended);
  assertEquals(await getPending(store, run.id), undefined);
  assertEquals(await getRun(store, newId(NOW_MS)), undefined);
});

Deno.test("a run that ends at this moment is found all the same", async () => {
  await using store = await storeInMemory();
  const runs = await Promise.all(
    Array.from({ length: 200 }, () => makeRun(store, { ends: false })),
  );
  const looks: Promise<Run | undefined>[] = [];
  for (const run of runs) {
    looks.push(getRun(store, run.id));
    void store.committer.write(endWrites({ ...run, status: "completed" }));
    looks.push(getRun(store, run.id), getRun(store, run.id));
  }
  for (const found of await Promise.all(looks)) assert(found !== undefined);
});

Deno.test("an end keeps long errors of few actions whole, and cuts those of many to what fits", async () => {
  await using store = await storeInMemory();
  const run = await makeRun(store, { ends: false });
  const actions = (count: number, error: string) =>
    Array.from({ length: count }, () => ({ action: "run_execution", error }));
  for (const error of ["x".repeat(4_096), "語".repeat(4_096)]) {
    await store.committer.write(endWrites({ ...run, actions: actions(2, error) }));
    assertEquals((await getRun(store, run.id))?.actions, actions(2, error));
    await store.committer.write(endWrites({ ...run, actions: actions(16, error) }));
    assertEquals((await getRun(store, run.id))?.actions, actions(16, error.slice(0, 1_536)));
  }
});

Deno.test("a run with the longest request, errors and payload fits into its record", async () => {
  await using store = await storeInMemory();
  const run = await makeRun(store, { ends: false });
  const names = Array.from({ length: 4 }, (_, n) => `${n}${"n".repeat(99)}…`);
  const request = {
    headers: { "x-long": "x".repeat(4_082) },
    query: `q=${"q".repeat(4_086)}`,
    left_out: { headers: names, query: names },
  };
  const actions = Array.from(
    { length: 16 },
    () => ({ action: "run_execution", error: "語".repeat(4_096) }),
  );
  const ended = { ...run, request, delivery_id: "語".repeat(200), actions };
  await store.committer.write(endWrites(ended, new Uint8Array(4_096)));
  assertEquals((await getRun(store, run.id))?.request, request);
});

Deno.test("a trigger's runs are listed from the newest, page by page, pending ones among them", async () => {
  await using store = await storeInMemory();
  const made: Run[] = [];
  for (let index = 0; index < 25; index++) {
    made.push(await makeRun(store, { time_ms: NOW_MS + index, ends: index % 3 !== 0 }));
    await makeRun(store, { time_ms: NOW_MS + index, triggerId: newId(NOW_MS) });
  }
  const pending = made.filter(({ status }) => status === "pending").map(({ id }) => id);
  // One has ended since the pending ones were looked up.
  const [first, ...rest] = made;
  assert(first);
  const ended: Run = { ...first, status: "completed" };
  await store.committer.write(endWrites(ended));
  for (const looked of [pending, "stored"] as const) {
    const pages: Run[][] = [];
    let before: string | undefined;
    do {
      const options = { pending: looked, limit: 10, ...(before === undefined ? {} : { before }) };
      const page = await listTriggerRuns(store, TRIGGER_ID, options);
      pages.push(page.records);
      before = page.next;
    } while (before !== undefined);
    assertEquals(pages.map(({ length }) => length), [10, 10, 5]);
    assertEquals(pages.flat(), [ended, ...rest].toReversed());
  }
  assertEquals(await listTriggerRuns(store, newId(NOW_MS), { limit: 5 }), {
    records: [],
    next: undefined,
  });
});

Deno.test("a page of runs reads the pending ones of its own time, and no more than it shows", async () => {
  await using store = await storeInMemory();
  const busy = newId(NOW_MS);
  // A backlog of one trigger, and some runs of another one while it grew.
  for (let index = 0; index < 1_200; index++) {
    await makeRun(store, { time_ms: NOW_MS + index, triggerId: busy, ends: false });
    if (index % 100 === 99) await makeRun(store, { time_ms: NOW_MS + index, ends: index < 1_150 });
  }
  const list = store.kv.list.bind(store.kv);
  let reads = 0;
  store.kv.list = (selector, options) => {
    const found = list<never>(selector, options);
    const next = found.next.bind(found);
    found.next = () => (reads++, next());
    return found;
  };
  const page = { pending: "stored", limit: 3 } as const;
  for (const triggerId of [busy, TRIGGER_ID]) {
    reads = 0;
    const { records } = await listTriggerRuns(store, triggerId, page);
    assertEquals(records.length, 3);
    assertLessOrEqual(reads, triggerId === busy ? 50 : 1_000, triggerId);
  }
});

Deno.test("ended runs made before a time are listed from the oldest, page by page", async () => {
  await using store = await storeInMemory();
  const ended: string[] = [];
  for (let index = 0; index < 12; index++) {
    await makeRun(store, { time_ms: NOW_MS + index, ends: false });
    ended.push((await makeRun(store, { time_ms: NOW_MS + index })).id);
  }
  const list = async (before_ms: number, page: { after?: string; limit: number }) =>
    (await endedRunsMadeBefore(store, before_ms, page)).map(({ id }) => id);
  assertEquals(await list(NOW_MS + 10, { limit: 100 }), ended.slice(0, 10));
  assertEquals(await list(NOW_MS + 10, { limit: 4 }), ended.slice(0, 4));
  assertEquals(
    await list(NOW_MS + 10, { after: ended[7] ?? "", limit: 4 }),
    ended.slice(8, 10),
  );
  assertEquals(await list(NOW_MS, { limit: 100 }), []);
});

Deno.test("what triggers list of old runs is found trigger by trigger, whatever the size of a page", async () => {
  await using store = await storeInMemory();
  const old: string[] = [];
  for (const [place, counts] of [[3, 4], [5, 0], [0, 3], [1, 60], [2, 9]].entries()) {
    const triggerId = newId(place);
    const [oldCount = 0, youngCount = 0] = counts;
    for (let count = 0; count < oldCount + youngCount; count++) {
      const time_ms = NOW_MS + (count < oldCount ? -1 : 0);
      const { id } = await makeRun(store, { triggerId, time_ms });
      if (count < oldCount) old.push(id);
    }
  }
  for (const limit of [1, 2, 3, 5, 87, 88, 100]) {
    const found: string[] = [];
    let after: Deno.KvKey | undefined;
    let pages = 0;
    do {
      const page = { limit, ...(after === undefined ? {} : { after }) };
      const listed = await listOldOfTriggers(
        store,
        "trigger_run",
        () => Promise.resolve(NOW_MS),
        page,
      );
      found.push(...listed.old.map(({ key }) => String(key[2])));
      after = listed.next;
      pages++;
    } while (after !== undefined);
    assertEquals(found.toSorted(), old.toSorted(), `pages of ${limit}`);
    // Of each trigger no more than one page holds young ones.
    assert(pages <= Math.ceil(old.length / limit) + 6, `${pages} pages of ${limit}`);
  }
});

Deno.test("pending runs are listed from the oldest", async () => {
  await using store = await storeInMemory();
  const made: string[] = [];
  for (const time_ms of [3, 1, 2]) made.push((await makeRun(store, { time_ms, ends: false })).id);
  await makeRun(store, { time_ms: 1 });
  const listed = (await Array.fromAsync(listPending(store))).map(({ run }) => run.id);
  assertEquals(listed, made.toSorted());
});

Deno.test("an ended run is read from the database once, and no more when it is removed", async () => {
  await using store = await storeInMemory();
  const reads = countReads(store);
  const run = await makeRun(store);
  for (let poll = 0; poll < 3; poll++) assertEquals(await getRun(store, run.id), run);
  assertEquals(reads.count, 1);

  const changed: Run = { ...run, status: "error" };
  await store.committer.write(endWrites(changed));
  assertEquals(await getRun(store, run.id), changed);
  await store.committer.write(removeRunWrites(changed));
  assertEquals(await getRun(store, run.id), undefined);
});

Deno.test("who asks for the same ended run at the same time is answered by one read", async () => {
  await using store = await storeInMemory();
  const reads = countReads(store);
  const run = await makeRun(store);
  const looks = Array.from({ length: 50 }, () => getRun(store, run.id));
  // Others end meanwhile.
  const others = Array.from({ length: 5 }, () => makeRun(store));
  for (const found of await Promise.all(looks)) assertEquals(found, run);
  await Promise.all(others);
  assertEquals(await getRun(store, run.id), run);
  assertEquals(reads.count, 1);
});

Deno.test("a look that crosses with the removal of a run does not keep it", async () => {
  await using store = await storeInMemory();
  for (let turn = 0; turn < 50; turn++) {
    const run = await makeRun(store);
    const look = getRun(store, run.id);
    const removal = store.committer.write(removeRunWrites(run));
    const looks = [getRun(store, run.id), getRun(store, run.id)];
    await Promise.all([look, removal, ...looks]);
    assertEquals(await getRun(store, run.id), undefined);
  }
});

Deno.test("a run that is read while its removal is under way is not kept", async () => {
  let look = async () => {};
  await using store = await storeInMemory(async (_commit, store) => {
    // As a remote database does that answers a later read before an earlier commit.
    await look();
    return await store();
  });
  const run = { ...pendingOf().run, status: "completed" } as const;
  await store.committer.write(endWrites(run));
  look = async () => assertEquals((await getRun(store, run.id))?.status, "completed");
  await store.committer.write(removeRunWrites(run));
  assertEquals(await getRun(store, run.id), undefined);
});

Deno.test("of many ended runs the latest are kept in memory, not all", async () => {
  await using store = await storeInMemory();
  const runs = await Promise.all(Array.from({ length: 600 }, () => makeRun(store)));
  for (const { id } of runs) await getRun(store, id);
  const reads = countReads(store);
  for (const run of runs.slice(-500)) assertEquals(await getRun(store, run.id), run);
  assertEquals(reads.count, 0);
  for (const run of runs.slice(0, 100)) assertEquals(await getRun(store, run.id), run);
  assertEquals(reads.count, 100);
});

/** Counts how often single values are read from now on. */
function countReads({ reads }: Store): { count: number } {
  const counted = { count: 0 };
  const read = reads.read.bind(reads);
  reads.read = (key) => {
    counted.count++;
    return read(key);
  };
  return counted;
}
