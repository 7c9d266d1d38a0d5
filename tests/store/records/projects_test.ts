/** Projects: what is kept in memory of them is never older than what was stored. */
import { assertEquals } from "@std/assert";
import {
  deleteProject,
  getProject,
  listProjects,
  type Project,
  putProject,
} from "../../../src/store/records/projects.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { lead } from "../../../src/store/kv_store.ts";
import { openTestStore, sharedStore, standIn, storeInMemory } from "../fixture.ts";

function projectOf(name: string, directory = "/code"): Project {
  const engine = { type: "local", runner: "process" } as const;
  return { name, directory, config_file: "valohai.yaml", engine };
}

Deno.test("a project is read as it was last stored", async () => {
  await using open = await openTestStore();
  const { store } = open;
  assertEquals(await getProject(store, "a"), undefined);
  for (const directory of ["/one", "/two"]) {
    await putProject(store, projectOf("a", directory));
    assertEquals((await getProject(store, "a"))?.directory, directory);
    assertEquals((await getProject(store, "a"))?.directory, directory);
  }
  assertEquals(await getProject(await open.reopen(), "a"), {
    ...projectOf("a", "/two"),
    revision: 2,
  });
  await deleteProject(open.store, "a");
  assertEquals(await getProject(open.store, "a"), undefined);
});

Deno.test("a look that began before a change does not bring the old project back", async () => {
  await using store = await storeInMemory();
  await putProject(store, projectOf("a", "/old"));
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  const slow = standIn(store, {
    kv: standIn(store.kv, {
      async get(key: Deno.KvKey) {
        const waits = isFirst;
        isFirst = false;
        const found = await store.kv.get(key);
        if (waits) await gate.promise;
        return found;
      },
    }),
  });
  const look = getProject(slow, "a");
  await putProject(slow, projectOf("a", "/new"));
  gate.resolve();
  assertEquals((await look)?.directory, "/old");
  assertEquals((await getProject(slow, "a"))?.directory, "/new");
});

Deno.test("beside the leader a project is read as the leader has stored it last, also by who leads next", async () => {
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the stores.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using leader = await sharedStore(kv, systemClock);
  await using other = await sharedStore(kv, systemClock, { leads: false });
  for (const directory of ["/one", "/two"]) {
    await putProject(leader, projectOf("a", directory));
    assertEquals((await getProject(leader, "a"))?.directory, directory);
    assertEquals((await getProject(other, "a"))?.directory, directory);
  }
  await deleteProject(leader, "a");
  assertEquals(await getProject(other, "a"), undefined);
  await putProject(leader, projectOf("a", "/three"));
  await leader.close();
  await lead(other, "memory");
  assertEquals((await getProject(other, "a"))?.directory, "/three");
  await putProject(other, projectOf("a", "/four"));
  assertEquals((await getProject(other, "a"))?.directory, "/four");
});

Deno.test("projects are listed by name", async () => {
  await using store = await storeInMemory();
  assertEquals(await listProjects(store), []);
  for (const name of ["c", "a", "B"]) await putProject(store, projectOf(name));
  assertEquals((await listProjects(store)).map(({ name }) => name), ["B", "a", "c"]);
  await deleteProject(store, "a");
  assertEquals((await listProjects(store)).map(({ name }) => name), ["B", "c"]);
});

Deno.test("the projects of one database are not those of another", async () => {
  await using one = await storeInMemory();
  await using other = await storeInMemory();
  await putProject(one, projectOf("a"));
  assertEquals((await getProject(one, "a"))?.name, "a");
  assertEquals(await getProject(other, "a"), undefined);
});
