/** What is said to be backed up or restored is on disk by then: a loss of power does not take it back. */
import { assertEquals } from "@std/assert";
import { relative } from "node:path";
import { backUp } from "../../src/backup/backup.ts";
import { restore } from "../../src/backup/restore.ts";
import { OPTIONS, prepare } from "./fixture.ts";

/** What is renamed and brought to disk in a folder while something is done, in its order. */
async function writesIn(folder: string, work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const { open, rename } = Deno;
  const name = (path: string | URL) =>
    relative(folder, `${path}`).replace(/(before-restore)-20[\dTZ-]+/, "$1").replace(
      /(restoring-|\.backup-)\w+/,
      "*",
    );
  Deno.open = async (path, options) => {
    const file = await open(path, options);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      await sync();
      seen.push(`sync ${name(path)}`);
    };
    return file;
  };
  Deno.rename = async (from, to) => {
    await rename(from, to);
    seen.push(`${name(from)} -> ${name(to)}`);
  };
  try {
    await work();
    return seen;
  } finally {
    Deno.open = open;
    Deno.rename = rename;
  }
}

Deno.test("a backup is on disk before it appears, and its name before it is said to be made", async () => {
  await using prepared = await prepare();
  const { data, path } = prepared;
  await Deno.mkdir(`${path}/to`);
  const seen = await writesIn(
    `${path}/to`,
    () => backUp({ data, target: `${path}/to/backup`, ...OPTIONS }),
  );
  assertEquals(seen.slice(-3), ["sync */archive", "*/archive -> backup", "sync "]);
});

Deno.test("what a restore puts in its place is on disk, step by step, the database last", async () => {
  await using prepared = await prepare();
  const { archive, path } = prepared;
  const data = `${path}/to/data`;
  const restored = async (force: boolean) => {
    const source = new Blob([archive]).stream();
    const seen = await writesIn(`${path}/to`, () => restore({ ...OPTIONS, data, source, force }));
    // Those of the others have no order.
    const others = /\b(executions|projects|secret\.key)\b/g;
    return seen.map((each) => each.replace(others, "others"))
      .filter((each, index, all) => each !== all[index - 1]);
  };
  const inPlace = [
    "data/*/others -> data/others",
    "sync data",
    "data/*/hooklaunch.kv -> data/hooklaunch.kv",
    "sync data",
  ];
  assertEquals(await restored(false), ["sync data/*/hooklaunch.kv", ...inPlace, "sync "]);
  const aside = "data.before-restore";
  assertEquals(await restored(true), [
    "sync data/*/hooklaunch.kv",
    `data/* -> ${aside}/restoring`,
    `${aside}/restoring -> data/*`,
    `data/hooklaunch.kv -> ${aside}/hooklaunch.kv`,
    `data/others -> ${aside}/others`,
    `sync ${aside}`,
    "sync ",
    ...inPlace,
  ]);
});
