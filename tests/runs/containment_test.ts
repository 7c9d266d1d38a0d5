/** What goes wrong with one run stays with that run: others are performed, and its owner can see it. */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { keys } from "../../src/store/keys.ts";
import { getRun, type Run } from "../../src/store/records/runs.ts";
import { standIn, storeInMemory } from "../store/fixture.ts";
import { eventually } from "../surroundings.ts";
import {
  accept,
  launchOf,
  neverEnds,
  openDesk,
  pendingIds,
  pendingOf,
  type Performs,
  startDesk,
  storePending,
  TRIGGER_ID,
  untilIdle,
} from "./fixture.ts";

const failing: { name: string; perform: Performs }[] = [
  { name: "rejects", perform: () => Promise.reject(new Error("it broke")) },
  {
    name: "rejects late",
    perform: () => new Promise((_, reject) => setTimeout(() => reject(new Error("it broke")), 5)),
  },
  {
    name: "throws",
    perform: () => {
      throw new Error("it broke");
    },
  },
];

for (const { name, perform } of failing) {
  Deno.test(`work that ${name} ends its run as error, and others are performed`, async () => {
    await using store = await storeInMemory();
    let failsNow = true;
    await using desk = await startDesk(store, {
      perform: (waiting, signal) => failsNow ? perform(waiting, signal) : Promise.resolve([]),
    });
    const broken = await accept(desk);
    await untilIdle(desk);
    const run = await getRun(store, broken);
    assertEquals(run?.status, "error");
    assertEquals(run?.actions, [{ action: "run_execution", error: "it broke" }]);
    failsNow = false;
    const whole = await accept(desk);
    await untilIdle(desk);
    assertEquals((await getRun(store, whole))?.status, "completed");
  });
}

Deno.test("who cannot be told of an end keeps nobody from being told of the next", async () => {
  await using store = await storeInMemory();
  const told: string[] = [];
  await using desk = await startDesk(store, {
    perform: () => Promise.resolve([]),
    onEnd: ({ id }) => {
      told.push(id);
      throw new Error("not listening");
    },
  });
  const ids = [await accept(desk), await accept(desk)];
  await untilIdle(desk);
  assertEquals(told, ids);
});

Deno.test("work that hangs keeps its own place alone, and its run is there for the next worker", async () => {
  await using store = await storeInMemory();
  let hangs = true;
  const desk = openDesk(store, {
    concurrency: 2,
    perform: (waiting, signal) => {
      if (!hangs) return Promise.resolve([]);
      hangs = false;
      return neverEnds(waiting, signal);
    },
  });
  await desk.worker.start();
  const [stuck, ...others] = [await accept(desk), await accept(desk), await accept(desk)];
  await eventually(async () => (await pendingIds(store)).length === 1 ? true : undefined);
  assertEquals(await pendingIds(store), [stuck]);
  assertEquals(others.length, 2);
  await desk.worker.close(0);
  await using next = await startDesk(store, { perform: () => Promise.resolve([]) });
  await untilIdle(next);
  assertEquals(await pendingIds(store), []);
});

Deno.test("what failed while nothing could be stored is done again, what failed otherwise is not", async () => {
  let isFull = false;
  await using store = await storeInMemory((_commit, store) =>
    isFull ? Promise.reject(new TypeError("database or disk is full")) : store()
  );
  const seen: { id: string; repeated: boolean }[] = [];
  await using desk = await startDesk(store, {
    perform: async ({ run: { id }, repeated }) => {
      seen.push({ id, repeated });
      isFull = seen.length === 2;
      try {
        await store.committer.write([{ key: ["made", id], value: true }]);
        return [{ action: "run_execution", created: { execution_step: "s", execution_id: id } }];
      } catch (error) {
        return [{ action: "run_execution", error: String(error) }];
      }
    },
  });
  const ids = [];
  for (let turn = 0; turn < 2; turn++) {
    ids.push(await accept(desk));
    await untilIdle(desk);
  }
  const [first = "", second = ""] = ids;
  assertEquals(seen, [
    { id: first, repeated: false },
    { id: second, repeated: false },
    { id: second, repeated: true },
  ]);
  for (const id of ids) assertEquals((await getRun(store, id))?.status, "completed");
});

Deno.test("what the last action has made is stored with the end of its run or not at all, and begins then", async () => {
  const hasLooked = Promise.withResolvers<void>();
  const kinds: unknown[][] = [];
  await using store = await storeInMemory(async (commit, store) => {
    if (!commit.keys.some(([kind]) => kind === "made")) return await store();
    kinds.push(commit.keys.map(([kind]) => kind));
    if (kinds.length === 1) throw new TypeError("database or disk is full");
    await hasLooked.promise;
    return await store();
  });
  const begun: string[] = [];
  await using desk = await startDesk(store, {
    perform: ({ run: { id } }) =>
      Promise.resolve({
        outcomes: [{ action: "run_execution" }],
        unstored: {
          writes: [{ key: ["made", id], value: true }],
          begin: () => void begun.push(id),
        },
      }),
  });
  const id = await accept(desk);
  await eventually(() => kinds.length > 0 ? true : undefined);
  assertEquals((await getRun(store, id))?.status, "pending");
  assertEquals(begun, []);
  hasLooked.resolve();
  await untilIdle(desk);
  assertEquals((await getRun(store, id))?.status, "completed");
  assertEquals((await store.kv.get(["made", id])).value, true);
  assertEquals(begun, [id]);
  assertEquals(kinds, [kinds[0], ["made", "trigger_run", "run", "pending"]]);
});

