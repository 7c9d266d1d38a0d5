/**
 * Restoring: all of a backup or nothing. Whatever is refused leaves everything as it was.
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import fc from "fast-check";
import { packTar, type ParsedTarEntryWithData, type TarHeader, unpackTar } from "modern-tar";
import { backUp } from "../../src/backup/backup.ts";
import { BackupError } from "../../src/backup/error.ts";
import { restore } from "../../src/backup/restore.ts";
import { waitingAttempts } from "../../src/store/records/attempts.ts";
import { getExecution } from "../../src/store/records/executions.ts";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import {
  CLOSED,
  contentsOf,
  ENDED,
  file,
  gunzip,
  OPTIONS,
  pack,
  pathsIn,
  prepare,
  RETRIED,
  SNAPSHOT,
  STARTED,
  STOPPING,
} from "./fixture.ts";

Deno.test("what is restored is what was backed up", async () => {
  await using prepared = await prepare();
  const { data, archive, path } = prepared;
  const restored = await prepared.restore(archive);
  const expected = await contentsOf(data);
  const found = await contentsOf(restored);
  for (const path of Object.keys(expected)) {
    if (/left\.out|repository|mirror\.git|\/1{40}$|-(wal|shm)$/.test(path)) delete expected[path];
  }
  // It is of the same content, but not the same file; and nobody else's.
  assertMatch(found[DATABASE_FILE] ?? "", /^600 /);
  expected[DATABASE_FILE] = found[DATABASE_FILE] ?? "";
  // Into any folder its owner can write.
  assertEquals(expected[CLOSED], "555 folder");
  expected[CLOSED] = "755 folder";
  assertEquals(found, expected);
  assertEquals(
    await pathsIn(path).then((all) => all.filter((name) => name.includes("restoring"))),
    [],
  );
  const at = `executions/${ENDED}/outputs/a/b`;
  const [before, after] = await Promise.all([data, restored].map((to) => Deno.stat(`${to}/${at}`)));
  assertEquals(Math.trunc(Number(after?.mtime) / 1_000), Math.trunc(Number(before?.mtime) / 1_000));
  // An exit code in a backup says that the outputs behind it are complete.
  const names = (await unpackTar(await gunzip(archive))).map(({ header }) => header.name);
  const placeOf = (name: string) => names.indexOf(`executions/${ENDED}/${name}/`);
  assert(placeOf("control") < placeOf("outputs"), names.join());
  await using store = await openStore(restored);
  assertEquals((await getExecution(store, ENDED))?.outputs[0]?.path, "a/b");
  const { status, attempts = [] } = await getExecution(store, RETRIED.attempt_of ?? "") ?? {};
  assertEquals([status, attempts.map((each) => each.status)], ["created", ["error", "created"]]);
  assertEquals((await waitingAttempts(store)).map(({ id }) => id), [attempts[1]?.execution_id]);
  // What runs here is not what ran there.
  for (const id of [STARTED, STOPPING]) {
    assertEquals((await getExecution(store, id))?.engine_state, { more: 1 });
  }
});

Deno.test("a file that appears while a backup is made is not replaced", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  const target = `${path}/late`;
  const onProgress = () => Deno.writeTextFileSync(target, "somebody's");
  await assertRejects(
    () => backUp({ data, target, ...OPTIONS, onProgress }),
    BackupError,
    "--force",
  );
  assertEquals(await Deno.readTextFile(target), "somebody's");
  let told = 0;
  const again = { data, target, ...OPTIONS, onProgress: () => void told++ };
  await assertRejects(() => backUp(again), BackupError, "--force");
  assertEquals(told, 0, "nothing is copied where it is known before");
});

Deno.test("a snapshot of which not all is in a backup is not restored in part", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  await Deno.symlink("../../origin.json", `${data}/${SNAPSHOT}/out`);
  const { flaws } = await backUp({ data, target: `${path}/flawed`, ...OPTIONS });
  assertEquals(flaws.map(({ path, discard }) => ({ path, discard })), [
    { path: SNAPSHOT, discard: true },
  ]);
  const restored = await prepared.restore(await Deno.readFile(`${path}/flawed`));
  assert(!(await pathsIn(restored)).some((path) => path.startsWith(SNAPSHOT)));
});

for (
  const [written, restored_s] of [["1969-12-31T23:59:00Z", 0], ["2300-01-01", 8 ** 11 - 1]] as const
) {
  Deno.test(`a file of ${written} is restored, as near to its time as an archive can tell it`, async () => {
    await using prepared = await prepare();
    const { data, path } = prepared;
    const at = `executions/${ENDED}/outputs/a/b`;
    await Deno.utime(`${data}/${at}`, new Date(written), new Date(written));
    const { flaws } = await backUp({ data, target: `${path}/timed`, ...OPTIONS });
    assertEquals(flaws, []);
    const restored = await prepared.restore(await Deno.readFile(`${path}/timed`));
    const { mtime } = await Deno.stat(`${restored}/${at}`);
    assertEquals(mtime?.getTime(), restored_s * 1_000);
  });
}

Deno.test("what is restored into a folder that others look into is its owner's alone", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const to = `${path}/open`;
  // A disk of its own has this.
  await Deno.mkdir(`${to}/lost+found`, { recursive: true });
  await Deno.chmod(to, 0o755);
  const found = await contentsOf(await prepared.restore(archive, to));
  assertEquals(found[""], "755 folder");
  assertMatch(found[DATABASE_FILE] ?? "", /^600 /);
});

Deno.test("what a restore has left that was killed is in nobody's way, but other data is", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const to = `${path}/again`;
  await Deno.mkdir(`${to}/restoring-1/projects`, { recursive: true });
  await Deno.writeTextFile(`${to}/${DATABASE_FILE}`, "half of it");
  const before = await contentsOf(to);
  await assertRejects(
    () => prepared.restore(archive, to),
    BackupError,
    "a restore that was interrupted",
  );
  assertEquals(await contentsOf(to), before);

  await Deno.remove(`${to}/${DATABASE_FILE}`);
  const names = (all: Record<string, string>) => Object.keys(all);
  const found = names(await contentsOf(await prepared.restore(archive, to)));
  assertEquals(found, names(await contentsOf(await prepared.restore(archive))));
  assertEquals((await pathsIn(path)).filter((name) => name.includes("before-restore")), []);
});

Deno.test("a restore that is stopped says so, and leaves everything as it was", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const before = await pathsIn(path);
  const { remove } = Deno;
  for (const place of ["1 files", "5 files", "the lock"]) {
    const stop = new AbortController();
    const onProgress = (text: string) => {
      if (text === place) stop.abort(new Error("Stopped"));
    };
    // When its lock is removed all is read, and nothing is in its place yet.
    Deno.remove = (path, options) => {
      if (`${path}`.endsWith("/lock")) onProgress("the lock");
      return remove(path, options);
    };
    const source = new Blob([archive]).stream();
    const options = { ...OPTIONS, data: `${path}/stopped`, source, signal: stop.signal };
    try {
      const error = await assertRejects(() => restore({ ...options, onProgress }), Error);
      assertEquals(error.message, "Stopped");
    } finally {
      Deno.remove = remove;
    }
    assertEquals(await pathsIn(path), before);
  }
});

Deno.test("an archive that was cut off is never restored", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const before = await pathsIn(path);
  await fc.assert(
    fc.asyncProperty(fc.nat(archive.length - 1), async (length) => {
      await assertRejects(() => prepared.restore(archive.slice(0, length)), BackupError);
    }),
    { numRuns: 40, examples: [[0], [archive.length - 1], [archive.length - 8]] },
  );
  assertEquals(await pathsIn(path), before);
});

Deno.test("an archive with a bit that was flipped is refused, unless the bit means nothing", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const before = await pathsIn(path);
  const expected = await contentsOf(await prepared.restore(archive));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(archive.length - 1), fc.nat(7), async (at, bit) => {
      const flipped = archive.slice();
      flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
      try {
        const restored = await prepared.restore(flipped);
        // Such as the time in the head of the gzip file, which nobody reads.
        assertEquals(Object.keys(await contentsOf(restored)), Object.keys(expected));
        assertEquals(await gunzip(flipped), await gunzip(archive));
        await Deno.remove(restored, { recursive: true });
      } catch (error) {
        assert(error instanceof BackupError, String(error));
        refused++;
      }
    }),
    { numRuns: 80, examples: [[0, 0], [4, 0], [archive.length - 1, 7]] },
  );
  assert(refused > 40, `${refused} were refused`);
  await Deno.remove(`${path}/restored-0`, { recursive: true });
  assertEquals(await pathsIn(path), before);
});

Deno.test("an archive that was changed is refused", async (t) => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const entries = (await unpackTar(await gunzip(archive))).slice(0, -1);
  const at = (name: string) => entries.findIndex(({ header }) => header.name === name);
  const inEnd = (...more: ParsedTarEntryWithData[]) => entries.toSpliced(-1, 0, ...more);
  const link = (name: string, linkname: string, type: TarHeader["type"] = "symlink") =>
    file(name, "", { type: type ?? "symlink", linkname });
  const before = await pathsIn(path);
  const header = {
    archive_format: 1,
    version: "1",
    created_at: "2026-01-01T00:00:00Z",
    has_key: true,
  };
  const headed = (changes: object) =>
    entries.with(0, file("backup.json", JSON.stringify({ ...header, ...changes })));

  const cases: [name: string, entries: ParsedTarEntryWithData[], expected: RegExp][] = [
    ["an absolute path", inEnd(file("/etc/hooklaunch", "")), /no such file/],
    ["a path that leads up", inEnd(file("executions/../../up", "")), /no such file/],
    ["a path that leads up twice", inEnd(file("../up", "")), /no such file/],
    ["a path within a path", inEnd(file("executions/./a", "")), /no such file/],
    ["a path with nothing in it", inEnd(file("executions//a", "")), /no such file/],
    ["another name", inEnd(file("hooklaunch.kv-wal", "")), /no such file/],
    ["a folder outside", inEnd(file("../up/", "", { type: "directory" })), /outside/],
    ["the folder itself", inEnd(file("./", "", { type: "directory" })), /outside/],
    ["a link among the executions", inEnd(link("executions/a", "b")), /it is a link/],
    ["a link in place of the database", inEnd(link(DATABASE_FILE, "b")), /it is a link/],
    ["a link that leads out", inEnd(link(`${SNAPSHOT}/out`, "../../x")), /it is a link/],
    ["a link that is absolute", inEnd(link(`${SNAPSHOT}/out`, "/etc")), /it is a link/],
    ["one that leads nowhere yet", inEnd(link(`${SNAPSHOT}/out`, "/none/x")), /it is a link/],
    [
      "a link to a folder that is called alike",
      inEnd(link(`${SNAPSHOT}/out`, `../${SNAPSHOT.replace(/.*\//, "")}x`)),
      /it is a link/,
    ],
    [
      "links that lead out together, and a flaw behind them",
      entries.toSpliced(
        -1,
        1,
        ...["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"].map((name) =>
          file(`${SNAPSHOT}/${name}/`, "", { type: "directory", mode: 0o700 })
        ),
        link(`${SNAPSHOT}/here`, "."),
        link(`${SNAPSHOT}/up`, "here/.."),
        link(`${SNAPSHOT}/a/b/c/d/e/up`, "../../../../../up"),
        link(`${SNAPSHOT}/a/b/c/d/e/out`, "up/../../../../.."),
        file(
          "flaws.json",
          `[{"path":"${SNAPSHOT}/a/b/c/d/e/out/backup","detail":"","discard":true}]`,
        ),
      ),
      /it is a link to/,
    ],
    ["a link in place of a snapshot", inEnd(link(SNAPSHOT, ".")), /it is a link/],
    [
      "a link in place of a snapshot that leads into it",
      inEnd(link("projects/files/trees/~1", "~1/x")),
      /it is a link/,
    ],
    [
      "a file behind a link",
      inEnd(link(`${SNAPSHOT}/l`, "empty"), file(`${SNAPSHOT}/l/x`, "")),
      /does not come before/,
    ],
    ["a hard link", inEnd(link(`${SNAPSHOT}/hard`, "run.sh", "link")), /it is a link/],
    ["a device", inEnd(link(`${SNAPSHOT}/null`, "", "character-device")), /character-device/],
    ["a pipe", inEnd(link(`${SNAPSHOT}/pipe`, "", "fifo")), /fifo/],
    ["a program of its owner", inEnd(file(`${SNAPSHOT}/x`, "", { mode: 0o4755 })), /manifest/],
    [
      "a list that fills the memory",
      entries.with(-1, file("flaws.json", " ".repeat(64 * 1024 * 1024 + 1))),
      /it has 67108865 bytes/,
    ],
    [
      "a name that the disk does not take",
      inEnd(file(`${SNAPSHOT}/${"x".repeat(256)}`, "")),
      /^Cannot restore: .*too long/,
    ],
    ["a file twice", inEnd(file("secret.key", "")), /twice/],
    ["no folder for a file", inEnd(file("executions/none/x", "")), /does not come before/],
    ["no database", entries.toSpliced(at(DATABASE_FILE), 1), /no database/],
    [
      "something that is no database",
      entries.with(at(DATABASE_FILE), file(DATABASE_FILE, "x")),
      /no database of Hooklaunch/,
    ],
    ["no header", entries.slice(1), /no backup of Hooklaunch/],
    ["a header of something else", headed({ version: 7 }), /backup.json/],
    ["a newer format", headed({ archive_format: 3, version: "9.9.9" }), /format 3 of Hooklaunch 9/],
    ["no list of flaws", entries.slice(0, -1), /end is missing/],
    [
      "a flaw outside",
      entries.with(-1, file("flaws.json", '[{"path":"..","detail":"","discard":true}]')),
      /outside/,
    ],
    ["more behind the flaws", [...entries, file("projects/files/known_hosts", "")], /follows/],
  ];
  for (const [name, changed, expected] of cases) {
    await t.step(name, async () => {
      const archive = await pack(changed);
      const error = await assertRejects(() => prepared.restore(archive), BackupError);
      assertMatch(error.message, expected);
      assertMatch(error.message, /^Cannot restore(?!.*Cannot restore)/);
      assertEquals(await pathsIn(path), before);
    });
  }
  const asItIs = async (entries: ParsedTarEntryWithData[]) => {
    const tar = new Blob([new Uint8Array(await packTar(entries))]).stream();
    return await new Response(tar.pipeThrough(new CompressionStream("gzip"))).bytes();
  };
  await t.step("another content than the manifest says", async () => {
    const changed = (await unpackTar(await gunzip(archive)))
      .with(at("secret.key"), file("secret.key", "mine\n"));
    const bytes = await asItIs(changed);
    await assertRejects(() => prepared.restore(bytes), BackupError, "manifest");
    assertEquals(await pathsIn(path), before);
  });
  await t.step("no manifest", async () => {
    const bytes = await asItIs(entries);
    await assertRejects(() => prepared.restore(bytes), BackupError, "its end is missing");
    assertEquals(await pathsIn(path), before);
  });
  await t.step("but not when it was only packed anew", async () => {
    await prepared.restore(await pack(entries));
  });
});

Deno.test("what was read in part only is left out", async () => {
  await using prepared = await prepare();
  const entries = (await unpackTar(await gunzip(prepared.archive))).slice(0, -1);
  // The second was not read at all.
  const flaws = [SNAPSHOT, SNAPSHOT.replaceAll("0", "3")].map((path) => (
    { path, detail: "It was removed while it was read", discard: true }
  ));
  const archive = await pack(entries.with(-1, file("flaws.json", JSON.stringify(flaws))));
  const restored = await prepared.restore(archive);
  const paths = await pathsIn(restored);
  assert(paths.includes("projects/files/trees"));
  assert(!paths.some((path) => path.startsWith(SNAPSHOT)));
});

for (const [format, isFine] of [[1, true], [FORMAT_VERSION + 1, false]] as const) {
  Deno.test(`a database of the format ${format} is ${isFine ? "migrated" : "refused"}`, async () => {
    await using prepared = await prepare();
    const entries = (await unpackTar(await gunzip(prepared.archive))).slice(0, -1);
    const at = entries.findIndex(({ header }) => header.name === DATABASE_FILE);
    const path = `${prepared.path}/${DATABASE_FILE}`;
    await Deno.writeFile(path, entries[at]?.data ?? new Uint8Array());
    {
      using kv = await Deno.openKv(path);
      await kv.set(keys.format(), format);
    }
    const data = await Deno.readFile(path);
    const changed = { header: { name: DATABASE_FILE, size: data.length, mode: 0o600 }, data };
    const archive = await pack(entries.with(at, changed));
    if (!isFine) {
      await assertRejects(() => prepared.restore(archive), BackupError, "a newer version");
      return;
    }
    await using store = await openStore(await prepared.restore(archive));
    assertEquals((await store.kv.get(keys.format())).value, FORMAT_VERSION);
  });
}
