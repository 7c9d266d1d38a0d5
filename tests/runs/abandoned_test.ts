/**
 * Launches whose senders do not wait any more: what was not sent is not stored, what was sent and stored
 * all the same is withdrawn by the next commit, before anybody performs it.
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { UnavailableError } from "../../src/platform/errors.ts";
import { CHUNK_BYTES } from "../../src/store/records/payloads.ts";
import { keys } from "../../src/store/keys.ts";
import type { Pace } from "../../src/store/records/pace.ts";
import type { RateWindow } from "../../src/store/records/rate_windows.ts";
import type { Store } from "../../src/store/store.ts";
import { contents, type SeenCommit, storeInMemory } from "../store/fixture.ts";
import { eventually } from "../surroundings.ts";
import { launchOf, neverEnds, startDesk, TRIGGER_ID } from "./fixture.ts";

const QUOTA = { period: 3_600, quota: 2 };
const DELIVERY = { id: "msg_1", window_s: 3_600 };

/** A store whose commits end when a test says so. */
async function heldStore(fails: () => boolean = () => false) {
  const commits: (SeenCommit & { end(): void })[] = [];
  let holds = true;
  const store = await storeInMemory(async (commit, store) => {
    if (fails()) throw new TypeError("database or disk is full");
    const result = await store();
    if (!holds) return result;
    const { promise, resolve } = Promise.withResolvers<void>();
    commits.push({ ...commit, end: resolve });
    await promise;
    return result;
  });
  const letGo = () => {
    holds = false;
    for (const { end } of commits) end();
  };
  return { store, commits, letGo };
}

/** How many launches the stored window counts. */
async function countOf({ kv }: Store): Promise<number | undefined> {
  return (await kv.get<RateWindow>(keys.rate(TRIGGER_ID, QUOTA.period))).value?.total;
}

Deno.test("a launch that nobody waits for when its commit is put together is not stored", async () => {
  const { store, commits, letGo } = await heldStore();
  await using _store = store;
  await using desk = await startDesk(store, { perform: neverEnds });
  const other = store.committer.write([{ key: ["t"], value: 1 }]);
  await eventually(() => commits.length === 1 || undefined);
  let hasGone = false;
  const options = { quotas: [QUOTA], delivery: DELIVERY, isAbandoned: () => hasGone };
  const answers = [
    desk.acceptor.accept(launchOf({ ...options, delivery: undefined })),
    desk.acceptor.accept(launchOf(options)),
  ];
  // They wait for the next commit.
  await eventually(() => store.committer.waiting === 2 || undefined);
  hasGone = true;
  letGo();
  await other;
  for (const answer of answers) await assertRejects(() => answer, UnavailableError);
  assertEquals([...(await contents(store)).keys()], ['["t"]']);
  assertEquals([desk.worker.backlog, desk.worker.pendingOf(TRIGGER_ID)], [0, []]);
  hasGone = false;
  assert("run" in await desk.acceptor.accept(launchOf(options)), "its delivery can come again");
});

const bodies: Record<string, Uint8Array> = {
  "in its record": new Uint8Array(100).fill(1),
  "in a chunk": new Uint8Array(10_000).fill(1),
  "that is uploaded before": new Uint8Array(3 * CHUNK_BYTES).fill(1),
};

for (const [name, body] of Object.entries(bodies)) {
  Deno.test(`a launch with a payload ${name} that is stored too late is withdrawn, and never performed`, async () => {
    const { store, commits, letGo } = await heldStore();
    await using _store = store;
    const performed: string[] = [];
    await using desk = await startDesk(store, {
      perform: ({ run: { id } }) => {
        performed.push(id);
        return Promise.resolve([{ action: "run_execution" }]);
      },
    });
    let hasGone = false;
    const late = desk.acceptor.accept(launchOf({
      body,
      quotas: [QUOTA],
      delivery: DELIVERY,
      isAbandoned: () => hasGone,
    }));
    const isSent = () => commits.some(({ keys }) => keys.some(([kind]) => kind === "pending"));
    await eventually(() => {
      if (!isSent()) commits.at(-1)?.end();
      return isSent() || undefined;
    });
    hasGone = true;
    // What comes later goes into the commit that withdraws the first.
    const next = desk.acceptor.accept(launchOf({ quotas: [QUOTA] }));
    desk.worker.claim();
    const refused = assertRejects(() => late, UnavailableError, "does not wait any more");
    assertEquals(await countOf(store), 1);
    const sent = commits.length;
    commits.at(-1)?.end();
    await eventually(() => commits.length > sent || undefined);
    const [first] = commits.at(-1)?.keys ?? [];
    assertEquals(first?.[0], "delivery", "the withdrawal comes first");
    desk.worker.claim();
    letGo();
    await refused;
    const taken = await next;
    assert("run" in taken);
    await desk.worker.ended(taken.run.id, AbortSignal.timeout(5_000));
    desk.worker.claim();
    await eventually(() => desk.worker.backlog === 0 || undefined);
    assertEquals(performed, [taken.run.id]);
    assertEquals(await countOf(store), 1);
    const stored = await contents(store);
    const kinds = [...stored.keys()].map((key) => JSON.parse(key)[0]).toSorted();
    assertEquals(kinds, ["rate", "run", "trigger_run"]);
    // One of two launches is counted, and the delivery can come again.
    const again = await desk.acceptor.accept(launchOf({ quotas: [QUOTA], delivery: DELIVERY }));
    assert("run" in again);
    assert("exhausted" in await desk.acceptor.accept(launchOf({ quotas: [QUOTA] })));
  });
}

