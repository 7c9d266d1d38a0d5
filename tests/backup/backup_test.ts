/** A backup of a data folder that changes while it is made: what is in it is whole, or said not to be. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { randomBytes } from "node:crypto";
import { backUp } from "../../src/backup/backup.ts";
import { copyDatabase } from "../../src/backup/database.ts";
import { BackupError } from "../../src/backup/error.ts";
import type { Flaw } from "../../src/backup/manifest.ts";
import { hash } from "node:crypto";
import { executionWrites } from "../../src/store/records/executions.ts";
import { executionOf } from "../store/execution.ts";
import { newId } from "../../src/platform/ids.ts";
import { keys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open_store.ts";
import { temporaryFolder } from "../surroundings.ts";
import {
  contentsOf,
  OPTIONS,
  pathsIn,
  prepare,
  type Prepared,
  SNAPSHOT,
  STARTED,
} from "./fixture.ts";

/** More than waits anywhere between who reads a file and who takes the backup. */
const BIG = randomBytes(8 * 1024 * 1024);
const OTHER_SNAPSHOT = `projects/files/trees/~${"2".repeat(64)}`;

/** Makes a backup, changes something when a part of the big file was taken, and restores it. */
async function changedMeanwhile({ data, restore }: Prepared, change: () => void) {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const target = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(chunk) {
      chunks.push(chunk);
      const hadPart = size > BIG.length / 8;
      size += chunk.length;
      if (!hadPart && size > BIG.length / 8) change();
    },
  });
  const { flaws } = await backUp({ data, target, ...OPTIONS });
  const restored = await restore(await new Blob(chunks).bytes());
  return { flaws, contents: await contentsOf(restored) };
}

Deno.test("a file that becomes shorter while it is read is told of, and left out", async () => {
  await using prepared = await prepare();
  const folder = `executions/${STARTED}/outputs`;
  await Deno.mkdir(`${prepared.data}/${folder}`, { recursive: true });
  await Deno.writeFile(`${prepared.data}/${folder}/big`, BIG);
  await Deno.writeTextFile(`${prepared.data}/${folder}/other`, "");
  const { flaws, contents } = await changedMeanwhile(
    prepared,
    () => Deno.truncateSync(`${prepared.data}/${folder}/big`, 5),
  );
  const detail = "It became shorter while it was read";
  assertEquals(flaws, [{ path: `${folder}/big`, detail, discard: true }]);
  assertEquals([`${folder}/big` in contents, `${folder}/other` in contents], [false, true]);
});

Deno.test("a folder of outputs that is removed while others are read is told of", async () => {
  await using prepared = await prepare();
  const folder = `executions/${STARTED}/outputs`;
  const later = `${prepared.data}/${folder}/later`;
  await Deno.mkdir(later, { recursive: true });
  await Deno.writeFile(`${prepared.data}/${folder}/big`, BIG);
  const { flaws } = await changedMeanwhile(prepared, () => Deno.removeSync(later));
  assertEquals(flaws, [{ path: `${folder}/later`, detail: "It cannot be read" }]);
});

for (const [what, removed] of [["all", ""], ["some", "/last"]] as const) {
  Deno.test(`a snapshot of which ${what} is removed while it is read is told of, and left out`, async () => {
    await using prepared = await prepare();
    const folder = `${prepared.data}/${OTHER_SNAPSHOT}`;
    await Deno.mkdir(folder);
    await Deno.writeFile(`${folder}/first`, BIG);
    if (removed !== "") await Deno.writeTextFile(folder + removed, "");
    const { flaws, contents } = await changedMeanwhile(
      prepared,
      () => Deno.removeSync(folder + removed, { recursive: true }),
    );
    const detail = "It was removed while it was read";
    assertEquals(flaws, [{ path: OTHER_SNAPSHOT, detail, discard: true }]);
    assert(!Object.keys(contents).some((path) => path.startsWith(OTHER_SNAPSHOT)));
  });
}

Deno.test("the key in a backup is that of its secrets, though it is changed meanwhile", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  const changed = `${new Uint8Array(32).fill(1).toBase64()}\n`;
  const { readTextFile } = Deno;
  let reads = 0;
  Deno.readTextFile = async (from) => {
    const text = await readTextFile(from);
    if (from === `${data}/secret.key` && reads++ === 0) await Deno.writeTextFile(from, changed);
    return text;
  };
  try {
    await backUp({ data, target: `${path}/changed`, ...OPTIONS });
  } finally {
    Deno.readTextFile = readTextFile;
  }
  const restored = await prepared.restore(await Deno.readFile(`${path}/changed`));
  assertEquals(await Deno.readTextFile(`${restored}/secret.key`), changed);
});

