/** The check of a database at the start: what SQLite finds damaged is not opened, however large it is. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../../src/store/file/database_file.ts";
import { findDamage } from "../../../src/store/file/integrity.ts";
import { type CheckSizes, DamagedDatabaseError } from "../../../src/store/file/start_check.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { Random } from "../../faults/findings.ts";
import { collectLog } from "../../log_records.ts";
import { eventually, temporaryFolder } from "../../surroundings.ts";

const SMALL: CheckSizes = { unclean_bytes: Infinity, clean_bytes: Infinity };
const LARGE: CheckSizes = { unclean_bytes: 0, clean_bytes: 0 };
const PAGE_BYTES = 16 * 1024;

/** A data folder whose database has many pages. */
async function filledFolder() {
  const folder = await temporaryFolder();
  await using store = await openStore(folder.path);
  await Promise.all(
    Array.from(
      { length: 400 },
      (_, n) =>
        store.committer.write([{ key: ["test", n], value: "x".repeat(2_000 + n), bytes: 4_000 }]),
    ),
  );
  return folder;
}

/** Flips a bit of a file, or makes a page of it zeros. */
async function damage(path: string, random: Random): Promise<void> {
  const bytes = await Deno.readFile(path);
  const at = random.int(bytes.length);
  if (random.chance(0.5)) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
  else bytes.fill(0, at - at % PAGE_BYTES, at - at % PAGE_BYTES + PAGE_BYTES);
  await Deno.writeFile(path, bytes);
}

Deno.test("a database is opened if and only if SQLite finds no damage in it", async () => {
  await using folder = await filledFolder();
  const path = join(folder.path, DATABASE_FILE);
  const whole = await Deno.readFile(path);
  const random = new Random(7);
  const seen = { damaged: 0, whole: 0 };
  for (let trial = 0; trial < 40; trial++) {
    await Deno.writeFile(path, whole);
    await damage(path, random);
    const found = findDamage(path);
    if (found === undefined) {
      await (await openStore(folder.path, { check: SMALL })).close();
      seen.whole++;
    } else {
      const error = await assertRejects(
        () => openStore(folder.path, { check: SMALL }),
        DamagedDatabaseError,
        found,
      );
      assertStringIncludes(error.message, `hooklaunch restore --data ${folder.path} --force`);
      seen.damaged++;
    }
  }
  assert(seen.damaged > 10 && seen.whole > 5, JSON.stringify(seen));
});

Deno.test("a file that is no database is refused, and another one opens after it", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, DATABASE_FILE);
  await Deno.writeTextFile(path, "this is not a database, and it is long enough to be read as one");
  await assertRejects(() => openStore(folder.path, { check: SMALL }), DamagedDatabaseError);
  await Deno.remove(path);
  await (await openStore(folder.path, { check: SMALL })).close();
});

/** Makes the last page zeros that holds records. */
async function damageRecords(path: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  for (let at = bytes.length - PAGE_BYTES; at > 0; at -= PAGE_BYTES) {
    const text = new TextDecoder().decode(bytes.subarray(at, at + PAGE_BYTES));
    if (!text.includes("xxxxxxxx")) continue;
    await Deno.writeFile(path, bytes.fill(0, at, at + PAGE_BYTES));
    return;
  }
  throw new Error("No page holds records");
}

/** What a process leaves that was killed: a WAL with commits. */
async function leaveUnclean(folder: string): Promise<void> {
  const copy = await temporaryFolder();
  await using _copy = copy;
  {
    await using store = await openStore(folder);
    await store.committer.write([{ key: ["late"], value: 1 }]);
    for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
      await Deno.copyFile(join(folder, name), join(copy.path, name));
    }
  }
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
    await Deno.copyFile(join(copy.path, name), join(folder, name));
  }
}

Deno.test("after an unclean stop a larger database is checked before it is opened", async () => {
  await using folder = await filledFolder();
  const check = { unclean_bytes: Infinity, clean_bytes: 0 };
  await leaveUnclean(folder.path);
  await damageRecords(join(folder.path, DATABASE_FILE));
  await assertRejects(() => openStore(folder.path, { check }), DamagedDatabaseError);
});

Deno.test("a whole database with commits in its WAL is opened, and has them", async () => {
  await using folder = await filledFolder();
  await leaveUnclean(folder.path);
  await using store = await openStore(folder.path, { check: SMALL });
  assertEquals((await store.kv.get(["late"])).value, 1);
});

Deno.test("a large database is checked while it is open: damage ends its use, and the next start", async () => {
  await using folder = await filledFolder();
  const path = join(folder.path, DATABASE_FILE);
  const whole = await Deno.readFile(path);
  await damageRecords(path);
  {
    await using log = await collectLog("error");
    await using store = await openStore(folder.path, { check: LARGE });
    await eventually(() => store.lost.aborted || undefined);
    const [line = ""] = log.lines();
    assertStringIncludes(line, "it is damaged: ");
    assertStringIncludes(line, "hooklaunch restore --data ");
  }
  // Whatever its size, it is not opened again.
  await assertRejects(() => openStore(folder.path, { check: LARGE }), DamagedDatabaseError);
  await Deno.writeFile(path, whole);
  await (await openStore(folder.path, { check: LARGE })).close();
  const names = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name);
  assertEquals(names.toSorted(), [DATABASE_FILE, "lock"]);
});

Deno.test("the queue of a large database is checked before it is opened: Deno would end the process", async () => {
  await using folder = await filledFolder();
  const path = join(folder.path, DATABASE_FILE);
  const database = new DatabaseSync(path);
  const root = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'queue'").get();
  database.close();
  const bytes = await Deno.readFile(path);
  const at = (Number(root?.rootpage) - 1) * PAGE_BYTES;
  await Deno.writeFile(path, bytes.fill(0, at, at + PAGE_BYTES));
  await assertRejects(() => openStore(folder.path, { check: LARGE }), DamagedDatabaseError);
});

Deno.test("a large database that is whole is used on after its check", async () => {
  await using folder = await filledFolder();
  await using log = await collectLog("info");
  await using store = await openStore(folder.path, { check: LARGE });
  await eventually(() => log.lines().some((line) => line.includes("no damage")) || undefined);
  await store.committer.write([{ key: ["a"], value: 1 }]);
  assertEquals(store.lost.aborted, false);
});
