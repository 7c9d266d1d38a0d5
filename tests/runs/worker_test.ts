/**
 * The worker against the promise that an accepted run is performed, and performed once: under load, with
 * more runs than it keeps in memory, after another worker's death, and while it stops.
 */
import { assert, assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { statusOf } from "../../src/runs/outcome.ts";
import { Worker } from "../../src/runs/worker.ts";
import { keys } from "../../src/store/keys.ts";
import { type ActionOutcome, getPending, getRun, type Run } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestStore, standIn, storeInMemory } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import {
  accept,
  type Desk,
  launchOf,
  neverEnds,
  openDesk,
  pendingIds,
  pendingOf,
  type Performs,
  startDesk,
  storePending,
  untilIdle,
} from "./fixture.ts";

/** Performs runs, and counts how often each is performed and how many are at a time. */
class Counter {
  readonly counts = new Map<string, number>();
  /** The most that were performed at a time. */
  most = 0;
  #now = 0;

  constructor(private readonly work: () => Promise<unknown> = () => Promise.resolve()) {}

  readonly perform: Performs = async ({ run }) => {
    this.counts.set(run.id, (this.counts.get(run.id) ?? 0) + 1);
    this.most = Math.max(this.most, ++this.#now);
    await this.work();
    this.#now--;
    return [ok()];
  };
}

function assertEachOnce(counts: ReadonlyMap<string, number>, ids: readonly string[]): void {
  assertEquals([...counts.keys()].toSorted(), ids.toSorted());
  assertEquals(new Set(counts.values()), new Set([1]));
}

function untilNothingIsPending(store: Store): Promise<true> {
  return eventually(async () => (await pendingIds(store)).length === 0 ? true : undefined);
}

function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}

Deno.test("every accepted run is performed once, so many at a time, however often others look", async () => {
  await using open = await openTestStore();
  const counted = new Counter(() => pause(Math.random() * 3));
  const ids: string[] = [];
  {
    await using desk = await startDesk(open.store, { perform: counted.perform, concurrency: 16 });
    const sender = async () => {
      for (let turn = 0; turn < 50; turn++) {
        ids.push(await accept(desk));
        desk.worker.claim();
      }
    };
    await Promise.all(Array.from({ length: 20 }, sender));
    await untilNothingIsPending(open.store);
    await untilIdle(desk);
  }
  assertEquals(ids.length, 1_000);
  assertEachOnce(counted.counts, ids);
  assertLessOrEqual(counted.most, 16);
  assertGreater(counted.most, 4);
  for (const id of ids.slice(-10)) {
    assertEquals((await getRun(open.store, id))?.status, "completed");
  }

  await using later = await startDesk(await open.reopen(), { perform: counted.perform });
  await pause(20);
  assertEquals(later.worker.backlog, 0);
  assertEachOnce(counted.counts, ids);
});

Deno.test("more runs than are kept in memory are all performed, each once", async () => {
  await using store = await storeInMemory();
  const counted = new Counter(() => pause(1));
  await using desk = await startDesk(store, {
    perform: counted.perform,
    concurrency: 4,
    heldMax: 10,
  });
  const ids = await Promise.all(Array.from({ length: 300 }, () => accept(desk)));
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, ids);
  assertLessOrEqual(counted.most, 4);
  await untilIdle(desk);
});

Deno.test("runs that memory has no room for keep their place, before those that come later", async () => {
  await using store = await storeInMemory();
  const seen: { id: string; repeated: boolean }[] = [];
  const { promise: open, resolve } = Promise.withResolvers<void>();
  await using desk = await startDesk(store, {
    concurrency: 1,
    heldMax: 5,
    perform: async ({ run: { id }, repeated }) => {
      seen.push({ id, repeated });
      await open;
      return [ok()];
    },
  });
  const accepted = [];
  for (let count = 0; count < 40; count++) accepted.push(await accept(desk));
  resolve();
  // Others go on coming while those are taken from the database.
  for (let count = 0; count < 40; count++) accepted.push(await accept(desk));
  await untilNothingIsPending(store);
  assertEquals(seen, accepted.map((id) => ({ id, repeated: false })));
  await untilIdle(desk);
});

