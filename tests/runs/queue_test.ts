/**
 * The queue that wakes the worker: messages alone get every run performed, the sweep finds what no
 * message woke, and a message that comes twice performs nothing twice.
 */
import { assert, assertEquals, assertLess, assertLessOrEqual } from "@std/assert";
import type { ListenOptions } from "../../src/store/commit/wake_up_queue.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestStore, standIn, storeInMemory, storeOn, watchedKv } from "../store/fixture.ts";
import { eventually, slownessOfThread } from "../surroundings.ts";
import { accept, type Desk, launchOf, openDesk, type Performs, startDesk } from "./fixture.ts";

/** How long a message counts as on its way. */
const ON_ITS_WAY_MS = 2_000;
const ROOM = { hasRoomForMessage: () => true, untilRoom: () => Promise.resolve() };

function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}

/** Counts how often each run is performed. */
function counter() {
  const counts = new Map<string, number>();
  const perform: Performs = ({ run: { id } }) => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return Promise.resolve([{ action: "run_execution" }]);
  };
  return { counts, perform };
}

/** Receives messages as a service does, and counts them. */
function listen(store: Store, { worker }: Desk, space: ListenOptions["space"] = ROOM) {
  const seen = { sent: 0, delivered: 0, slowest_ms: 0 };
  store.queue?.listen({
    committer: store.committer,
    space,
    onMessage: () => worker.wake(),
    onSent: () => void seen.sent++,
    onDelivered(delay_ms) {
      seen.delivered++;
      seen.slowest_ms = Math.max(seen.slowest_ms, delay_ms);
    },
  });
  return seen;
}

async function untilPerformed(counts: ReadonlyMap<string, number>, ids: readonly string[]) {
  await eventually(() => ids.every((id) => counts.has(id)) || undefined, {
    what: "every run performed",
  });
  assertEquals(new Set(counts.values()), new Set([1]), "each of them once");
}

Deno.test("with nothing handed over in memory, messages alone get every run performed", async () => {
  await using open = await openTestStore();
  const { counts, perform } = counter();
  await using desk = await startDesk(open.store, { perform, handsOver: false, concurrency: 16 });
  const seen = listen(open.store, desk);
  const ids: string[] = [];
  const sender = async () => {
    for (let count = 0; count < 30; count++) {
      ids.push(await accept(desk));
      await pause(Math.random() * 20);
    }
  };
  await Promise.all(Array.from({ length: 10 }, sender));
  await untilPerformed(counts, ids);
  assertEquals(ids.length, 300);
  await eventually(() => seen.sent === seen.delivered || undefined);
  assertLess(seen.sent, 150, "one message wakes for many runs");
  assertLessOrEqual(seen.slowest_ms, ON_ITS_WAY_MS * await slownessOfThread());
});

Deno.test("a run that is alone is performed within a moment of its message", async () => {
  await using open = await openTestStore();
  const { counts, perform } = counter();
  await using desk = await startDesk(open.store, { perform, handsOver: false });
  listen(open.store, desk);
  // Hundredths of a second in which this process runs: one that stands still for a while performs nothing.
  let time_cs = 0;
  const timer = setInterval(() => time_cs++, 10);
  using _timer = { [Symbol.dispose]: () => clearInterval(timer) };
  for (let count = 0; count < 10; count++) {
    const id = await accept(desk);
    const began_cs = time_cs;
    await eventually(() => counts.get(id), { what: "the run performed" });
    assertLess(time_cs - began_cs, 150);
  }
});

/** A store whose database drops every message. */
async function storeWithoutMessages(): Promise<Store & { dropped: unknown[] }> {
  const kv = await Deno.openKv(":memory:");
  const dropped: unknown[] = [];
  const store = storeOn(standIn(kv, {
    atomic() {
      const operation = kv.atomic();
      const enqueue = (message: unknown) => {
        dropped.push(message);
        return operation;
      };
      return Object.assign(operation, { enqueue });
    },
  }));
  return Object.assign(store, { dropped });
}

Deno.test("where messages are dropped, the sweep gets every run performed", async () => {
  await using store = await storeWithoutMessages();
  const { counts, perform } = counter();
  await using desk = await startDesk(store, { perform, handsOver: false });
  listen(store, desk);
  const ids = await Promise.all(Array.from({ length: 50 }, () => accept(desk)));
  await pause(200);
  assertEquals([store.dropped.length, counts.size], [1, 0]);
  desk.worker.claim();
  await untilPerformed(counts, ids);
});

Deno.test("after a message that never came, another one is sent", async () => {
  await using store = await storeWithoutMessages();
  await using desk = await startDesk(store, { handsOver: false });
  listen(store, desk);
  for (let count = 0; count < 5; count++) await accept(desk);
  assertEquals(store.dropped.length, 1);
  await pause(ON_ITS_WAY_MS + 50);
  await accept(desk);
  assertEquals(store.dropped.length, 2);
});

Deno.test("a message whose commit failed is sent again with the next one", async () => {
  let fails = true;
  await using store = await storeInMemory((_commit, commit) =>
    fails ? Promise.reject(new Error("disk I/O error")) : commit()
  );
  const { counts, perform } = counter();
  await using desk = await startDesk(store, { perform, handsOver: false });
  const seen = listen(store, desk);
  await accept(desk).then(() => assert(false, "it was stored"), () => {});
  fails = false;
  assertEquals(seen.sent, 0);
  const id = await accept(desk);
  await untilPerformed(counts, [id]);
  assertEquals(seen.sent, 1);
});

