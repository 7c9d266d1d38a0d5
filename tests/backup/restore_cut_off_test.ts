/**
 * What a restore leaves that is killed: a folder with all of the data
 * there was, or all that was backed up, or one that no service starts with.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { BackupError } from "../../src/backup/error.ts";
import { restore } from "../../src/backup/restore.ts";
import { ConflictError } from "../../src/platform/errors.ts";
import { executionWrites, getExecution } from "../../src/store/records/executions.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import { executionOf } from "../store/execution.ts";
import { contentsOf, ENDED, OPTIONS, pathsIn, prepare } from "./fixture.ts";

const OLD = "0190fe82-c984-7f66-8302-69874914e1c9";

/** Writes the data that there was before. */
async function writeOld(data: string): Promise<void> {
  await using store = await openStore(data);
  await store.committer.write(executionWrites(executionOf({ id: OLD, status: "complete" })));
  await Deno.writeTextFile(`${data}/secret.key`, "old");
  await Deno.mkdir(`${data}/executions/${OLD}`, { recursive: true });
}

/** Copies a folder. */
async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(from)) {
    const [source, target] = [`${from}/${name}`, `${to}/${name}`];
    if (isDirectory) await copyFolder(source, target);
    else if (isSymlink) await Deno.symlink(await Deno.readLink(source), target);
    else await Deno.copyFile(source, target);
  }
}

/** Has something done while a rename is done by other means. */
async function withRename<T>(
  rename: (from: string, to: string, original: typeof Deno.rename) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const original = Deno.rename;
  Deno.rename = (from, to) => rename(`${from}`, `${to}`, original);
  try {
    return await work();
  } finally {
    Deno.rename = original;
  }
}

/** Copies a folder before each rename that something does, which is how a kill at that moment leaves it. */
async function beforeRenames(folder: string, work: () => Promise<unknown>): Promise<string[]> {
  const copies: string[] = [];
  await withRename(async (from, to, rename) => {
    if (`${from} ${to}`.includes(folder)) {
      const copy = `${folder}-before-rename-${copies.length}`;
      await copyFolder(folder, copy);
      copies.push(copy);
    }
    await rename(from, to);
  }, work);
  return copies;
}

/** What a service finds in a folder: the data from before, what was restored, or neither, as it does not start. */
async function foundIn(folder: string): Promise<"old" | "restored" | "nothing"> {
  const paths = await pathsIn(folder);
  try {
    await using store = await openStore(folder);
    const isOld = await getExecution(store, OLD) !== undefined;
    const isRestored = await getExecution(store, ENDED) !== undefined;
    assert(isOld !== isRestored, `neither, or both: ${paths}`);
    const key = await Deno.readTextFile(`${folder}/secret.key`);
    assertEquals(key === "old", isOld, "The key is not of the same data");
    return isOld ? "old" : "restored";
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    assert(!(await pathsIn(folder)).includes(DATABASE_FILE), "It has made a database");
    return "nothing";
  }
}

for (
  const [name, old] of [["an empty folder", false], ["other data, moved aside", true]] as const
) {
  Deno.test(`a restore to ${name} that is killed leaves all data of one kind, or no service starts`, async () => {
    await using prepared = await prepare();
    const { archive, path } = prepared;
    const data = `${path}/killed`;
    if (old) await writeOld(data);
    else await Deno.mkdir(data);
    const again = { data, ...OPTIONS, force: old };
    const copies = await beforeRenames(
      data,
      () => restore({ ...again, source: new Blob([archive]).stream() }),
    );
    const found: string[] = [];
    for (const copy of copies) found.push(await foundIn(copy));
    const order = old ? ["old", "nothing"] : ["nothing"];
    assertEquals(found.filter((each, index) => each !== found[index - 1]), order, found.join());
    assertEquals(await foundIn(data), "restored");
    // Whatever it was killed at, it can be done again.
    for (const copy of copies) {
      await restore({ ...again, data: copy, force: true, source: new Blob([archive]).stream() });
      assertEquals(await foundIn(copy), "restored");
    }
  });
}

Deno.test("no service begins with nothing where a restore was to bring its data", async () => {
  await using prepared = await prepare();
  const data = `${prepared.path}/begun`;
  await Deno.mkdir(`${data}/restoring-1/executions`, { recursive: true });
  await assertRejects(() => openStore(data), ConflictError, "a restore to it was broken off");
  await prepared.restore(prepared.archive, data);
  await (await openStore(data)).close();
});

Deno.test("a restore of which a rename fails leaves the data that there was, or finds another way", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  await writeOld(`${path}/old`);
  const found: string[] = [];
  for (let failing = 0, isOver = false; !isOver; failing++) {
    // What could be moved beside it can be moved back.
    if (failing === 1) continue;
    const data = `${path}/failing-${failing}`;
    await copyFolder(`${path}/old`, data);
    const before = await contentsOf(data);
    let count = 0;
    const report = await withRename(async (from, to, rename) => {
      if (count++ === failing) throw new Error("Cross-device link (os error 18)");
      await rename(from, to);
    }, () => restore({ data, ...OPTIONS, force: true, source: new Blob([archive]).stream() }))
      .catch((error) => assert(error instanceof BackupError, String(error)));
    isOver = count <= failing;
    const { aside } = report ?? {};
    if (aside === undefined) assertEquals(await contentsOf(data), before);
    else assertEquals(await foundIn(aside), "old");
    const beside = (await Array.fromAsync(Deno.readDir(path)))
      .filter(({ name }) => name.startsWith(`failing-${failing}.`));
    assertEquals(beside.length, aside?.startsWith(`${data}.`) ? 1 : 0);
    const where = aside?.startsWith(`${data}/`) ? "in it" : "beside it";
    found.push(`${await foundIn(data)}${aside === undefined ? "" : `, the old one ${where}`}`);
  }
  assertEquals(found, [
    "restored, the old one in it",
    ...Array.from({ length: 7 }, () => "old"),
    "restored, the old one beside it",
  ]);
  const left = await pathsIn(path).then((all) => all.filter((name) => name.includes("restoring")));
  assertEquals(left, []);
});
