/**
 * `restore` as operators call it, and what becomes of an execution that ran when the backup was made.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { unpackTar } from "modern-tar";
import { backUp } from "../../src/backup/backup.ts";
import { restore } from "../../src/backup/restore.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Service } from "../../src/service/service.ts";
import { getExecution } from "../../src/store/records/executions.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import { contentsOf, file, gunzip, OPTIONS, pack, pathsIn, prepare } from "../backup/fixture.ts";
import { endOfExecution, eventually, startService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { HOOKLAUNCH_LINE } from "./process.ts";

Deno.test("restore as a command", async (t) => {
  await using prepared = await prepare();
  const { path } = prepared;
  const other = `${path}/other`;
  await Deno.mkdir(other);
  await Deno.writeTextFile(`${other}/mine`, "");
  const command = (...args: string[]) => run(["restore", `${path}/backup`, "--data", ...args]);

  await t.step("refuses a folder that has something in it", async () => {
    const { code, printed } = await command(other);
    assertEquals(code, 1);
    assertStringIncludes(printed, "--force");
    assertEquals(await pathsIn(other), ["mine"]);
  });
  await t.step("moves it aside when it is told to", async () => {
    const { code, printed } = await command(other, "--force");
    assertEquals(code, 0, printed);
    const [, aside = ""] = /to (.*before-restore-[\dTZ-]+)$/m.exec(printed) ?? [];
    assertEquals(await pathsIn(aside), ["mine"]);
    assertEquals((await contentsOf(aside))[""], "700 folder");
    const restored = Object.values(await contentsOf(other));
    const files = restored.filter((what) => /^\d+ [0-9a-f]{64}$/.test(what)).length;
    assertStringIncludes(printed, `Restored ${files} files to ${other}, as they were at 20`);
    assert((await pathsIn(other)).includes(DATABASE_FILE));
  });
  await t.step("has all of it on disk before any of it is in its place", async () => {
    // One that says what it is asked to write, and what is there then.
    await Deno.mkdir(`${path}/bin`);
    await Deno.writeTextFile(
      `${path}/bin/sync`,
      `#!/bin/sh\necho "$1" >> '${path}/synced'; (cd "$2" && find . -type f) >> '${path}/synced'`,
      { mode: 0o755 },
    );
    const to = `${path}/synced-first`;
    const env = { PATH: `${path}/bin:${Deno.env.get("PATH")}` };
    const { code, printed } = await run(["restore", `${path}/backup`, "--data", to], env);
    assertEquals(code, 0, printed);
    const [option, ...synced] = (await Deno.readTextFile(`${path}/synced`)).trim().split("\n");
    assertEquals(option, "-f");
    const files = Object.entries(await contentsOf(to))
      .filter(([, what]) => /^\d+ [0-9a-f]{64}$/.test(what)).map(([name]) => `./${name}`);
    assert(files.length > 5, files.join());
    assertEquals(synced.sort(), files.sort());
  });
  await t.step("leaves a folder as it was when the backup is damaged, --force or not", async () => {
    await Deno.writeFile(`${path}/damaged`, prepared.archive.slice(0, -100));
    const before = await contentsOf(other);
    const { code, printed } = await run([
      ...["restore", `${path}/damaged`, "--data", other, "--force"],
    ]);
    assertEquals(code, 1);
    assertStringIncludes(printed, "it is damaged");
    assertEquals(await contentsOf(other), before);

    const empty = `${path}/empty`;
    await Deno.mkdir(empty);
    assertEquals((await run(["restore", `${path}/damaged`, "--data", empty])).code, 1);
    assertEquals(await pathsIn(empty), []);
  });
  await t.step("refuses a folder that a service has", async () => {
    await using _store = await openStore(other);
    const { code, printed } = await command(other, "--force");
    assertEquals(code, 1);
    assertStringIncludes(printed, "another Hooklaunch process is using it");
  });
  await t.step("shows nothing of a backup that a terminal would obey", async () => {
    const entries = (await unpackTar(await gunzip(prepared.archive))).slice(0, -1);
    const flaws = [{ path: "\x1b[2J", detail: "\x1b]0;owned\x07\x9b2J" }];
    const archive = await pack(entries.with(-1, file("flaws.json", JSON.stringify(flaws))));
    await Deno.writeFile(`${path}/flawed`, archive);
    const { printed } = await run(["restore", `${path}/flawed`, "--data", `${path}/third`]);
    assertStringIncludes(printed, "owned");
    // deno-lint-ignore no-control-regex
    assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(printed), JSON.stringify(printed));
  });
  await t.step("tells of the first of many flaws, and how many more there are", async () => {
    const entries = (await unpackTar(await gunzip(prepared.archive))).slice(0, -1);
    const flaws = Array.from(
      { length: 23 },
      (_, index) => ({ path: `f${index}`, detail: "It is" }),
    );
    const archive = await pack(entries.with(-1, file("flaws.json", JSON.stringify(flaws))));
    await Deno.writeFile(`${path}/flawed`, archive);
    const { printed } = await run(["restore", `${path}/flawed`, "--data", `${path}/fourth`]);
    assertEquals(printed.match(/^Flaw in the backup: "f\d+": It is$/gm)?.length, 20);
    assertStringIncludes(printed, "\nand 3 more; --json lists all of them\n");
  });
  await t.step(
    "takes standard input, prints JSON, and tells that the key is not there",
    async () => {
      const target = `${path}/keyless`;
      await backUp({ data: prepared.data, target, ...OPTIONS, withoutKey: true });
      const line = `${HOOKLAUNCH_LINE} restore - --json --data "$0-data" < "$0"`;
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: ["-c", line, target],
      }).output();
      const said = JSON.parse(new TextDecoder().decode(stdout));
      assertEquals([said.data, said.header.has_key], [`${target}-data`, false]);
      assertEquals(said.interrupted.length, 2);
      assertStringIncludes(new TextDecoder().decode(stderr), "set HOOKLAUNCH_SECRET_KEY");
    },
  );
  await t.step("says that there is no such file", async () => {
    const { code, printed } = await run(["restore", `${path}/none`, "--data", `${path}/new`]);
    assertEquals(code, 1);
    assertMatch(printed, /^hooklaunch: Cannot accept the backup: Cannot read /m);
  });
});

Deno.test("an execution that ran when the backup was made ends when the service starts", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ actions: [{ type: "run_execution", step: "slow" }] });
  const answer = await fetch(url, { method: "POST", body: "x" });
  await answer.body?.cancel();
  let id = "";
  while (id === "") {
    const { body } = await service.api("GET", "executions/?status=started");
    id = body.results[0]?.id ?? "";
  }
  const [data, target] = [`${service.folder}/data`, `${service.folder}/backup`];
  await backUp({ data, target, ...OPTIONS });
  // While the command still runs on this machine: nobody may take it for the restored one.
  const source = (await Deno.open(target)).readable;
  const restored = await restore({ data: `${service.folder}/restored`, source, ...OPTIONS });
  assertEquals(restored.interrupted, [id]);
  const other = await Service.start(
    { ...service.service.parts.settings, port: 0, data: `${service.folder}/restored` },
    { clock: systemClock, env: () => undefined },
  );
  try {
    const ended = await eventually(async () => {
      const execution = await getExecution(other.parts.store, id);
      return execution?.status === "started" ? undefined : execution;
    });
    assertEquals(ended.status, "error");
  } finally {
    await other.close();
  }
  const { body: here } = await service.api("GET", `executions/${id}/`);
  assertEquals(here.status, "started", "the one that it is a copy of goes on");
  await service.api("POST", `executions/${id}/stop/`);
  await endOfExecution(service, id);
});