Deno.test("more runs than memory has room for, found at the start, come before new ones", async () => {
  await using store = await storeInMemory();
  const pending = Array.from({ length: 20 }, (_, at) => pendingOf({ time_ms: at + 1 }));
  const old = await storePending(store, pending);
  const seen: string[] = [];
  const added: string[] = [];
  await using desk = openDesk(store, {
    concurrency: 1,
    heldMax: 5,
    perform: async ({ run: { id } }) => {
      seen.push(id);
      if (added.length < 10) added.push(await accept(desk));
      return [ok()];
    },
  });
  await desk.worker.start();
  await untilNothingIsPending(store);
  assertEquals(seen, [...old, ...added]);
});

Deno.test("refused launches take no place of those that wait for memory", async () => {
  await using store = await storeInMemory();
  const counted = new Counter(() => pause(1));
  await using desk = await startDesk(store, {
    perform: counted.perform,
    concurrency: 1,
    heldMax: 1,
  });
  const quotas = [{ period: 60, quota: 10 }];
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => desk.acceptor.accept(launchOf({ quotas }))),
  );
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, answers.flatMap((answer) => "run" in answer ? answer.run.id : []));
  assertEquals(counted.counts.size, 10);
});

Deno.test("launches that are being stored hide no run that waits in the database", async () => {
  await using store = await storeInMemory();
  const ends: (() => void)[] = [];
  await using desk = await startDesk(store, {
    concurrency: 1,
    heldMax: 1,
    perform: () => new Promise((resolve) => ends.push(() => resolve([ok()]))),
  });
  // The first is performed, the second waits in memory, and the third in the database.
  for (let count = 0; count < 3; count++) await accept(desk);
  const refused = ["one", "two", "three"];
  for (const id of refused) desk.worker.expect(id);
  for (let count = 1; count <= 3; count++) {
    await eventually(() => ends.length === count ? true : undefined, { what: `run ${count}` });
    ends.at(-1)?.();
  }
  await untilIdle(desk);
  for (const id of refused) desk.worker.withdraw(id);
});

Deno.test("a look that is asked for during another one finds what has come since", async () => {
  const { promise: looking, resolve: looks } = Promise.withResolvers<void>();
  const { promise: open, resolve } = Promise.withResolvers<void>();
  await using store = await storeInMemory();
  const [early = ""] = await storePending(store, [pendingOf()]);
  let lists = 0;
  const kv = standIn(store.kv, {
    async *list(...args: Parameters<Deno.Kv["list"]>) {
      yield* store.kv.list(...args);
      const [selector] = args;
      // The start counts what is pending, and then it looks.
      if (!("prefix" in selector) || selector.prefix[0] !== "pending" || ++lists !== 2) return;
      looks();
      await open;
    },
  });
  const counted = new Counter();
  await using desk = await startDesk(standIn(store, { kv }), { perform: counted.perform });
  await looking;
  const late = pendingOf();
  await store.kv.set(keys.pending(late.run.id, late.run.trigger_id), late);
  desk.worker.claim();
  resolve();
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, [early, late.run.id]);
});

Deno.test("what a worker that is gone has accepted is taken over at the start, each run once", async (t) => {
  for (const heldMax of [1, 7, 1_000]) {
    await t.step(`with ${heldMax} runs in memory`, async () => {
      await using store = await storeInMemory();
      const dead = pendingOf().worker;
      const pending = Array.from({ length: 120 }, () => pendingOf({ worker: dead }));
      const ids = await storePending(store, pending);
      const counted = new Counter(() => pause(1));
      await using desk = await startDesk(store, { perform: counted.perform, heldMax });
      await untilNothingIsPending(store);
      assertEachOnce(counted.counts, ids);
      await untilIdle(desk);
    });
  }
});