Deno.test("nothing is sent while the disk has little room, and the sweep does the work", async () => {
  await using store = await storeInMemory();
  const { counts, perform } = counter();
  await using desk = await startDesk(store, { perform, handsOver: false });
  let hasRoom = true;
  const space = { ...ROOM, hasRoomForMessage: () => hasRoom };
  const seen = listen(store, desk, space);
  await pause(0);
  hasRoom = false;
  const first = await accept(desk);
  assertEquals(seen.sent, 0);
  desk.worker.claim();
  await untilPerformed(counts, [first]);
  hasRoom = true;
  await untilPerformed(counts, [await accept(desk)]);
  assertEquals(seen.sent, 1);
});

Deno.test("messages are received from the moment on at which the disk has room", async () => {
  const kv = await Deno.openKv(":memory:");
  let listeners = 0;
  await using store = storeOn(standIn(kv, {
    listenQueue(handler: (message: unknown) => Promise<void>) {
      listeners++;
      return kv.listenQueue(handler);
    },
  }));
  const { counts, perform } = counter();
  await using desk = await startDesk(store, { perform, handsOver: false });
  const { promise: room, resolve } = Promise.withResolvers<void>();
  const space = { ...ROOM, untilRoom: () => room };
  const seen = listen(store, desk, space);
  await pause(50);
  await accept(desk);
  assertEquals([listeners, seen.sent], [0, 0]);
  resolve();
  await pause(0);
  const id = await accept(desk);
  await eventually(() => counts.get(id));
  assertEquals([listeners, seen.sent], [1, 1]);
});

Deno.test("a launch that is refused sends no message", async () => {
  await using store = await storeInMemory();
  await using desk = await startDesk(store, { handsOver: false });
  const seen = listen(store, desk);
  await pause(0);
  const quotas = [{ period: 3_600, quota: 0 }];
  const [answer] = await Promise.all([
    desk.acceptor.accept(launchOf({ quotas })),
    // Something else is stored in the same commit.
    store.committer.write([{ key: ["t"], value: 1 }]),
  ]);
  assert("exhausted" in answer);
  assertEquals(seen.sent, 0);
});

Deno.test("a message that comes twice performs nothing twice", async () => {
  await using open = await openTestStore();
  const { counts, perform } = counter();
  await using desk = await startDesk(open.store, {
    handsOver: false,
    perform: async (...run) => {
      await pause(30);
      return await perform(...run);
    },
  });
  const seen = listen(open.store, desk);
  const ids: string[] = [];
  for (let count = 0; count < 20; count++) {
    ids.push(await accept(desk));
    for (let copy = 0; copy < 3; copy++) await open.store.kv.enqueue({ sent_at_ms: Date.now() });
  }
  await untilPerformed(counts, ids);
  await eventually(() => seen.delivered >= 60 || undefined);
  await eventually(() => desk.worker.backlog === 0 || undefined);
  assertEquals(new Set(counts.values()), new Set([1]));
});

Deno.test("a message of another version, and a worker that fails, keep the next ones coming", async () => {
  await using open = await openTestStore();
  await using desk = openDesk(open.store);
  let woken = 0;
  open.store.queue?.listen({
    committer: open.store.committer,
    space: ROOM,
    onMessage() {
      woken++;
      throw new Error("the worker fails");
    },
  });
  for (const message of ["text", null, { other: 1 }]) await open.store.kv.enqueue(message);
  await eventually(() => woken === 3 || undefined);
  await accept(desk);
  await eventually(() => woken === 4 || undefined);
  await pause(1_500);
  assertEquals(woken, 4, "none of them comes again");
});

Deno.test("a message arrives before its sender is answered, and its run is performed all the same", async () => {
  const kv = await Deno.openKv(":memory:");
  let isLate = false;
  await using store = storeOn(watchedKv(kv, async ({ messages }, commit) => {
    const result = await commit();
    // Deno KV delivers within 100 ms.
    if (messages.length > 0) await pause(150);
    isLate ||= messages.length > 0;
    return result;
  }));
  const { counts, perform } = counter();
  await using desk = await startDesk(store, { perform, handsOver: false });
  listen(store, desk);
  await pause(0);
  await untilPerformed(counts, [await accept(desk)]);
  assert(isLate);
});

/** Changes by how many keys they write, and how many keys of them go into one commit. */
const fullCommits: { name: string; sizes: number[]; bytes: number; together: number[] }[] = [
  { name: "999 writes go", sizes: [...Array(983).fill(1), 16], bytes: 1, together: [999] },
  {
    name: "1,000 writes do not go",
    sizes: [...Array(983).fill(1), 17],
    bytes: 1,
    together: [983, 17],
  },
  // 13 of 61,376 bytes and their keys are 780 KiB.
  { name: "780 KiB go", sizes: [...Array(11).fill(1), 2], bytes: 61_376, together: [13] },
];

for (const { name, sizes, bytes, together } of fullCommits) {
  Deno.test(`${name} into one commit with a message`, async () => {
    const commits: number[] = [];
    await using store = await storeInMemory(({ keys, messages }, commit) => {
      // What comes later may find the message of the first one delivered.
      if (commits.length === 0) assertEquals(messages.length, 1);
      commits.push(keys.length);
      return commit();
    });
    await using desk = openDesk(store);
    listen(store, desk);
    await pause(0);
    await Promise.all(sizes.map((size, change) => {
      const writes = Array.from({ length: size }, (_, at) => ({
        key: ["t", change, at],
        value: new Uint8Array(bytes),
      }));
      return store.committer.commit({ writes: () => writes, wakes: true });
    }));
    assertEquals(commits, together);
  });
}
