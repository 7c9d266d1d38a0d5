/** Copies of a database beside which no files can be made, as on a read-only file system. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { copyDatabase } from "../../src/backup/database.ts";
import { BackupError } from "../../src/backup/error.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import { temporaryFolder } from "../surroundings.ts";

Deno.test("a database that was closed is copied where no files can be made beside it", async () => {
  await using folder = await temporaryFolder();
  const data = `${folder.path}/data #1?`;
  {
    await using store = await openStore(data);
    await store.kv.set(["a"], "stored");
  }
  const database = `${data}/${DATABASE_FILE}`;
  // SQLite would have a file of this name, and says of it what it says on a read-only file system.
  await Deno.symlink(`${folder.path}/none/none`, `${database}-shm`);
  await Deno.chmod(database, 0o644);
  await copyDatabase(database, `${folder.path}/${DATABASE_FILE}`);
  const { mode } = await Deno.stat(`${folder.path}/${DATABASE_FILE}`);
  assertEquals((mode ?? 0) & 0o777, 0o600);
  {
    await using copy = await openStore(folder.path);
    assertEquals((await copy.kv.get(["a"])).value, "stored");
  }
  await Deno.writeTextFile(`${database}-wal`, "what was written last");
  await assertRejects(
    () => copyDatabase(database, `${folder.path}/another`),
    BackupError,
    "copy the data folder and back up the copy",
  );
});

Deno.test("a copy of a database ends when it is stopped, and nothing of it is left", async () => {
  await using folder = await temporaryFolder();
  const source = `${folder.path}/source`;
  {
    using kv = await Deno.openKv(source);
    for (let i = 0; i < 60; i++) await kv.set([i], new Uint8Array(60_000));
  }
  const stop = new AbortController();
  let rows = 0;
  const onProgress = (copied: number) => {
    rows = copied;
    stop.abort();
  };
  await Deno.mkdir(`${folder.path}/to`);
  const target = `${folder.path}/to/copy`;
  await assertRejects(() => copyDatabase(source, target, { signal: stop.signal, onProgress }));
  assert(rows > 0 && rows < 60, `${rows}`);
  const left = await Array.fromAsync(Deno.readDir(`${folder.path}/to`), ({ name }) => name);
  assertEquals(left.filter((name) => name.includes("pages")), []);
});

Deno.test("a database with damaged pages is not backed up", async () => {
  await using folder = await temporaryFolder();
  const source = `${folder.path}/source`;
  {
    using kv = await Deno.openKv(source);
    for (let i = 0; i < 50; i++) await kv.set([i], new Uint8Array(10_000));
  }
  await copyDatabase(source, `${folder.path}/whole`);
  {
    using file = await Deno.open(source, { write: true });
    await file.seek(5 * 4_096, Deno.SeekMode.Start);
    await file.write(new Uint8Array(20 * 4_096).fill(255));
  }
  await assertRejects(
    () => copyDatabase(source, `${folder.path}/damaged`),
    BackupError,
    "it is damaged",
  );
});
