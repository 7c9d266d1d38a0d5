/**
 * Whether a database is known not to store: it may go on answering what is asked of it.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { DatabaseSync } from "node:sqlite";
import { ignoreTimeout } from "../../src/platform/waiting/promises.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { openStore } from "../../src/store/open_store.ts";
import { temporaryFolder } from "../surroundings.ts";

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