Deno.test("a withdrawal that cannot be stored is tried again, and its run is not performed meanwhile", async () => {
  let isFull = false;
  const { store, commits, letGo } = await heldStore(() => isFull);
  await using _store = store;
  const performed: string[] = [];
  await using desk = await startDesk(store, {
    perform: ({ run: { id } }) => {
      performed.push(id);
      return Promise.resolve([]);
    },
  });
  let hasGone = false;
  const isAbandoned = () => hasGone;
  const first = desk.acceptor.accept(launchOf({ quotas: [QUOTA] }));
  await eventually(() => commits.length === 1 || undefined);
  const late = desk.acceptor.accept(launchOf({ quotas: [QUOTA], isAbandoned }));
  commits[0]?.end();
  const taken = await first;
  assert("run" in taken);
  await eventually(() => commits.length === 2 || undefined);
  hasGone = true;
  isFull = true;
  const refused = assertRejects(() => late, UnavailableError);
  letGo();
  await assertRejects(() => desk.acceptor.accept(launchOf()), UnavailableError, "full");
  desk.worker.claim();
  isFull = false;
  await refused;
  await desk.worker.ended(taken.run.id, AbortSignal.timeout(5_000));
  assertEquals(performed, [taken.run.id]);
  assertEquals(await countOf(store), 1);
  assert("run" in await desk.acceptor.accept(launchOf({ quotas: [QUOTA] })));
  assert("exhausted" in await desk.acceptor.accept(launchOf({ quotas: [QUOTA] })));
});

Deno.test("a launch with a pace that a listing shows and that is withdrawn meanwhile is not performed", async () => {
  const { store, commits, letGo } = await heldStore();
  await using _store = store;
  const performed: string[] = [];
  await using desk = await startDesk(store, {
    perform: ({ run: { id } }) => {
      performed.push(id);
      return Promise.resolve([]);
    },
  });
  const pace: Pace = { concurrency: { key: "k", limit: 1, when_full: "queue" } };
  let hasGone = false;
  const late = desk.acceptor.accept(launchOf({ pace, isAbandoned: () => hasGone }));
  await eventually(() => commits.length === 1 || undefined);
  hasGone = true;
  // The listing ends once the launch is withdrawn: it has shown it before.
  const { list } = store.kv;
  const isListed = Promise.withResolvers<void>();
  const isWithdrawn = Promise.withResolvers<void>();
  const held = async function* <T>(
    found: Deno.KvListIterator<T>,
  ): AsyncGenerator<Deno.KvEntry<T>, undefined> {
    yield* await Array.fromAsync(found);
    isListed.resolve();
    await isWithdrawn.promise;
    return undefined;
  };
  store.kv.list = <T>(...selected: Parameters<typeof list>): Deno.KvListIterator<T> => {
    const found = list.apply(store.kv, selected) as Deno.KvListIterator<T>;
    // The store asks for no cursor.
    return Object.assign(held(found), { cursor: "" });
  };
  desk.worker.claim();
  await isListed.promise;
  store.kv.list = list;
  letGo();
  await assertRejects(() => late, UnavailableError, "does not wait any more");
  isWithdrawn.resolve();
  // The next one of its key finds the place free, once all before it is decided.
  const next = await desk.acceptor.accept(launchOf({ pace }));
  assert("run" in next);
  await desk.worker.ended(next.run.id, AbortSignal.timeout(5_000));
  assertEquals(performed, [next.run.id]);
});

Deno.test("a launch with a pace whose commit has no end yet does not have its leader search all the time", async () => {
  const { store, commits, letGo } = await heldStore();
  await using _store = store;
  await using desk = await startDesk(store);
  const pace: Pace = { concurrency: { key: "k", limit: 1, when_full: "queue" } };
  const accepted = desk.acceptor.accept(launchOf({ pace }));
  await eventually(() => commits.length === 1 || undefined);
  let searches = 0;
  const { list } = store.kv;
  store.kv.list = <T>(...selected: Parameters<typeof list>) => {
    searches++;
    return list.apply(store.kv, selected) as Deno.KvListIterator<T>;
  };
  desk.worker.claim();
  // A search takes about as long as some of these.
  for (let reads = 0; reads < 300; reads++) await store.kv.get(["nothing"]);
  assertLess(searches, 20);
  letGo();
  assert("run" in await accepted);
});
