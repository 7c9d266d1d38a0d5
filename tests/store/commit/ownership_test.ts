/** A remote database: one process at a time has it, the next one goes on where it stopped. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { ignoreTimeout } from "../../../src/platform/waiting/promises.ts";
import { ConflictError, UnavailableError } from "../../../src/platform/errors.ts";
import { keys } from "../../../src/store/keys.ts";
import { Ownership } from "../../../src/store/commit/ownership.ts";
import { pendingEntries } from "../../../src/store/records/runs.ts";
import { lead } from "../../../src/store/kv_store.ts";
import { openStore } from "../../../src/store/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { pendingOf } from "../../runs/fixture.ts";
import { eventually, temporaryFolder } from "../../surroundings.ts";
import { standIn } from "../fixture.ts";
import { KV_TOKEN, RemoteKv } from "../kv_connect.ts";

Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);

const times = { look_ms: 10, sign_ms: 20, gone_ms: 300 };

/** Opens the database; each caller stands for a process of its own, with a data folder of its own. */
async function open(url: string): Promise<{ store: Store; close(): Promise<void> }> {
  const folder = await temporaryFolder();
  try {
    const store = await openStore(folder.path, { remote: { url, ownership: times } });
    const close = async () => {
      await store.close();
      await folder[Symbol.asyncDispose]();
    };
    return { store, close };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

const stored = async ({ kv }: Store) => (await kv.get(["test"])).value;

Deno.test("remote database: who stands by has it as soon as it is given back, with all that was stored", async () => {
  await using remote = new RemoteKv();
  const first = await open(remote.way().url);
  let isOpen = false;
  const opening = open(remote.way().url).finally(() => isOpen = true);
  await first.store.committer.write([{ key: ["test"], value: "of the first" }]);
  // Longer than it takes to be taken for gone.
  await new Promise((resolve) => setTimeout(resolve, 2 * times.gone_ms));
  assertEquals([isOpen, first.store.lost.aborted], [false, false]);
  await first.close();
  const second = await opening;
  assertEquals(await stored(second.store), "of the first");
  assert(await second.store.probe());
  await second.close();
});

Deno.test("remote database: a process that was taken to be gone stores nothing any more", async () => {
  await using remote = new RemoteKv();
  const way = remote.way();
  const first = await open(way.url);
  way.isClosed = true;
  const late = first.store.committer.write([{ key: ["test"], value: "of the first" }]);
  const refused = assertRejects(() => late, UnavailableError, "another process has the database");
  const second = await open(remote.way().url);
  await second.store.committer.write([{ key: ["test"], value: "of the second" }]);
  way.isClosed = false;
  await refused;
  assert(first.store.lost.aborted);
  await first.close();
  assertEquals(await stored(second.store), "of the second");
  // What the first one gave back was not its own any more.
  await second.store.committer.write([{ key: ["test"], value: "of the second still" }]);
  await second.close();
});

Deno.test("remote database: of many that wait, one at a time has it", async () => {
  await using remote = new RemoteKv();
  let having = 0;
  const turns = Array.from({ length: 5 }, async (_, turn) => {
    const { store, close } = await open(remote.way().url);
    assertEquals(++having, 1);
    await store.committer.write([{ key: ["turn", turn], value: true }]);
    having--;
    await close();
  });
  await Promise.all(turns);
});

Deno.test("remote database: a commit whose answer is lost is stored once, and does not come again later", async () => {
  await using remote = new RemoteKv();
  const way = remote.way();
  const { store, close } = await open(way.url);
  for (let value = 1; value <= 5; value++) {
    way.answersLost = 1;
    // It is sent again by Deno, since it was not answered.
    await store.committer.write([{ key: ["test"], value }]);
    assertEquals([await stored(store), way.answersLost], [value, 0]);
  }
  for (const late of way.lateWrites) await (await late()).body?.cancel();
  assertEquals([await stored(store), way.lateWrites.length], [5, 5]);
  await store.committer.write([{ key: ["test"], value: 6 }]);
  assertEquals([await stored(store), store.lost.aborted], [6, false]);
  await close();
});

Deno.test("remote database: it is taken though the answer to that is lost", async () => {
  await using remote = new RemoteKv();
  const way = remote.way();
  way.answersLost = 1;
  const { store, close } = await open(way.url);
  await store.committer.write([{ key: ["test"], value: 1 }]);
  assertEquals(await stored(store), 1);
  await close();
});

Deno.test("remote database: a commit as large as one can be is taken with its fence", async () => {
  await using remote = new RemoteKv();
  const { store, close } = await open(remote.way().url);
  const writes = Array.from({ length: 1_500 }, (_, n) => ({ key: ["large", n], value: n }));
  await Promise.all(writes.map((write) => store.committer.write([write])));
  const found = await Array.fromAsync(store.kv.list({ prefix: ["large"] }));
  assertEquals(found.length, writes.length);
  await close();
});

Deno.test("remote database: a process that was taken to be gone while it migrates changes nothing any more", async () => {
  const RUNS = 300;
  await using remote = new RemoteKv();
  {
    const { store, close } = await open(remote.way().url);
    await store.kv.set(keys.format(), 3);
    // As format 3 has them.
    const runs = Array.from({ length: RUNS }, () => pendingOf());
    const writes = runs.map((each) => ({ key: ["pending", each.run.id], value: each }));
    await Promise.all(writes.map((write) => store.committer.write([write])));
    await close();
  }
  const way = remote.way();
  // The first is the one by which it has the database.
  way.commitsLeft = 3;
  const refused = assertRejects(() => open(way.url), UnavailableError, "another process has");
  await eventually(() => way.isClosed || undefined);
  const second = await open(remote.way().url);
  const entries = await Array.fromAsync(pendingEntries(second.store));
  assertEquals(entries.length, RUNS);
  await second.store.committer.writeInParts(entries.map(({ removal }) => removal));
  way.isClosed = false;
  await refused;
  assertEquals(await Array.fromAsync(pendingEntries(second.store)), []);
  assertEquals(second.store.lost.aborted, false);
  await second.close();
});

/** Commits under a fence, and answers whether its owner is told that this is stored. */
function commitAs(owner: Ownership, kv: Deno.Kv): Promise<boolean> {
  return owner.commit(kv.atomic());
}

Deno.test("a database is taken from a process of which no commit is seen for so long, and no sooner", async () => {
  using kv = await Deno.openKv(":memory:");
  const gone = await Ownership.take(kv);
  let looks = 0;
  const counted = standIn(kv, {
    get: (key: Deno.KvKey) => {
      looks++;
      return kv.get(key);
    },
  });
  const owner = await Ownership.take(counted, { look_ms: 10, gone_ms: 50 });
  // One by which the other is seen, five without a change, and one that finds it taken.
  assertEquals(looks, 7);
  assertEquals([await commitAs(owner, kv), await commitAs(gone, kv)], [true, false]);
  // The one that is gone has committed as often as the one that is not.
  assertEquals([gone.lost.aborted, owner.lost.aborted], [true, false]);
});

Deno.test("who is not to stand by is told that another process has the database, and is alive", async () => {
  using kv = await Deno.openKv(":memory:");
  const owner = await Ownership.take(kv);
  let isOver = false;
  const signs = (async () => {
    for (let sign = 0; sign < 500 && !isOver; sign++) {
      await commitAs(owner, kv);
      await delay(5);
    }
  })();
  const taking = Ownership.take(kv, { standsBy: false, look_ms: 20, gone_ms: 5_000 });
  await assertRejects(() => taking, ConflictError, "another Hooklaunch process is using it");
  isOver = true;
  await signs;
});

Deno.test("of two that find a database free at the same time one has it, and the other stands by", async () => {
  using kv = await Deno.openKv(":memory:");
  let first: Ownership | undefined;
  const late = standIn(kv, {
    async get(key: Deno.KvKey) {
      const found = await kv.get(key);
      first ??= await Ownership.take(kv);
      return found;
    },
  });
  const taking = Ownership.take(late, { look_ms: 5, gone_ms: 60_000 });
  await eventually(() => first);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert(first && await commitAs(first, kv));
  await first.release();
  assert(await commitAs(await taking, kv));
});

Deno.test("a database that does not answer keeps nobody from ending", async () => {
  using kv = await Deno.openKv(":memory:");
  let isSilent = false;
  const silent: Deno.AtomicOperation = standIn(kv.atomic(), {
    check: () => silent,
    delete: () => silent,
    commit: () => new Promise(() => {}),
  });
  const owner = await Ownership.take(standIn(kv, {
    atomic: () => isSilent ? silent : kv.atomic(),
  }));
  isSilent = true;
  assertEquals(
    await deadline(owner.release().then(() => "released"), 10_000).catch(ignoreTimeout),
    "released",
  );
});

/** A call without an answer is given up soon. */
const impatient = { ...times, answer_ms: 1_000 };
const WITHIN_MS = 60_000;

Deno.test("remote database: who stands by has it although one of its looks was never answered", async () => {
  await using remote = new RemoteKv();
  await using folder = await temporaryFolder();
  const first = await open(remote.way().url);
  const way = remote.way();
  const opening = openStore(folder.path, { remote: { url: way.url, ownership: impatient } });
  opening.catch(() => {}); // Told where it is waited for.
  await eventually(() => (way.counts.reads.get("meta") ?? 0) > 1);
  way.isSilent = true;
  await eventually(() => way.unanswered > 0);
  way.isSilent = false;
  await first.close();
  const second = await deadline(opening, WITHIN_MS);
  await second.close();
});

Deno.test("remote database: a leader whose connections break without a word knows that another one leads", async () => {
  await using remote = new RemoteKv();
  await using stack = new AsyncDisposableStack();
  const joined = async (id: string, url: string) => {
    const folder = stack.use(await temporaryFolder());
    const options = { remote: { url, ownership: impatient, share: { id } } };
    const store = await openStore(folder.path, options);
    stack.defer(() => store.close());
    return store;
  };
  const way = remote.way();
  const first = await joined("first", way.url);
  await lead(first, "the database");
  const second = await joined("second", remote.way().url);
  const leading = lead(second, "the database");
  way.isSilent = true;
  await deadline(leading, WITHIN_MS);
  way.isSilent = false;
  await eventually(() => first.lost.aborted);
  const late = [{ key: ["test"], value: "of the first" }];
  await assertRejects(() => first.intake.commit({ writes: () => late }), UnavailableError);
  assertEquals(second.lost.aborted, false);
  await second.committer.write([{ key: ["test"], value: "of the second" }]);
});

Deno.test("remote database: an instance whose connections break without a word stores again, time after time", async () => {
  await using remote = new RemoteKv();
  await using folder = await temporaryFolder();
  const way = remote.way();
  const options = { remote: { url: way.url, ownership: impatient, share: { id: "first" } } };
  await using store = await openStore(folder.path, options);
  await lead(store, "the database");
  const write = async (value: string) => {
    for (const each of [store.intake, store.committer]) {
      await each.write([{ key: ["test"], value }]);
    }
  };
  for (let times = 0; times < 3; times++) {
    const before = way.unanswered;
    way.isSilent = true;
    const unanswered = [store.intake, store.committer].map((each) =>
      each.write([{ key: ["test"], value: "lost" }]).catch(() => {})
    );
    await eventually(() => way.unanswered >= before + 4 || undefined);
    way.isSilent = false;
    await deadline(Promise.all(unanswered), WITHIN_MS);
    await deadline(write(String(times)), WITHIN_MS);
    assertEquals(await stored(store), String(times));
  }
});

Deno.test("remote database: what was read on a connection that broke without a word is read again", async () => {
  await using remote = new RemoteKv();
  await using folder = await temporaryFolder();
  const way = remote.way();
  const options = { remote: { url: way.url, ownership: impatient, share: { id: "first" } } };
  await using store = await openStore(folder.path, options);
  const written = Array.from(
    { length: 250 },
    (_, index) => ({ key: ["test", index], value: index }),
  );
  await store.intake.writeInParts(written);
  const readAll = async () => [
    await store.reads.read(["test", 1]),
    await store.shared?.triggers.sync(),
    await Array.fromAsync(store.kv.list({ prefix: ["test"] }), ({ value }) => value),
    await Array.fromAsync(
      store.kv.list({ prefix: ["test"] }, { reverse: true, limit: 120 }),
      ({ value }) => value,
    ),
  ];
  const all = written.map(({ value }) => value);
  const expected = [1, undefined, all, all.toReversed().slice(0, 120)];
  for (let times = 0; times < 3; times++) {
    const before = way.unanswered;
    way.isSilent = true;
    const unanswered = readAll();
    await eventually(() => way.unanswered > before || undefined);
    way.isSilent = false;
    assertEquals(await deadline(unanswered, WITHIN_MS), expected);
  }
});

Deno.test("remote database: a leader that another one replaces stores nothing more from that moment on", async () => {
  await using remote = new RemoteKv();
  await using stack = new AsyncDisposableStack();
  const ways = [remote.way(), remote.way()];
  const stores: Store[] = [];
  for (const [index, { url }] of ways.entries()) {
    const folder = stack.use(await temporaryFolder());
    const share = { id: `instance ${index}` };
    const store = await openStore(folder.path, {
      remote: { url, ownership: impatient, share },
    });
    stack.defer(() => store.close());
    stores.push(store);
  }
  const [first, second] = stores;
  const [way] = ways;
  assert(first && second && way);
  await lead(first, "the database");
  // It shows no sign of life as the leader, and goes on otherwise, as after a freeze.
  first.committer.write = () => new Promise(() => {});
  let leads = false;
  const leading = lead(second, "the database").then(() => leads = true);
  const late: string[] = [];
  while (!leads) {
    const owner = await second.kv.get<{ process: string }>(keys.owner());
    const isReplaced = owner.value?.process === "instance 1";
    await first.intake.write([{ key: ["test"], value: 1 }]).then(() => {
      if (isReplaced) late.push("stored");
    }, () => {});
  }
  await leading;
  assertEquals(late, []);
});
