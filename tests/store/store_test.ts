/**
 * Who may open a data folder: one process at a time, and only one that reads its format. The other
 * process of these tests is a real one.
 */
import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async/delay";
import { join } from "node:path";
import { ConflictError, InvalidInputError } from "../../src/platform/errors.ts";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { LOCK_FILE, lockDataFolder } from "../../src/store/file/folder_lock.ts";
import { openStore } from "../../src/store/open_store.ts";
import { shell, unmount } from "../faults/served.ts";
import { has } from "../needs.ts";
import { CONFIG_FLAGS, temporaryFolder } from "../surroundings.ts";
import { openTestStore } from "./fixture.ts";

/** A process of its own that has opened a data folder, or has tried to. */
interface OtherProcess extends AsyncDisposable {
  /** What it said: `open`, or what went wrong. */
  said: string;
  end(signal?: Deno.Signal): Promise<void>;
}

async function openInOtherProcess(folder: string): Promise<OtherProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...CONFIG_FLAGS, "--allow-all", import.meta.resolve("./hold_folder.ts"), folder],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.endsWith("\n")) said += (await reader.read()).value ?? "(it ended)\n";
  let ended: Promise<void> | undefined;
  const end = async (signal?: Deno.Signal) => {
    if (signal) child.kill(signal);
    await child.stdin.close();
    await child.status;
    await reader.cancel();
  };
  const endOnce = (signal?: Deno.Signal) => ended ??= end(signal);
  return { said: said.trim(), end: endOnce, [Symbol.asyncDispose]: () => endOnce() };
}

Deno.test("a folder that a process has open is refused to another, and left as it is", async () => {
  await using open = await openTestStore();
  await open.store.committer.write([{ key: ["test", "writer"], value: "this process" }]);
  await using other = await openInOtherProcess(open.folder);
  assertStringIncludes(other.said, open.folder);
  assertStringIncludes(other.said, "another Hooklaunch process is using it");
  assertStringIncludes(other.said, "--data");
  assertEquals((await open.store.kv.get(["test", "writer"])).value, "this process");
});

Deno.test("a folder is refused to another process though somebody has removed its lock file", async () => {
  await using open = await openTestStore();
  await Deno.remove(join(open.folder, LOCK_FILE));
  await using other = await openInOtherProcess(open.folder);
  assertStringIncludes(other.said, "another Hooklaunch process is using it");
});

Deno.test("a new database has large pages, and one that is there keeps its own", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, DATABASE_FILE);
  const open = async () => {
    await using store = await openStore(folder.path);
    await store.committer.write([{ key: ["test", "a"], value: 1 }]);
    // https://www.sqlite.org/fileformat.html, 1.3.2
    return new DataView((await Deno.readFile(path)).buffer).getUint16(16);
  };
  assertEquals(await open(), 16_384);
  for (const file of Deno.readDirSync(folder.path)) Deno.removeSync(join(folder.path, file.name));
  (await Deno.openKv(path)).close();
  assertEquals(await open(), 4_096);
});

Deno.test("a folder is refused to a second store in the same process", async () => {
  await using open = await openTestStore();
  await assertRejects(() => openStore(open.folder), ConflictError, open.folder);
  await open.store.committer.write([{ key: ["test", "a"], value: 1 }]);
  assertEquals((await open.store.kv.get(["test", "a"])).value, 1);
});

Deno.test("a folder is free again when its store is closed", async () => {
  await using open = await openTestStore();
  await open.store.committer.write([{ key: ["test", "a"], value: 1 }]);
  const store = await open.reopen();
  assertEquals((await store.kv.get(["test", "a"])).value, 1);
});

Deno.test("a folder is free again when its process has ended, in whatever way", async (t) => {
  for (const signal of [undefined, "SIGKILL"] as const) {
    await t.step(signal ?? "it closes the store", async () => {
      await using folder = await temporaryFolder();
      await using other = await openInOtherProcess(folder.path);
      assertEquals(other.said, "open");
      await assertRejects(() => openStore(folder.path), ConflictError, folder.path);
      await other.end(signal);
      await using store = await openStore(folder.path);
      assertEquals((await store.kv.get(["test", "writer"])).value, "the other process");
    });
  }
});

Deno.test("close waits for what is being written", async () => {
  await using open = await openTestStore();
  const writes = Array.from(
    { length: 3_000 },
    (_, index) => open.store.committer.write([{ key: ["test", index], value: index }]),
  );
  const store = await open.reopen();
  await Promise.all(writes);
  assertEquals((await store.kv.get(["test", 2_999])).value, 2_999);
});

