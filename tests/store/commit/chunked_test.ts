/**
 * Going through what is stored in parts: one page at a time, commits of a bounded size, a rest after
 * each part, and an end when the service stops.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { type Batch, removeInBatches, withPause } from "../../../src/store/commit/chunked.ts";
import { storeInMemory } from "../fixture.ts";

/** A page that removes so many keys. */
function pageOf(count: number, next?: number): Batch<number> {
  const writes = Array.from({ length: count }, (_, index) => ({ key: ["x", next ?? 0, index] }));
  return { writes, count, next };
}

Deno.test("pages are read one by one, and a large one goes in several commits", async () => {
  const steps: string[] = [];
  await using store = await storeInMemory(({ keys }, store) => {
    steps.push(`commit ${keys.length}`);
    return store();
  });
  const { signal } = new AbortController();
  const removed = await removeInBatches<number>({ store, signal }, (after = 0) => {
    steps.push(`read ${after}`);
    return Promise.resolve([pageOf(3, 1), pageOf(0, 2), pageOf(250)][after] ?? pageOf(0));
  });
  assertEquals(removed, 253);
  assertEquals(steps, [
    "read 0",
    "commit 3",
    "read 1",
    "read 2",
    "commit 100",
    "commit 100",
    "commit 50",
  ]);
});

Deno.test("a stop ends it between two commits of one page", async () => {
  const controller = new AbortController();
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    if (++commits === 3) controller.abort();
    return store();
  });
  const options = { store, signal: controller.signal };
  const read = (after = 0) => Promise.resolve(pageOf(after === 0 ? 10 : 1_000, after + 1));
  assertEquals(await removeInBatches<number>(options, read), 10);
  assertEquals(commits, 3);
});

Deno.test("a stop while a page is read still stores what was made of it", async () => {
  const controller = new AbortController();
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  const removed = await removeInBatches<number>({ store, signal: controller.signal }, () => {
    controller.abort();
    return Promise.resolve(pageOf(10, 1));
  });
  assertEquals([removed, commits], [10, 1]);
});

Deno.test("the rest is longer than the part took, but has an end", async () => {
  const rested = async (work_ms: number) => {
    const done_ms = await withPause(async () => {
      await delay(work_ms);
      return performance.now();
    });
    return performance.now() - done_ms;
  };
  const short_ms = await rested(4);
  assert(short_ms >= 4, `it rested for ${short_ms} ms after 4 ms`);
  const long_ms = await rested(500);
  assert(long_ms < 400, `it rested for ${long_ms} ms after 500 ms`);
});
