/**
 * The committer between many writers and a database: what is counted are the commits that reach the
 * database, and what is looked at is what the database holds.
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertLessOrEqual,
  assertRejects,
} from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import { UnavailableError } from "../../../src/platform/errors.ts";
import type { Change, Write } from "../../../src/store/commit/change.ts";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  type Between,
  contents,
  openTestStore,
  type SeenCommit,
  storeInMemory,
} from "../fixture.ts";

const KIB = 1_024;
/** How many changes may wait, as the committer has it. */
const WAITING_MAX = 16_384;

/** A change that sets one key. */
function set(name: string, value: unknown = name, more: Partial<Change> = {}): Change {
  return { writes: () => [{ key: ["test", name], value }], ...more };
}

function valueOf(store: Store, name: string): Promise<unknown> {
  return store.kv.get(["test", name]).then(({ value }) => value);
}

/** A database that keeps commits waiting until it is told to go on, and counts them. */
function heldUp() {
  const commits: SeenCommit[] = [];
  let gate = Promise.withResolvers<void>();
  const between: Between = async (commit, store) => {
    commits.push(commit);
    await gate.promise;
    return await store();
  };
  return {
    commits,
    between,
    /** Lets all commits through from now on. */
    release: () => gate.resolve(),
    holdAgain: () => void (gate = Promise.withResolvers<void>()),
  };
}