for (const format of [FORMAT_VERSION + 1, 0, "1"]) {
  Deno.test(`a folder of the format ${JSON.stringify(format)} is refused, and stays as it is`, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, DATABASE_FILE);
    {
      using kv = await Deno.openKv(path);
      await kv.set(keys.format(), format);
    }
    // Twice: a folder that was refused is not left locked.
    for (let turn = 0; turn < 2; turn++) {
      await assertRejects(
        () => openStore(folder.path),
        ConflictError,
        `its format is ${format}, and this version reads format ${FORMAT_VERSION}`,
      );
    }
    using kv = await Deno.openKv(path);
    assertEquals((await kv.get<unknown>(keys.format())).value, format);
  });
}

Deno.test("a new folder is its owner's alone", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "some", "data");
  await using _store = await openStore(path);
  assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
});

Deno.test("the files of a database are its owner's alone, in a folder that others could look into", async () => {
  await using folder = await temporaryFolder();
  const files = ["", "-wal", "-shm"].map((ending) => join(folder.path, DATABASE_FILE + ending));
  const modes = () =>
    [folder.path, ...files].map((path) => (Deno.statSync(path).mode ?? 0) & 0o777);
  // The folder may hold more than ours.
  const expected = [0o755, 0o600, 0o600, 0o600];
  await Deno.chmod(folder.path, 0o755);
  {
    await using _store = await openStore(folder.path);
    assertEquals(modes(), expected);
    for (const path of files) await Deno.copyFile(path, `${path}.copy`);
  }
  // As an earlier version that was killed has left them.
  for (const path of files) {
    await Deno.rename(`${path}.copy`, path);
    await Deno.chmod(path, 0o644);
  }
  await Deno.chmod(folder.path, 0o755);
  await using store = await openStore(folder.path);
  assertEquals(modes(), expected);
  assertEquals(await store.probe(), true);
});

Deno.test("a folder that cannot be made is an error, not a hang", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "file");
  await Deno.writeTextFile(path, "");
  await assertRejects(() => openStore(join(path, "data")));
});

Deno.test({
  name: "a folder on a disk without any room is refused, and the reason is told",
  ignore: !has("mount"),
  async fn() {
    await using folder = await temporaryFolder();
    const [data, disk] = [join(folder.path, "data"), join(folder.path, "disk")];
    await (await openStore(data)).close();
    await Deno.mkdir(disk);
    await shell(`mount -t tmpfs -o size=1m tmpfs '${disk}'`);
    try {
      // Were it made there, a command that starts just then could keep the room of its removed files a while.
      await Deno.copyFile(join(data, DATABASE_FILE), join(disk, DATABASE_FILE));
      await shell(`cat /dev/zero > '${disk}/filler' 2>/dev/null || true`);
      const error = await assertRejects(() => openStore(disk), InvalidInputError);
      assertStringIncludes(error.message, ". Its disk is full");
    } finally {
      await unmount(disk);
    }
  },
});

Deno.test("a store that is no database is refused, and its folder is not left locked", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, DATABASE_FILE);
  await Deno.writeTextFile(path, "this is not a database, and it is long enough to be read as one");
  await assertRejects(() => openStore(folder.path));
  await Deno.remove(path);
  await using store = await openStore(folder.path);
  assertEquals(await store.probe(), true);
});

Deno.test("a lock file that its holder removes is nobody's lock, though another waited for it", async () => {
  await using folder = await temporaryFolder();
  let holders = 0;
  const holdInTurn = async () => {
    for (let turn = 0; turn < 20;) {
      const lock = await lockDataFolder(folder.path).catch((error) => {
        // The others may have been first for as long as it waits.
        assertInstanceOf(error, ConflictError);
      });
      if (lock === undefined) continue;
      turn++;
      assertEquals(++holders, 1, "two hold the folder");
      await delay(1);
      // Once it is removed another can have one, before this one is told that it is removed.
      holders--;
      // Who restores a backup in vain leaves no lock behind.
      await Deno.remove(join(folder.path, LOCK_FILE));
      lock[Symbol.dispose]();
    }
  };
  await Promise.all([holdInTurn(), holdInTurn(), holdInTurn(), holdInTurn()]);
});

Deno.test("probe tells whether the database answers", async () => {
  await using open = await openTestStore();
  assertEquals(await open.store.probe(), true);
  await open.store.kv.delete(keys.format());
  assertEquals(await open.store.probe(), false);
});