Deno.test("no more runs are taken over than memory may hold", async () => {
  await using store = await storeInMemory();
  const ids = await storePending(store, Array.from({ length: 50 }, () => pendingOf()));
  await using desk = await startDesk(store, { concurrency: 2, heldMax: 5 });
  const taken = () => ids.filter((id) => desk.worker.pendingRun(id) !== undefined).length;
  await eventually(() => taken() >= 5 ? true : undefined);
  await pause(20);
  assertEquals(taken(), 5);
  assertEquals(desk.worker.backlog, 50);
});

Deno.test("no more of the runs that are accepted are in memory than it may hold", async () => {
  await using store = await storeInMemory();
  const options = { concurrency: 1, heldMax: 5, perform: neverEnds };
  await using desk = await startDesk(store, options);
  const ids = [];
  for (let count = 0; count < 40; count++) ids.push(await accept(desk));
  const inMemory = ids.filter((id) => desk.worker.pendingRun(id) !== undefined);
  assertEquals(inMemory, ids.slice(0, 6));
});

Deno.test("after close nothing is taken over any more", async () => {
  await using store = await storeInMemory();
  const ids = await storePending(store, Array.from({ length: 50 }, () => pendingOf()));
  const counted = new Counter(() => pause(10));
  const desk = openDesk(store, { concurrency: 1, heldMax: 1, perform: counted.perform });
  await desk.worker.start();
  await pause(25);
  await desk.worker.close(0);
  const held = () => ids.filter((id) => desk.worker.pendingRun(id) !== undefined);
  const begun = counted.counts.size;
  const before = held();
  desk.worker.claim();
  await pause(25);
  assertEquals(counted.counts.size, begun);
  // One whose end was being stored at that moment has ended since.
  assertEquals(held().filter((id) => !before.includes(id)), []);
  assertLessOrEqual(begun, 10);
});

Deno.test("a run that is taken over may have been begun before, a new one not", async () => {
  await using store = await storeInMemory();
  const [old] = await storePending(store, [pendingOf({ actions: [{ type: "old" }] })]);
  const seen = new Map<string, { repeated: boolean; actions: readonly unknown[] }>();
  await using desk = await startDesk(store, {
    perform: ({ run, repeated, actions }) => {
      seen.set(run.id, { repeated, actions });
      return Promise.resolve([]);
    },
  });
  const fresh = await accept(desk);
  await untilNothingIsPending(store);
  assertEquals(
    seen,
    new Map([
      [old ?? "", { repeated: true, actions: [{ type: "old" }] }],
      [fresh, { repeated: false, actions: [{ type: "run_execution" }] }],
    ]),
  );
});

Deno.test("a run that was taken over and left again may have been begun before", async () => {
  await using store = await storeInMemory();
  const [id] = await storePending(store, [pendingOf()]);
  for (let start = 0; start < 3; start++) {
    const seen: [id: string, repeated: boolean][] = [];
    await using _desk = await startDesk(store, {
      perform: (waiting, signal) => {
        seen.push([waiting.run.id, waiting.repeated]);
        return neverEnds(waiting, signal);
      },
    });
    await eventually(() => seen.length > 0 ? true : undefined);
    assertEquals(seen, [[id ?? "", true]]);
  }
});

Deno.test("a worker that vanished in the middle leaves its runs to the next one", async () => {
  await using open = await openTestStore();
  // Four are being performed when it vanishes, the others wait.
  await using first = openDesk(open.store, { concurrency: 4 });
  const ids = await Promise.all(Array.from({ length: 20 }, () => accept(first)));
  const counted = new Counter();
  const store = await open.reopen();
  await using _desk = await startDesk(store, { perform: counted.perform });
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, ids);
});

Deno.test("runs that never end do not keep others from being performed", async () => {
  await using store = await storeInMemory();
  const counted = new Counter();
  const hangs = new Set<string>();
  await using desk = await startDesk(store, {
    concurrency: 8,
    perform: (waiting, signal) => {
      if (hangs.size === 7) return counted.perform(waiting, signal);
      hangs.add(waiting.run.id);
      return neverEnds(waiting, signal);
    },
  });
  const ids: string[] = [];
  for (let turn = 0; turn < 30; turn++) ids.push(await accept(desk));
  await eventually(() => counted.counts.size === 23 ? true : undefined);
  await eventually(async () => (await pendingIds(store)).length === 7 ? true : undefined);
  assertEquals(await pendingIds(store), ids.slice(0, 7));
});