/** A turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

Deno.test("changes that come while others are stored wait, and are stored together", async () => {
  const database = heldUp();
  const told: number[] = [];
  await using store = await storeInMemory(database.between, {
    onCommit: (changes) => told.push(changes),
  });
  const names = Array.from({ length: 300 }, (_, index) => `early-${index}`);
  const early = Promise.all(names.map((name) => store.committer.commit(set(name))));
  while (database.commits.length === 0) await turn();
  assertEquals(store.committer.waiting, 0);
  const late = Promise.all(names.map((name) => store.committer.commit(set(`late-${name}`))));
  assertEquals(store.committer.waiting, 300);
  database.release();
  await Promise.all([early, late]);
  assertEquals(database.commits.map(({ keys }) => keys.length), [300, 300]);
  assertEquals(told, [300, 300]);
  assertEquals((await contents(store)).size, 600);
});

Deno.test("what comes in one turn of the event loop is stored together, however many promises later", async () => {
  const told: number[] = [];
  await using store = await storeInMemory(undefined, { onCommit: (changes) => told.push(changes) });
  const later = async (promises: number) => {
    for (let waited = 0; waited < promises; waited++) await Promise.resolve();
    await store.committer.commit(set(`after ${promises}`));
  };
  await Promise.all([0, 1, 10, 100].map(later));
  assertEquals(told, [4]);
});

Deno.test("a change is stored when its promise resolves, and not told of before", async () => {
  await using open = await openTestStore();
  await open.store.committer.write([{ key: ["test", "a"], value: 1 }]);
  using other = await Deno.openKv(join(open.folder, DATABASE_FILE));
  assertEquals((await other.get(["test", "a"])).value, 1);

  const database = heldUp();
  await using store = await storeInMemory(database.between);
  let resolved = false;
  const stored = store.committer.commit(set("b")).then(() => resolved = true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals([resolved, await valueOf(store, "b")], [false, null]);
  database.release();
  await stored;
  assertEquals(await valueOf(store, "b"), "b");
});

Deno.test("changes are stored in the order in which they came, and all writes of one together", async () => {
  const commits: SeenCommit[] = [];
  await using store = await storeInMemory((commit, store) => {
    commits.push(commit);
    return store();
  });
  const asked: number[] = [];
  await Promise.all(Array.from({ length: 1_500 }, (_, index) =>
    store.committer.commit({
      writes: () => {
        asked.push(index);
        return [{ key: ["a", index], value: index }, { key: ["last"], value: index }];
      },
    })));
  const written = commits.flatMap(({ keys }) => keys).filter(([first]) => first === "a");
  assertEquals(written, Array.from({ length: 1_500 }, (_, index) => ["a", index]));
  assertEquals(asked.filter((index, at) => asked.indexOf(index) === at), written.map(([, n]) => n));
  assertEquals((await store.kv.get(["last"])).value, 1_499);
  for (const { keys } of commits) assertEquals(keys.length % 2, 0);
});

Deno.test("what a change decides on is what the changes before it have stored or decided", async () => {
  await using store = await storeInMemory();
  let counted = 0;
  const count = () =>
    store.committer.commit({ writes: () => [{ key: ["count"], value: ++counted }] });
  const first = count();
  assertEquals(counted, 0, "nothing is decided before the batch is put together");
  await Promise.all([first, ...Array.from({ length: 99 }, count)]);
  assertEquals((await store.kv.get(["count"])).value, 100);
});

const floods: { name: string; writes: Write[][]; commits_max: number }[] = [
  {
    name: "2,500 changes",
    writes: Array.from({ length: 2_500 }, (_, index) => [{ key: ["test", index], value: index }]),
    commits_max: 6,
  },
  {
    name: "300 changes of 9 writes",
    writes: Array.from(
      { length: 300 },
      (_, index) =>
        Array.from({ length: 9 }, (_, part) => ({ key: ["test", index, part], value: part })),
    ),
    commits_max: 6,
  },
  {
    name: "60 values of 60 KiB",
    writes: Array.from({ length: 60 }, (_, index) => [
      { key: ["test", index], value: new Uint8Array(60 * KIB).fill(index) },
    ]),
    commits_max: 6,
  },
  {
    name: "40 changes of 60 deletes",
    writes: Array.from(
      { length: 40 },
      (_, index) => Array.from({ length: 60 }, (_, part) => ({ key: ["test", index, part] })),
    ),
    commits_max: 4,
  },
  {
    name: "40 changes of twice 50 KiB",
    writes: Array.from({ length: 40 }, (_, index) =>
      Array.from({ length: 2 }, (_, part) => ({
        key: ["test", index, part],
        value: new Uint8Array(50 * KIB),
      }))),
    commits_max: 7,
  },
  {
    name: "40 changes of six keys of 2,000 bytes",
    writes: Array.from({ length: 40 }, (_, index) =>
      Array.from({ length: 6 }, (_, part) => ({
        key: ["test", `${index} ${part} ${"k".repeat(2_000)}`],
        value: part,
      }))),
    commits_max: 7,
  },
  {
    name: "records whose size is stated",
    writes: Array.from({ length: 60 }, (_, index) => [
      { key: ["test", index], value: "x".repeat(30 * KIB), bytes: 31 * KIB },
    ]),
    commits_max: 4,
  },
  {
    name: "records that are larger than was stated",
    writes: Array.from({ length: 60 }, (_, index) => [
      { key: ["test", index], value: "x".repeat(30 * KIB) },
    ]),
    commits_max: 62,
  },
  {
    name: "300 keys of 1 KiB",
    writes: Array.from({ length: 300 }, (_, index) => [
      { key: ["test", `${index} ${"k".repeat(KIB)}`], value: index },
    ]),
    commits_max: 6,
  },
  {
    name: "2,500 deletes",
    writes: Array.from({ length: 2_500 }, (_, index) => [{ key: ["test", index] }]),
    commits_max: 6,
  },
];

for (const { name, writes, commits_max } of floods) {
  Deno.test(`more than one atomic operation holds is split: ${name}`, async () => {
    let commits = 0;
    await using store = await storeInMemory((_commit, store) => {
      commits++;
      return store();
    });
    await Promise.all(writes.map((list) => store.committer.write(list)));
    const expected = writes.flat().filter(({ value }) => value !== undefined);
    assertEquals(
      await contents(store),
      new Map(expected.map(({ key, value }) => [JSON.stringify(key), value])),
    );
    assertLessOrEqual(commits, commits_max);
  });
}

const refused: { name: string; write: Write }[] = [
  { name: "a value of 70 KiB", write: { key: ["test", "x"], value: new Uint8Array(70 * KIB) } },
  { name: "a record of 70 KiB", write: { key: ["test", "x"], value: { a: "x".repeat(70 * KIB) } } },
  { name: "a function", write: { key: ["test", "x"], value: () => {} } },
  { name: "an empty key", write: { key: [], value: 1 } },
  { name: "an empty key to delete", write: { key: [] } },
  { name: "a key of 3 KiB", write: { key: ["test", "x".repeat(3 * KIB)], value: 1 } },
];

for (const { name, write } of refused) {
  Deno.test(`what the database refuses fails alone: ${name}`, async () => {
    await using store = await storeInMemory();
    const results = await Promise.allSettled([
      store.committer.commit(set("before")),
      store.committer.write([{ key: ["test", "with it"], value: 1 }, write]),
      store.committer.commit(set("after")),
    ]);
    assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    assertEquals(
      await contents(store),
      new Map([['["test","after"]', "after"], ['["test","before"]', "before"]]),
    );
    // It would be refused the next time too, so the caller is not told to try again.
    await assertRejects(() => store.committer.write([write]), TypeError);
    await store.committer.commit(set("later"));
    assertEquals(await valueOf(store, "later"), "later");
  });
}

Deno.test("one change that no atomic operation holds fails alone", async () => {
  await using store = await storeInMemory();
  const many = Array.from({ length: 1_001 }, (_, index) => ({ key: ["many", index], value: 1 }));
  const results = await Promise.allSettled([
    store.committer.commit(set("before")),
    store.committer.write(many),
    store.committer.commit(set("after")),
  ]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assertEquals((await contents(store)).size, 2);
});

Deno.test("a change whose writes cannot be made fails alone", async () => {
  await using store = await storeInMemory();
  const broken: Change = {
    writes: () => {
      throw new RangeError("too long a record");
    },
  };
  const results = await Promise.allSettled([
    store.committer.commit(set("before")),
    store.committer.commit(broken),
    store.committer.commit(set("after")),
  ]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  await assertRejects(() => store.committer.commit(broken), RangeError, "too long a record");
  assertEquals((await contents(store)).size, 2);
});

const failures: { name: string; fail: Between }[] = [
  {
    name: "throws",
    fail: () => Promise.reject(new TypeError("database or disk is full")),
  },
  { name: "refuses the commit", fail: () => Promise.resolve({ ok: false }) },
];

for (const { name, fail } of failures) {
  Deno.test(`when the database ${name}, all that waited fail and are undone, the last first`, async () => {
    let broken = true;
    await using store = await storeInMemory((commit, store) =>
      broken ? fail(commit, store) : store()
    );
    const undone: string[] = [];
    const change = (name: string) => set(name, name, { undo: () => void undone.push(name) });
    const results = await Promise.allSettled(
      ["a", "b", "c"].map((name) => store.committer.commit(change(name))),
    );
    for (const result of results) {
      assert(result.status === "rejected");
      assertInstanceOf(result.reason, UnavailableError);
      assert(result.reason.retryAfter_s > 0);
    }
    assertEquals(undone, ["c", "b", "a"]);
    broken = false;
    await store.committer.commit(change("d"));
    assertEquals(undone, ["c", "b", "a"]);
    assertEquals(await contents(store), new Map([['["test","d"]', "d"]]));
  });
}

Deno.test("the reason why the database failed is kept", async () => {
  await using store = await storeInMemory(() => Promise.reject(new TypeError("disk is full")));
  const error = await assertRejects(
    () => store.committer.commit(set("a")),
    UnavailableError,
    "disk is full",
  );
  assertInstanceOf(error.cause, TypeError);
});

Deno.test("after the database is closed a change fails, and nothing hangs", async () => {
  const open = await openTestStore();
  const { store } = open;
  await open.reopen();
  await assertRejects(() => store.committer.commit(set("a")), UnavailableError);
  await store.committer.drain();
  await open[Symbol.asyncDispose]();
});

Deno.test("writes that share a name become one: the last stands", async () => {
  const database = heldUp();
  await using store = await storeInMemory(database.between);
  const count = (value: number) =>
    store.committer.write([
      { key: ["count"], value, sharedAs: "count" },
      { key: ["own", value], value },
    ]);
  const first = Promise.all([1, 2, 3].map(count));
  while (database.commits.length === 0) await turn();
  const second = Promise.all([4, 5].map(count));
  database.release();
  await first;
  await second;
  const counts = database.commits.map(({ keys }) => keys.filter(([first]) => first === "count"));
  assertEquals(counts.map(({ length }) => length), [1, 1]);
  assertEquals((await store.kv.get(["count"])).value, 5);
  assertEquals((await contents(store)).size, 6);
});

Deno.test("shared writes take no more room than one", async () => {
  const commits: SeenCommit[] = [];
  await using store = await storeInMemory((commit, store) => {
    commits.push(commit);
    return store();
  });
  await Promise.all(Array.from({ length: 1_800 }, (_, value) =>
    store.committer.write([
      { key: ["count"], value, bytes: 4 * KIB, sharedAs: "count" },
      { key: ["own", value] },
    ])));
  assertEquals(commits.map(({ keys }) => keys.length), [984, 818]);
  assertEquals((await store.kv.get(["count"])).value, 1_799);
});

Deno.test("each change that is stored is told of, those that are stored alone among them", async () => {
  const told: number[] = [];
  await using store = await storeInMemory(undefined, { onCommit: (changes) => told.push(changes) });
  await Promise.allSettled([
    store.committer.commit(set("a")),
    store.committer.write([{ key: [], value: 1 }]),
    store.committer.commit(set("b")),
  ]);
  assertEquals(told, [1, 1]);
  assertEquals((await contents(store)).size, 2);
});

Deno.test("what writes nothing is in no commit that is told of", async () => {
  const told: number[] = [];
  await using store = await storeInMemory(undefined, { onCommit: (changes) => told.push(changes) });
  const { committer } = store;
  const nothing: Change = { writes: () => [] };
  await committer.commit(nothing);
  await Promise.all([committer.commit(set("a")), committer.commit(nothing)]);
  assertEquals(told, [1]);
});

Deno.test("a listener that throws does not keep a change from being told that it is stored", async () => {
  await using store = await storeInMemory(undefined, {
    onCommit: () => {
      throw new Error("a broken listener");
    },
  });
  await Promise.all([store.committer.commit(set("a")), store.committer.commit(set("b"))]);
  await store.committer.commit(set("c"));
  assertEquals((await contents(store)).size, 3);
});

Deno.test("changes that fail for now are counted, those that would always fail are not", async () => {
  let isFull = false;
  await using store = await storeInMemory((_commit, store) =>
    isFull ? Promise.reject(new TypeError("database or disk is full")) : store()
  );
  const { committer } = store;
  await committer.commit(set("a"));
  await assertRejects(() => committer.write([{ key: [], value: 1 }]), TypeError);
  assertEquals(committer.failures, 0);
  isFull = true;
  await Promise.allSettled([committer.commit(set("b")), committer.commit(set("c"))]);
  assertEquals(committer.failures, 2);
});

Deno.test("when too many changes wait, a further one is turned away at once", async () => {
  const database = heldUp();
  await using store = await storeInMemory(database.between);
  const first = store.committer.commit(set("first"));
  while (database.commits.length === 0) await turn();
  const waiting = Array.from(
    { length: WAITING_MAX },
    (_, index) => store.committer.write([{ key: ["waiting", index % 7], value: index }]),
  );
  const error = await assertRejects(() => store.committer.commit(set("more")), UnavailableError);
  assert(error.retryAfter_s > 0);
  assertEquals(store.committer.waiting, WAITING_MAX);
  database.release();
  await Promise.all([first, ...waiting]);
  assertEquals(await valueOf(store, "more"), null);
  await store.committer.commit(set("more"));
  assertEquals(await valueOf(store, "more"), "more");
});

Deno.test("drain waits for all that waits, what came meanwhile included", async () => {
  const database = heldUp();
  await using store = await storeInMemory(database.between);
  await store.committer.drain();
  const stored: string[] = [];
  const commit = async (name: string) => {
    await store.committer.commit(set(name));
    stored.push(name);
    if (name === "a") void commit("b");
  };
  const first = commit("a");
  const drained = store.committer.drain().then(() => stored.push("drained"));
  database.release();
  await drained;
  await first;
  assertEquals(stored, ["a", "b", "drained"]);
  assertEquals(await valueOf(store, "b"), "b");
});

Deno.test("writeInParts stores everything in its order and lets others in between", async () => {
  const commits: SeenCommit[] = [];
  await using store = await storeInMemory((commit, store) => {
    commits.push(commit);
    return store();
  });
  const writes = Array.from(
    { length: 250 },
    (_, index) => ({ key: ["part", index], value: index }),
  );
  const parts = store.committer.writeInParts(writes);
  const other = store.committer.commit(set("other"));
  await Promise.all([parts, other]);
  const written = commits.flatMap(({ keys }) => keys);
  assertEquals(written.filter(([first]) => first === "part"), writes.map(({ key }) => key));
  const at = written.findIndex(([first]) => first === "test");
  assert(at < 200, `the other change came after ${at} writes`);
  await store.committer.writeInParts([]);
});

interface RandomChange {
  writes: number;
  bytes: number;
  isStated: boolean;
  isRefused: boolean;
  isShared: boolean;
}

const changes = fc.array(
  fc.record({
    writes: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom(200, 700, 999)),
    bytes: fc.oneof(fc.constant(10), fc.constant(2_000), fc.constantFrom(30_000, 60_000)),
    isStated: fc.boolean(),
    isRefused: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    isShared: fc.boolean(),
  }).map((change): RandomChange =>
    change.writes > 4 ? { ...change, bytes: Math.min(change.bytes, 100) } : change
  ),
  { minLength: 1, maxLength: 60 },
);

Deno.test("a change is stored whole or not at all, its promise says which, and counts stay true", async () => {
  // The commits that fail are drawn beforehand; the rest of the time the database works.
  const faults = fc.array(fc.integer({ min: 0, max: 3 }).map((n) => n === 0), { maxLength: 30 });
  const groups = fc.array(changes, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(groups, faults, async (groups, faults) => {
      let commit = 0;
      await using store = await storeInMemory((_commit, store) =>
        faults[commit++] ? Promise.reject(new TypeError("disk I/O error")) : store()
      );
      let counted = 0;
      let number = 0;
      const results: { stored: boolean; name: string; change: RandomChange; count: number }[] = [];
      const run = async (change: RandomChange) => {
        const name = String(number++);
        let count = 0;
        const value = (at: number) =>
          change.isRefused && at === 0 ? () => {} : "x".repeat(change.bytes);
        const stored = await store.committer.commit({
          writes: () => {
            count = ++counted;
            const list = Array.from({ length: change.writes }, (_, at): Write => ({
              key: ["test", name, at],
              value: value(at),
              ...(change.isStated ? { bytes: change.bytes + 100 } : {}),
            }));
            return change.isShared
              ? [...list, { key: ["count"], value: count, sharedAs: "count" }]
              : list;
          },
          undo: () => void counted--,
        }).then(() => true, () => false);
        results.push({ stored, name, change, count });
      };
      for (const group of groups) await Promise.all(group.map(run));
      const found = await contents(store);
      for (const { stored, name, change } of results) {
        const there = Array.from(
          { length: change.writes },
          (_, at) => found.has(JSON.stringify(["test", name, at])),
        );
        assert(there.every((isThere) => isThere === stored), `change ${name}: ${stored}`);
        if (change.isRefused && change.writes > 0) assert(!stored, "a function was stored");
      }
      const storedCount = results.filter(({ stored }) => stored).length;
      assertEquals(counted, storedCount, "what was not stored was taken back");
      const lastShared = results.findLast(({ stored, change }) => stored && change.isShared);
      assertEquals(found.get('["count"]'), lastShared?.count);
      if (faults.length === 0) {
        for (const { stored, change } of results) {
          assertEquals(stored, !change.isRefused || change.writes === 0);
        }
      }
    }),
    { numRuns: 20 },
  );
});

Deno.test("a change learns which keys were written since a moment, in its own commit as well", async () => {
  const held = heldUp();
  await using store = await storeInMemory(held.between);
  const { committer } = store;
  const underWay = committer.write([{ key: ["test", "under way"], value: 1 }]);
  await turn();
  using written = committer.watch("test");
  const seen: string[][] = [];
  const look = () =>
    committer.commit({
      writes: () => {
        const names = ["under way", "together", "deleted", "none"];
        seen.push(names.filter((name) => written.has(["test", name])));
        return [];
      },
    });
  const rest = [
    committer.write([{ key: ["test", "together"], value: 1 }, { key: ["other", "none"] }]),
    look(),
    committer.write([{ key: ["test", "deleted"] }]),
    look(),
  ];
  held.release();
  await Promise.all([underWay, ...rest]);
  assertEquals(seen, [["under way", "together"], ["under way", "together", "deleted"]]);
});

Deno.test("what is written is taken down no more once nobody looks at it", async () => {
  await using store = await storeInMemory();
  const written = store.committer.watch("test");
  const first: Deno.KvKey = ["test", 1];
  const second: Deno.KvKey = ["test", 2];
  await store.committer.write([{ key: first, value: 1 }]);
  written[Symbol.dispose]();
  await store.committer.write([{ key: second, value: 1 }]);
  assertEquals([written.has(first), written.has(second)], [true, false]);
});
