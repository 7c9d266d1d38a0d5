import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import { UnavailableError } from "../../src/platform/errors.ts";
import { Acceptor } from "../../src/runs/accept.ts";
import { removeEndedDeliveries } from "../../src/store/records/delivery_ids.ts";
import { Quotas } from "../../src/runs/quotas.ts";
import { Worker } from "../../src/runs/worker.ts";
import { CLOCK_SPREAD_MAX_MS } from "../../src/store/commit/instance_limits.ts";
import { keys } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestStore, sharedStore, standIn, storeInMemory, watchedKv } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";

const TRIGGER = "01900000-0000-7000-8000-000000000001";

function acceptor(store: Store, clock: TestClock): Acceptor {
  // No run ends, which it might else while the store is being closed.
  const worker = new Worker({ store, clock, perform: () => new Promise(() => {}) });
  return new Acceptor({ store, clock, worker, quotas: new Quotas(store, clock) });
}

function launch(id: string, rest: Record<string, unknown> = {}) {
  return {
    triggerId: TRIGGER,
    project: "p",
    actions: [],
    quotas: [],
    body: new TextEncoder().encode(id),
    remoteIp: "127.0.0.1",
    delivery: { id, window_s: 60 },
    ...rest,
  };
}

Deno.test("a repeat within the window is the first run again, also after a restart", async () => {
  const clock = new TestClock();
  await using database = await openTestStore();
  const first = await acceptor(database.store, clock).accept(launch("a"));
  assert("run" in first);
  const again = await acceptor(database.store, clock).accept(launch("a"));
  assertEquals(again, { repeatOf: first.run.id });

  await database.reopen();
  clock.time_ms += 59_999;
  const later = await acceptor(database.store, clock).accept(launch("a"));
  assertEquals(later, { repeatOf: first.run.id });
  clock.time_ms += 2;
  const afterwards = await acceptor(database.store, clock).accept(launch("a"));
  assert("run" in afterwards);
  assertNotEquals(afterwards.run.id, first.run.id);
});

Deno.test("of copies that arrive at once one is a run, and the others are that run", async () => {
  await using database = await openTestStore();
  const accepting = acceptor(database.store, new TestClock());
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => accepting.accept(launch("a"))),
  );
  const runs = outcomes.flatMap((outcome) => "run" in outcome ? [outcome.run.id] : []);
  assertEquals(runs.length, 1);
  for (const outcome of outcomes) {
    assertEquals("repeatOf" in outcome ? outcome.repeatOf : runs[0], runs[0]);
  }
});

Deno.test("other deliveries and other triggers are no repeats", async () => {
  await using database = await openTestStore();
  const accepting = acceptor(database.store, new TestClock());
  const other = "01900000-0000-7000-8000-000000000002";
  const launches = [launch("a"), launch("b"), launch("a", { triggerId: other })];
  // At the same time: not even one that is under way stands for another.
  const accepted = await Promise.all(launches.map((each) => accepting.accept(each)));
  assertEquals(accepted.map((each) => "run" in each), [true, true, true]);
});

Deno.test("a repeat of a delivery that was refused is not a repeat", async () => {
  const clock = new TestClock();
  await using database = await openTestStore();
  const accepting = acceptor(database.store, clock);
  const quotas = [{ period: 10, quota: 1 }];
  assert("run" in await accepting.accept(launch("a", { quotas })));
  const copies = await Promise.all([1, 2, 3].map(() => accepting.accept(launch("b", { quotas }))));
  assertEquals(copies.map((copy) => Object.keys(copy)), [["exhausted"], ["exhausted"], [
    "exhausted",
  ]]);
  clock.time_ms += 11_000;
  assert("run" in await accepting.accept(launch("b", { quotas })));
});

Deno.test("a repeat uses up no quota", async () => {
  await using database = await openTestStore();
  const accepting = acceptor(database.store, new TestClock());
  const quotas = [{ period: 10, quota: 2 }];
  for (let count = 0; count < 5; count++) await accepting.accept(launch("a", { quotas }));
  assert("run" in await accepting.accept(launch("b", { quotas })));
});

