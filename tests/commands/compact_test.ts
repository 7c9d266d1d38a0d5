/**
 * What retention has removed: it stands in the database's free pages, it is in no backup, and `compact`
 * takes it away.
 */
import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "../data.ts";
import { TestClock } from "../surroundings.ts";
import { runHosted as run } from "./hosted.ts";

const DAY_MS = 24 * 60 * 60_000;
const REMOVED = "a-payload-that-was-removed";
const KEPT = "a-payload-that-is-kept";

/** Whether a text stands in the files of a database. */
async function isInFiles(data: string, text: string): Promise<boolean> {
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
    const bytes = await Deno.readFile(join(data, name)).catch(() => new Uint8Array());
    if (new TextDecoder("latin1").decode(bytes).includes(text)) return true;
  }
  return false;
}

async function launch(service: TestService, url: string, body: string): Promise<string> {
  const runId = await (await fetch(url, { method: "POST", body })).text();
  const { actions: [action] } = await endOfRun(service, runId);
  await endOfExecution(service, action.created.execution_id);
  return runId;
}

/** A service whose retention has removed payloads of all sizes. */
async function serviceWithRemoved() {
  const clock = new TestClock(Date.now());
  const service = await startService({ clock });
  const { url } = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  for (const size of [1, 1_000, 10_000]) await launch(service, url, REMOVED.repeat(size));
  clock.time_ms += 31 * DAY_MS;
  const kept = await launch(service, url, KEPT);
  const { runs } = await service.service.cleanUp();
  assertEquals(runs, 3);
  return { service, url, kept };
}

Deno.test("a backup holds nothing that was removed", async () => {
  const { service, kept } = await serviceWithRemoved();
  await using _service = service;
  const data = join(service.folder, "data");
  assert(await isInFiles(data, REMOVED));
  const backup = join(service.folder, "backup.tar.gz");
  const { code, printed } = await run(["backup", backup, "--data", data]);
  assertEquals(code, 0, printed);
  const bytes = await new Response(
    (await Deno.open(backup)).readable.pipeThrough(new DecompressionStream("gzip")),
  ).bytes();
  const text = new TextDecoder("latin1").decode(bytes);
  assert(text.includes(kept) && text.includes(KEPT));
  assert(!text.includes(REMOVED));
});

Deno.test("compact takes away what was removed, and keeps everything else", async () => {
  const { service, url, kept } = await serviceWithRemoved();
  await using _service = service;
  const data = join(service.folder, "data");
  const args = ["compact", "--data", data];
  const refused = await run(args);
  assertEquals(refused.code, 1);
  // `--wait` is a flag of `serve` alone.
  assertMatch(
    refused.printed,
    /another Hooklaunch process is using it\. Stop that one, or name another folder with --data\n$/,
  );
  await service.service.close();
  assert(await isInFiles(data, REMOVED));
  const { size } = await Deno.stat(join(data, DATABASE_FILE));
  const { code, printed } = await run(args);
  assertEquals(code, 0, printed);
  assertMatch(printed, /^Compacted the database of .*: [\d.]+ [KM]iB before, [\d.]+ [KM]iB now\n$/);
  const after = await Deno.stat(join(data, DATABASE_FILE));
  assertLess(after.size, size / 2);
  assertEquals((after.mode ?? 0) & 0o777, 0o600);
  assert(!await isInFiles(data, REMOVED));
  const names = await Array.fromAsync(Deno.readDir(data), ({ name }) => name);
  assertEquals(names.filter((name) => name.startsWith(DATABASE_FILE)), [DATABASE_FILE]);
  await service.restart();
  const { body } = await service.api("GET", `runs/${kept}/`);
  assertEquals(body.status, "completed");
  const { pathname } = new URL(url);
  await launch(service, `${service.url}${pathname}`, "one more");
});

Deno.test("a database that is damaged is not compacted: the copy could lack records", async () => {
  const { service } = await serviceWithRemoved();
  await using _service = service;
  await service.service.close();
  const data = join(service.folder, "data");
  const path = join(data, DATABASE_FILE);
  const bytes = await Deno.readFile(path);
  const at = new TextDecoder("latin1").decode(bytes).indexOf(`${KEPT}`);
  const page = at - at % 16_384;
  const damaged = bytes.slice().fill(0, page, page + 16_384);
  await Deno.writeFile(path, damaged);
  const { code, printed } = await run(["compact", "--data", data]);
  assertEquals(code, 1);
  assertMatch(printed, /it is damaged: .*restore/s);
  assertEquals(await Deno.readFile(path), damaged);
  await Deno.writeFile(path, bytes);
});

Deno.test("a compaction that was cut off leaves the database as it is, and the next one ends", async () => {
  await using service = await startService();
  await service.service.close();
  const data = join(service.folder, "data");
  await Deno.writeTextFile(join(data, `${DATABASE_FILE}.compact`), "half of it");
  await service.restart();
  await service.service.close();
  const { code, printed } = await run(["compact", "--data", data, "--json"]);
  assertEquals(code, 0, printed);
  const { before_bytes, after_bytes } = JSON.parse(printed);
  assert(before_bytes > 0 && after_bytes > 0);
  const names = await Array.fromAsync(Deno.readDir(data), ({ name }) => name);
  assert(!names.includes(`${DATABASE_FILE}.compact`));
});

Deno.test("a folder without a database has nothing to compact", async () => {
  const folder = await Deno.makeTempDir();
  const { code, printed } = await run(["compact", "--data", folder]);
  assertEquals(code, 1);
  assertMatch(printed, /there is no hooklaunch\.kv in it/);
  await Deno.remove(folder, { recursive: true });
});
