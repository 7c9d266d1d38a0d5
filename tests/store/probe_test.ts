/**
 * Whether a database is known not to store: it may go on answering what is asked of it.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { DatabaseSync } from "node:sqlite";
import { ignoreTimeout } from "../../src/platform/waiting/promises.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { openStore } from "../../src/store/open_store.ts";
import { temporaryFolder, TestClock } from "../surroundings.ts";

Deno.test("a database that can be read but not written to is not ready until it can be again", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore(folder.path);
  const write = () => store.committer.write([{ key: ["test"], value: 1 }]);
  assert(await store.probe());
  using other = new DatabaseSync(`${folder.path}/hooklaunch.kv`);
  other.exec("BEGIN IMMEDIATE");
  await assertRejects(write, UnavailableError, "database is locked");
  assertEquals((await store.kv.get(["test"])).value, null);
  // A launch over its quota stores nothing, so it shows nothing either.
  await store.committer.write([]);
  // Nobody writes any more: only the question itself can find out.
  assert(!await store.probe());
  other.exec("ROLLBACK");
  assert(await store.probe());
  await write();
});

Deno.test("a database that nothing was given to for a while is tried when somebody asks", async () => {
  await using folder = await temporaryFolder();
  await using store = await openStore(folder.path);
  using other = new DatabaseSync(`${folder.path}/hooklaunch.kv`);
  other.exec("BEGIN IMMEDIATE");
  const { now } = performance;
  performance.now = () => now.call(performance) + 1_000;
  try {
    const probing = store.probe();
    assertEquals(await deadline(probing, 100).catch(ignoreTimeout), undefined);
    other.exec("ROLLBACK");
    assert(await probing);
  } finally {
    performance.now = now;
  }
});

Deno.test("a database that does not answer is not asked again by each who asks if it is ready", async () => {
  await using folder = await temporaryFolder();
  const clock = new TestClock();
  await using store = await openStore(folder.path, { clock });
  const lost = Promise.withResolvers<void>();
  const get = store.kv.get.bind(store.kv);
  let reads = 0;
  store.kv.get = async (...of) => {
    // The connection of the first one breaks without a word.
    if (++reads === 1) await lost.promise;
    return await get(...of);
  };
  const asked = Array.from({ length: 3 }, () => store.probe());
  assertEquals(reads, 1);
  clock.time_ms += 10_000;
  assert(await store.probe());
  assertEquals(reads, 2);
  lost.resolve();
  assertEquals(await Promise.all(asked), [true, true, true]);
});