Deno.test("deliveries whose window is over are removed, in steps, and the others are still known", async () => {
  const clock = new TestClock();
  await using database = await openTestStore();
  const { store } = database;
  const accepting = acceptor(store, clock);
  await accepting.accept(launch("early"));
  const value = { run_id: "r", until_ms: clock.time_ms + 60_000 };
  const hashes = Array.from({ length: 1_199 }, (_, index) => `hash-${index}`);
  await Promise.all(
    hashes.map((hash) => store.committer.write([{ key: keys.delivery(TRIGGER, hash), value }])),
  );
  clock.time_ms += 59_000;
  const late = await accepting.accept(launch("late"));
  assert("run" in late);
  await store.kv.set(["delivery", TRIGGER, "damaged"], "nothing that a delivery is");
  const { signal } = new AbortController();
  clock.time_ms += 1_000;
  assertEquals(await removeEndedDeliveries({ store, clock, signal }), 1_201);
  assertEquals(await removeEndedDeliveries({ store, clock, signal }), 0);
  assertEquals(await accepting.accept(launch("late")), { repeatOf: late.run.id });
  assert("run" in await accepting.accept(launch("early")));
});

Deno.test("a wall clock that jumps while the service runs makes no delivery forgotten", async () => {
  const clock = new TestClock();
  await using store = await storeInMemory();
  const accepting = acceptor(store, clock);
  const first = await accepting.accept(launch("a"));
  assert("run" in first);
  clock.ahead_ms = 3_600_000;
  const { signal } = new AbortController();
  assertEquals(await removeEndedDeliveries({ store, clock, signal }), 0);
  assertEquals(await accepting.accept(launch("a")), { repeatOf: first.run.id });
});

Deno.test("a delivery that could not be looked up is accepted when it comes again", async () => {
  await using store = await storeInMemory();
  let isBroken = true;
  const kv = standIn(store.kv, {
    get: (key: Deno.KvKey) =>
      isBroken ? Promise.reject(new TypeError("disk I/O error")) : store.kv.get(key),
  });
  const accepting = acceptor({ ...store, kv }, new TestClock());
  await assertRejects(() => accepting.accept(launch("a")), UnavailableError, "disk I/O error");
  isBroken = false;
  assert("run" in await accepting.accept(launch("a")));
});

Deno.test("a damaged delivery is as good as none", async () => {
  await using database = await openTestStore();
  const { store } = database;
  const first = await acceptor(store, new TestClock()).accept(launch("a"));
  for await (const { key } of store.kv.list({ prefix: ["delivery"] })) await store.kv.set(key, 7);
  const again = await acceptor(store, new TestClock()).accept(launch("a"));
  assert("run" in first && "run" in again);
});

Deno.test("a delivery that is accepted anew while the ended ones are removed is known", async (t) => {
  const { signal } = new AbortController();
  await t.step("between the look and the removal", async () => {
    const clock = new TestClock();
    await using store = await storeInMemory();
    const accepting = acceptor(store, clock);
    await accepting.accept(launch("a"));
    clock.time_ms += 61_000;
    let anew: unknown;
    const kv = standIn(store.kv, {
      async *list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
        yield* await Array.fromAsync(store.kv.list(selector, options));
        anew = await accepting.accept(launch("a"));
      },
    });
    await removeEndedDeliveries({ store: { ...store, kv }, clock, signal });
    await assertKnown(accepting, anew);
  });
  await t.step("in a commit that is under way at the look", async () => {
    const clock = new TestClock();
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    await using store = await storeInMemory(async (_commit, store) => {
      if (isHeld) await gate.promise;
      return await store();
    });
    const accepting = acceptor(store, clock);
    await accepting.accept(launch("a"));
    clock.time_ms += 61_000;
    isHeld = true;
    const anew = accepting.accept(launch("a"));
    await delay(20);
    const removed = removeEndedDeliveries({ store, clock, signal });
    await delay(20);
    gate.resolve();
    await removed;
    await assertKnown(accepting, await anew);
  });
  await t.step("at another instance, between the second look and the removal", async () => {
    const clock = new TestClock();
    using kv = await Deno.openKv(":memory:");
    await using store = await sharedStore(kv, clock);
    const accepting = acceptor(store, clock);
    await accepting.accept(launch("a"));
    clock.time_ms += 60_000 + CLOCK_SPREAD_MAX_MS + 1;
    await store.shared?.instances.look();
    let anew: unknown;
    const watched = watchedKv(kv, async (commit, store) => {
      if (commit.keys.some(([kind]) => kind === "delivery")) {
        anew ??= await accepting.accept(launch("a"));
      }
      return await store();
    });
    await using other = await sharedStore(watched, clock, { leads: false });
    await removeEndedDeliveries({ store: other, clock, signal });
    await assertKnown(accepting, anew);
  });
});

async function assertKnown(accepting: Acceptor, accepted: unknown): Promise<void> {
  const { run } = accepted as { run: { id: string } };
  assertEquals(await accepting.accept(launch("a")), { repeatOf: run.id });
}
