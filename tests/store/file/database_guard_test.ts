/** What the guard of a database's files sees, and that nothing is stored after it. */
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { collectLog } from "../../log_records.ts";
import { eventually, temporaryFolder } from "../../surroundings.ts";

const changes: Record<string, (folder: string) => Promise<void>> = {
  "the folder is moved": (folder) => Deno.rename(folder, `${folder}.moved`),
  "the folder is replaced": async (folder) => {
    await Deno.rename(folder, `${folder}.moved`);
    await Deno.mkdir(folder);
  },
  "the database is removed": (folder) => Deno.remove(join(folder, DATABASE_FILE)),
  "the database is replaced by a copy": async (folder) => {
    const path = join(folder, DATABASE_FILE);
    await Deno.copyFile(path, `${path}.copy`);
    await Deno.rename(`${path}.copy`, path);
  },
  "the WAL is removed": (folder) => Deno.remove(join(folder, `${DATABASE_FILE}-wal`)),
};

for (const [name, change] of Object.entries(changes)) {
  Deno.test(`when ${name}, nothing is stored any more, and the store is not ready`, async () => {
    await using parent = await temporaryFolder();
    const folder = join(parent.path, "data");
    await using store = await openStore(folder);
    const write = (key: string) => store.committer.write([{ key: [key], value: 1 }]);
    await write("before");
    assertEquals([await store.probe(), store.lost.aborted], [true, false]);
    await change(folder);
    await assertRejects(() => write("after"), UnavailableError, "the database is lost");
    assertEquals(store.lost.aborted, true);
    await assertRejects(() => write("later"), UnavailableError, "the database is lost");
    // It was not even sent.
    assertEquals((await store.kv.get(["later"])).value, null);
    assertEquals(await store.probe(), false);
  });
}

Deno.test("a store that nobody writes to sees within seconds that its folder was moved", async () => {
  await using parent = await temporaryFolder();
  const folder = join(parent.path, "data");
  await using store = await openStore(folder);
  await Deno.rename(folder, `${folder}.moved`);
  await eventually(() => store.lost.aborted || undefined);
});

const fatal = ["disk I/O error", "database disk image is malformed"];
const harmless = ["database or disk is full", "database is locked"];

for (const text of [...fatal, ...harmless]) {
  const isFatal = fatal.includes(text);
  Deno.test(`after "${text}" the database is ${isFatal ? "used no more" : "used again"}`, async () => {
    await using folder = await temporaryFolder();
    await using log = await collectLog("error");
    await using store = await openStore(folder.path);
    const commit = Deno.AtomicOperation.prototype.commit;
    try {
      Deno.AtomicOperation.prototype.commit = () => Promise.reject(new TypeError(text));
      await assertRejects(() => store.committer.write([{ key: ["a"], value: 1 }]), Error, text);
    } finally {
      Deno.AtomicOperation.prototype.commit = commit;
    }
    assertEquals(store.lost.aborted, isFatal);
    const again = store.committer.write([{ key: ["a"], value: 1 }]).then(() => true, () => false);
    assertEquals(await again, !isFatal);
    const said = log.records.length;
    assertEquals(said, isFatal ? 1 : 0);
  });
}