Deno.test("an action fails whose object the database refuses, and those before it stay as they are", async () => {
  await using store = await storeInMemory();
  const begun: string[] = [];
  const other = { action: "fetch_repository" };
  await using desk = await startDesk(store, {
    perform: ({ run: { id } }) =>
      Promise.resolve({
        outcomes: [other, {
          action: "run_execution",
          created: { execution_step: "s", execution_id: id },
        }],
        unstored: {
          writes: [{ key: ["made", id], value: "x".repeat(70_000), bytes: 71_000 }],
          begin: () => void begun.push(id),
        },
      }),
  });
  const id = await accept(desk);
  await untilIdle(desk);
  const run = await getRun(store, id);
  assertEquals(run?.status, "complete_with_error");
  const error = "Value too large (max 65536 bytes)";
  assertEquals(run?.actions, [other, { action: "run_execution", error }]);
  assertEquals(begun, []);
});

Deno.test("a pending record that is damaged ends as error, its trigger's owner is told, others go on", async () => {
  await using store = await storeInMemory();
  await store.kv.set(keys.trigger(TRIGGER_ID), {});
  const ids = await storePending(store, [1, 2, 3].map((at) => pendingOf({ time_ms: at })));
  const [, damaged = ""] = ids;
  await store.kv.set(keys.pending(damaged, TRIGGER_ID), { run: "gone" });
  await store.kv.set(["pending", 17, 17], "not even an id");
  const told: Run[] = [];
  await using desk = await startDesk(store, {
    perform: () => Promise.resolve([]),
    onEnd: (run) => void told.push(run),
  });
  await untilIdle(desk);
  assertEquals(await Array.fromAsync(store.kv.list({ prefix: ["pending"] })), []);
  const statuses = await Promise.all(ids.map(async (id) => (await getRun(store, id))?.status));
  assertEquals(statuses, ["completed", "error", "completed"]);
  const run = told.find(({ id }) => id === damaged);
  assertEquals(run?.trigger_id, TRIGGER_ID);
  assert(run?.actions[0]?.error?.includes("damaged"));
});

Deno.test("a damaged record of a run that waits for its turn ends as error, and its trigger's owner is told", async () => {
  await using store = await storeInMemory();
  const { run: { id: damaged } } = pendingOf();
  await store.kv.set(keys.held(damaged, TRIGGER_ID), { run: "gone" });
  await store.kv.set(["held", 17, 17], "not even an id");
  const told: Run[] = [];
  await using desk = await startDesk(store, { onEnd: (run) => void told.push(run) });
  await desk.worker.pacer.settled();
  assertEquals(await Array.fromAsync(store.kv.list({ prefix: ["held"] })), []);
  const run = told.find(({ id }) => id === damaged);
  assertEquals([run?.trigger_id, run?.status], [TRIGGER_ID, "error"]);
  assertEquals((await getRun(store, damaged))?.actions, run?.actions);
  assert(run?.actions[0]?.error?.includes("damaged"));
});

Deno.test("runs that cannot be taken over while nothing can be stored are not looked for all the time", async (t) => {
  const [lost, damaged] = [pendingOf(), pendingOf()];
  const full = () => Promise.reject(new TypeError("database or disk is full"));
  const records: { name: string; key: Deno.KvKey; value: unknown }[] = [
    { name: "damage", key: keys.pending(damaged.run.id, TRIGGER_ID), value: "damaged" },
    { name: "nothing else", key: ["other"], value: true },
  ];
  for (const { name, key, value } of records) {
    await t.step(name, async () => {
      let isFull = false;
      await using store = await storeInMemory((_commit, store) => isFull ? full() : store());
      await storePending(store, [lost]);
      await store.kv.set(key, value);
      isFull = true;
      let looks = 0;
      const kv = standIn(store.kv, {
        list(...args: Parameters<Deno.Kv["list"]>) {
          looks++;
          return store.kv.list(...args);
        },
      });
      await using _desk = await startDesk(standIn(store, { kv }));
      await new Promise((resolve) => setTimeout(resolve, 200));
      assertLessOrEqual(looks, 5);
    });
  }
});

Deno.test("a damaged window counts nothing, and counts again from then on", async () => {
  await using store = await storeInMemory();
  const quotas = [{ period: 60, quota: 2 }];
  for (const value of [7, { total: "many", slots: [] }, { total: 1, slots: "x" }]) {
    await store.kv.set(keys.rate(TRIGGER_ID, 60), value);
    await using desk = openDesk(store);
    const { acceptor } = desk;
    const answers = [];
    for (let turn = 0; turn < 3; turn++) answers.push(await acceptor.accept(launchOf({ quotas })));
    assertEquals(answers.map((answer) => "run" in answer), [true, true, false]);
  }
});