/** Sends over so many connections until it is enough, and answers the ids of what was accepted. */
async function crowd(
  desk: Desk,
  senders: number,
  isEnough: (accepted: number) => boolean,
): Promise<string[]> {
  const ids: string[] = [];
  let isOver = false;
  await Promise.all(
    Array.from({ length: senders }, async () => {
      while (!isOver) isOver = isEnough(ids.push(await accept(desk))) || isOver;
    }),
  );
  return ids;
}

Deno.test("a run that is withdrawn while the pending ones are listed is not performed", async () => {
  await using store = await storeInMemory();
  const isListed = Promise.withResolvers<void>();
  const isWithdrawn = Promise.withResolvers<void>();
  const kv = standIn(store.kv, {
    async *list(...args: Parameters<Deno.Kv["list"]>) {
      const found = await Array.fromAsync(store.kv.list(...args));
      isListed.resolve();
      await isWithdrawn.promise;
      yield* found;
    },
  });
  const counted = new Counter(() => new Promise(() => {}));
  await using desk = openDesk(standIn(store, { kv }), { perform: counted.perform });
  const [id = ""] = await storePending(store, [pendingOf({ worker: desk.worker.id })]);
  desk.worker.expect(id);
  desk.worker.claim();
  await isListed.promise;
  desk.worker.withdraw(id);
  isWithdrawn.resolve();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(counted.counts.size, 0);
});

Deno.test("while launches crowd runs hold back, and all are performed when those have left", async () => {
  await using store = await storeInMemory();
  const counted = new Counter(() => new Promise(() => {}));
  await using desk = await startDesk(store, {
    clock: systemClock,
    concurrency: 1e6,
    perform: counted.perform,
  });
  const end_ms = performance.now() + 10_000;
  let waiting = 0;
  const ids = await crowd(desk, 32, (accepted) => {
    waiting = Math.max(waiting, accepted - counted.counts.size);
    return waiting > 0 || performance.now() > end_ms;
  });
  // Each would have been begun at once: none of them ever ends, and there are places for all.
  assert(waiting > 0, `none of ${ids.length} waited`);
  await eventually(() => counted.counts.size === ids.length ? true : undefined);
  assertEachOnce(counted.counts, ids);
});

Deno.test("beside launches that never stop, half as many runs end, but for a burst", async () => {
  await using store = await storeInMemory();
  // A clock that goes on with the launches: the promise holds at any speed.
  const clock = new TestClock();
  let [ended, missing] = [0, 0];
  await using desk = await startDesk(store, {
    clock,
    perform: async () => {
      await pause(20);
      return [ok()];
    },
    onEnd: () => void ended++,
  });
  await crowd(desk, 32, (accepted) => {
    clock.time_ms += 1;
    missing = Math.max(missing, accepted / 2 - ended);
    return accepted >= 4_000;
  });
  assertLessOrEqual(missing, 1_000);
  clock.time_ms += 1_000;
  await untilIdle(desk);
});

Deno.test("a worker that is closed while it starts leaves no timer, which would keep its process", async () => {
  await using store = await storeInMemory();
  const { worker } = openDesk(store);
  const starting = worker.start();
  await worker.close(0);
  await starting;
});

Deno.test("a burst is performed at once", async () => {
  await using store = await storeInMemory();
  const counted = new Counter(() => new Promise(() => {}));
  await using desk = await startDesk(store, { perform: counted.perform });
  const ids = await Promise.all(Array.from({ length: 100 }, () => accept(desk)));
  // None ends, so one that is held back would never be performed.
  await eventually(() => counted.counts.size === ids.length || undefined);
  assertEachOnce(counted.counts, ids);
});

Deno.test("what was held back is performed to the last run", async () => {
  const ends = Promise.withResolvers<void>();
  await using store = await storeInMemory();
  const counted = new Counter(() => ends.promise);
  await using desk = await startDesk(store, { concurrency: 40, perform: counted.perform });
  await Promise.all(Array.from({ length: 60 }, () => accept(desk)));
  await eventually(() => counted.counts.size === 40 ? true : undefined);
  ends.resolve();
  await untilNothingIsPending(store);
  assertEquals(counted.counts.size, 60);
});