Deno.test("a copy of a database is of the moment at which it begins, whatever is written meanwhile", async () => {
  await using folder = await temporaryFolder();
  const [source, target] = [`${folder.path}/source`, `${folder.path}/target`];
  using kv = await Deno.openKv(source);
  const value = new Uint8Array(60_000);
  for (let i = 0; i < 200; i++) await kv.set(["before", i], value);
  let isCopied = false;
  const copied = copyDatabase(source, target).finally(() => isCopied = true);
  // What is written before the first page is copied is in the copy, as it should be.
  const hasBegun = async () => {
    return await Deno.stat(`${target}.pages`).then(({ size }) => size > 0, () => false);
  };
  while (!isCopied && !await hasBegun()) await new Promise((resolve) => setTimeout(resolve, 1));
  for (let i = 0; i < 50 && !isCopied; i++) await kv.set(["late", i], value);
  await copied;
  using copy = await Deno.openKv(target);
  const entries = await Array.fromAsync(copy.list({ prefix: [] }));
  assertEquals(Map.groupBy(entries, ({ key }) => key[0]).get("before")?.length, 200);
  assertEquals(entries.length, 200);
});

Deno.test("an execution whose record is damaged is told of, and all others are in the backup", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  const id = newId(Date.UTC(2026, 0, 1, 12));
  {
    await using store = await openStore(data);
    await store.kv.set(keys.execution(id), null);
  }
  const { flaws } = await backUp({ data, target: `${path}/damaged`, ...OPTIONS });
  const detail = "Its record in the database is damaged";
  assertEquals<Flaw[]>(flaws, [{ path: `executions/${id}`, detail }]);
  const restored = await prepared.restore(await Deno.readFile(`${path}/damaged`));
  assert((await pathsIn(restored)).includes(`executions/${STARTED}/control/started`));
});

Deno.test("what ran elsewhere is in the backup as far as this machine has it, and the rest is not missed", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  const [here, elsewhere] = [0, 1].map((hour) => newId(Date.UTC(2026, 0, 4, hour)));
  const output = { path: "model", size: 3, sha256: hash("sha256", "abc") };
  const store = async (id = "") => {
    await using opened = await openStore(data);
    const execution = executionOf({
      id,
      engine: { type: "remote" },
      status: "complete",
      outputs: [output],
    });
    await opened.committer.write(executionWrites(execution));
  };
  await store(elsewhere);
  const without = await backUp({ data, target: `${path}/without`, ...OPTIONS });
  assertEquals<Flaw[]>(without.flaws, []);

  await store(here);
  const folder = `${data}/artifacts/executions/${here}/outputs`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/model`, "abc");
  const { flaws } = await backUp({ data, target: `${path}/with`, ...OPTIONS });
  const detail = "Its outputs are not there any more";
  assertEquals<Flaw[]>(flaws, [{ path: `artifacts/executions/${elsewhere}`, detail }]);
  const restored = await prepared.restore(await Deno.readFile(`${path}/with`));
  const model = `${restored}/artifacts/executions/${here}/outputs/model`;
  assertEquals(await Deno.readTextFile(model), "abc");
});

Deno.test("a file that cannot be read is told of, and all others are in the backup", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  const started = `executions/${STARTED}/control/started`;
  const { open } = Deno;
  Deno.open = (from, options) =>
    from === `${data}/${started}`
      ? Promise.reject(new Deno.errors.PermissionDenied("Permission denied (os error 13)"))
      : open(from, options);
  try {
    const { flaws } = await backUp({ data, target: `${path}/unreadable`, ...OPTIONS });
    assertEquals(flaws, [{ path: started, detail: "It cannot be read" }]);
  } finally {
    Deno.open = open;
  }
});

Deno.test("a backup that nobody can take any more is told of", async () => {
  await using prepared = await prepare();
  const { data } = prepared;
  const target = new WritableStream<Uint8Array>({
    write: () => Promise.reject(new Error("Broken pipe (os error 32)")),
  });
  const failed = () => backUp({ data, target, ...OPTIONS });
  await assertRejects(failed, BackupError, "Broken pipe");
});

Deno.test("a backup is stopped in the middle of a file", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  await Deno.writeFile(`${data}/${SNAPSHOT}/big`, BIG);
  const before = await pathsIn(path);
  const stop = new AbortController();
  const { open } = Deno;
  let reads = 0;
  Deno.open = async (from, options) => {
    const file = await open(from, options);
    if (from !== `${data}/${SNAPSHOT}/big`) return file;
    const read = file.read.bind(file);
    file.read = (buffer) => {
      if (++reads === 3) stop.abort(new Error("Stopped"));
      return read(buffer);
    };
    return file;
  };
  try {
    const options = { ...OPTIONS, data, target: `${path}/stopped`, signal: stop.signal };
    const { message } = await assertRejects(() => backUp(options), Error);
    assertEquals(message, "Stopped");
  } finally {
    Deno.open = open;
  }
  assertEquals(reads, 3);
  assertEquals(await pathsIn(path), before);
});