Deno.test("a run that came while others hang is performed as soon as its sender is told", async () => {
  await using store = await storeInMemory();
  const counted = new Counter(() => new Promise(() => {}));
  await using desk = await startDesk(store, { concurrency: 8, perform: counted.perform });
  for (let turn = 1; turn <= 8; turn++) {
    await accept(desk);
    assertEquals(counted.counts.size, turn);
  }
});

Deno.test("close lets what runs end, leaves the rest, and the next worker takes exactly that", async () => {
  await using open = await openTestStore();
  const ends = Promise.withResolvers<void>();
  const counted = new Counter(() => ends.promise);
  const first = openDesk(open.store, { perform: counted.perform, concurrency: 5 });
  await first.worker.start();
  const ids = await Promise.all(Array.from({ length: 12 }, () => accept(first)));
  const closed = first.worker.close(5_000);
  first.worker.claim();
  setTimeout(() => ends.resolve(), 10);
  await closed;
  assertEquals(counted.counts.size, 5);
  assertEquals(await pendingIds(open.store), ids.slice(5));

  const store = await open.reopen();
  await using _desk = await startDesk(store, { perform: counted.perform });
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, ids);
});

Deno.test("a run that has not ended at the deadline is told to, and stays pending whatever it says", async () => {
  await using store = await storeInMemory();
  let aborted = false;
  const late = Promise.withResolvers<ActionOutcome[]>();
  const desk = openDesk(store, {
    perform: (_waiting, signal) => {
      signal.addEventListener("abort", () => aborted = true);
      return late.promise;
    },
  });
  await desk.worker.start();
  const id = await accept(desk);
  const started = performance.now();
  await desk.worker.close(20);
  assert(performance.now() - started < 1_000);
  assertEquals(aborted, true);
  late.resolve([{ action: "run_execution", error: "The service stopped" }]);
  await pause(5);
  assertEquals((await getRun(store, id))?.status, "pending");

  const counted = new Counter();
  await using _next = await startDesk(store, { perform: counted.perform });
  await untilNothingIsPending(store);
  assertEachOnce(counted.counts, [id]);
});

Deno.test("after close nothing is begun, not even what is accepted then", async () => {
  await using store = await storeInMemory();
  const counted = new Counter();
  const desk = openDesk(store, { perform: counted.perform });
  await desk.worker.start();
  await desk.worker.close(0);
  const id = await accept(desk);
  desk.worker.claim();
  await pause(5);
  assertEquals(counted.counts.size, 0);
  assertEquals(await pendingIds(store), [id]);
});

Deno.test("an end that the database does not take is stored when it takes it again", async () => {
  let isBroken = false;
  const refused = Promise.withResolvers<void>();
  await using store = await storeInMemory((_commit, store) => {
    if (!isBroken) return store();
    refused.resolve();
    return Promise.reject(new TypeError("disk is full"));
  });
  const ended: string[] = [];
  const counted = new Counter(() => {
    isBroken = true;
    return Promise.resolve();
  });
  await using desk = await startDesk(store, {
    perform: counted.perform,
    onEnd: ({ id }) => void ended.push(id),
  });
  const id = await accept(desk);
  await refused.promise;
  assertEquals([ended, await pendingIds(store), desk.worker.backlog], [[], [id], 1]);
  isBroken = false;
  await untilNothingIsPending(store);
  await eventually(() => ended.length > 0 ? true : undefined);
  assertEachOnce(counted.counts, [id]);
});

Deno.test("a run of many actions with very long errors ends, and keeps the beginning of each", async () => {
  await using store = await storeInMemory();
  const error = `Cannot find the step “train”; ${"x".repeat(5_000)}`;
  await using desk = await startDesk(store, {
    perform: () =>
      Promise.resolve(Array.from({ length: 16 }, () => ({ action: "run_execution", error }))),
  });
  const id = await accept(desk);
  await untilNothingIsPending(store);
  const run = await getRun(store, id);
  assertEquals(run?.status, "error");
  for (const action of run?.actions ?? []) {
    assert(action.error && action.error.length >= 1_000 && error.startsWith(action.error));
  }
});

const outcomes: { name: string; actions: ActionOutcome[]; status: Run["status"] }[] = [
  { name: "nothing to do", actions: [], status: "completed" },
  { name: "all succeeded", actions: [ok(), ok()], status: "completed" },
  { name: "the only one failed", actions: [failed()], status: "error" },
  { name: "all failed", actions: [failed(), failed()], status: "error" },
  { name: "the first failed", actions: [failed(), ok()], status: "complete_with_error" },
  { name: "the last failed", actions: [ok(), ok(), failed()], status: "complete_with_error" },
  { name: "one failed without a word", actions: [failed("")], status: "error" },
];

function ok(): ActionOutcome {
  return { action: "run_execution", created: { execution_step: "s", execution_id: "e" } };
}

function failed(error = "no such step"): ActionOutcome {
  return { action: "run_execution", error };
}

for (const { name, actions, status } of outcomes) {
  Deno.test(`a run of which ${name} ends as ${status}`, async () => {
    assertEquals(statusOf(actions), status);
    await using store = await storeInMemory();
    const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5));
    const told: Run[] = [];
    await using desk = await startDesk(store, {
      clock,
      perform: () => {
        clock.time_ms += 1_500;
        return Promise.resolve(actions);
      },
      onEnd: (run) => void told.push(run),
    });
    const id = await accept(desk);
    await untilNothingIsPending(store);
    const run = await getRun(store, id);
    assertEquals(run?.status, status);
    assertEquals(run?.actions, actions);
    assertEquals(run?.created_at, "2026-01-02T03:04:05.000Z");
    assertEquals(run?.ended_at, "2026-01-02T03:04:06.500Z");
    await eventually(() => told.length > 0 ? true : undefined);
    assertEquals(told.map(({ id, status }) => ({ id, status })), [{ id, status }]);
  });
}

Deno.test("ended says when a run has ended, and its end is on disk then", async () => {
  await using store = await storeInMemory();
  const ends = Promise.withResolvers<void>();
  await using desk = await startDesk(store, { perform: () => ends.promise.then(() => []) });
  const id = await accept(desk);
  const { signal } = new AbortController();
  const seen = [1, 2, 3].map(async () => {
    const answer = await desk.worker.ended(id, signal);
    return [answer, (await getRun(store, id))?.status];
  });
  await pause(5);
  ends.resolve();
  assertEquals(await Promise.all(seen), Array(3).fill([true, "completed"]));
  assertEquals(await desk.worker.ended(id, signal), true, "it had ended before");
  assertEquals(await desk.worker.ended(pendingOf().run.id, signal), true, "there is no such run");
});

Deno.test("ended misses no end, whenever it comes", async () => {
  await using store = await storeInMemory();
  await using desk = await startDesk(store, { perform: () => Promise.resolve([]) });
  const { signal } = new AbortController();
  const waits = Array.from({ length: 200 }, async () => {
    const id = await accept(desk);
    assertEquals(await desk.worker.ended(id, signal), true);
    assertEquals(await getPending(store, id), undefined);
  });
  await Promise.all(waits);
});

Deno.test("ended gives up when its signal aborts, before and while it waits", async () => {
  await using store = await storeInMemory();
  await using desk = await startDesk(store, { perform: neverEnds });
  const id = await accept(desk);
  assertEquals(await desk.worker.ended(id, AbortSignal.abort()), false);
  const controller = new AbortController();
  const waiting = desk.worker.ended(id, controller.signal);
  setTimeout(() => controller.abort(), 5);
  assertEquals(await waiting, false);
});

Deno.test("each worker has a name of its own", async () => {
  await using store = await storeInMemory();
  const parts = {
    store,
    clock: new TestClock(),
    perform: () => Promise.reject(new Error("unused")),
  };
  assert(new Worker(parts).id !== new Worker(parts).id);
});
