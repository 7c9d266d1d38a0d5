/** Data folders of every format, opened and run with this version; a newer one is refused. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { run } from "../commands/process.ts";
import { ADMIN_TOKEN as TOKEN, startOn } from "../data.ts";
import { Findings } from "../faults/findings.ts";
import { operatorOf, serve, type Served as ServedProcess, shell } from "../faults/served.ts";
import { checkStored } from "../faults/stored.ts";
import { collectLog } from "../log_records.ts";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import { storedFormat } from "../../src/store/file/stored_format.ts";
import { openStore } from "../../src/store/open_store.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";

const GOLDEN = new URL("./golden/", import.meta.url).pathname;
const SECRET = { "x-token": "a-secret-of-the-golden-folders" };
/** What `copies` was launched with, in this order. */
const BODIES = ['{"size":"small"}', "b".repeat(20_000), "c".repeat(200_000)];
const PROJECT_FILE = `
- step:
    name: copy
    image: debian
    command: cp "$VH_INPUTS_DIR"/body/* "$VH_OUTPUTS_DIR/copied"
    inputs: [{ name: body }]
`;

/** What is asked of a service: as a process of its own, or in that of the tests, where it starts sooner. */
type Served = Pick<ServedProcess, "url" | "api" | "all">;

/** A service on an unpacked folder, in this process. */
interface Hosted extends Served, AsyncDisposable {
  close(): Promise<void>;
}

async function host(folder: string): Promise<Hosted> {
  const service = await startOn(`${folder}/data`, { settings: { retention_days: 3_650 } });
  const close = () => service.close(10_000);
  return { url: service.url, ...operatorOf(service.url), close, [Symbol.asyncDispose]: close };
}

/** Unpacks a golden folder, with a configuration of nothing beside it. */
async function unpack(format: number) {
  const folder = await temporaryFolder();
  const { path } = folder;
  await shell(`cd '${path}' && tar -xzf '${GOLDEN}/format_${format}.tar.gz' --no-same-owner`);
  await Deno.rename(`${path}/format_${format}`, `${path}/data`);
  await Deno.writeTextFile(`${path}/hooklaunch.yaml`, "projects: []\ntriggers: []\n");
  await Deno.mkdir(`${path}/project`);
  await Deno.writeTextFile(`${path}/project/valohai.yaml`, PROJECT_FILE);
  return folder;
}

function request(served: Served, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  return fetch(`${served.url}/api/v0/${path}`, { headers, ...init });
}

async function triggerIds(served: Served): Promise<Record<string, string>> {
  const triggers: { id: string; name: string }[] = await served.all("triggers/");
  return Object.fromEntries(triggers.map(({ id, name }) => [name, id]));
}

/** Waits until all that was pending, queued or under way has ended. */
async function untilAllEnded(served: Served): Promise<void> {
  const ids = Object.values(await triggerIds(served));
  await eventually(async () => {
    const lists = await Promise.all(ids.map((id) => served.all(`triggers/${id}/runs/`)));
    const executions = await served.all("executions/");
    return lists.flat().every(({ status }) => status !== "pending") &&
        executions.every(({ ended_at }) => ended_at !== undefined) || undefined;
  }, { what: "the end of everything" });
}

async function outputOf(served: Served, executionId: string): Promise<string> {
  return await (await request(served, `executions/${executionId}/outputs/copied`)).text();
}

/** Checks what the old version had done. */
async function assertKept(served: Served, copies: string): Promise<void> {
  const runs = (await served.all(`triggers/${copies}/runs/`)).reverse();
  assertEquals(runs.length, BODIES.length);
  for (const [index, run] of runs.entries()) {
    const body = BODIES[index];
    assertEquals(run.status, "completed");
    assertEquals(await (await request(served, `runs/${run.id}/payload/`)).text(), body);
    const { execution_id } = run.actions[0].created;
    const execution = await served.api(`executions/${execution_id}/`);
    assertEquals([execution.status, execution.engine.type], ["complete", "local"]);
    assertEquals(await outputOf(served, execution_id), body);
    const log = await (await request(served, `executions/${execution_id}/log/`)).text();
    assertMatch(log, /done/);
  }
  const { results: [refused] } = await served.api(`triggers/${copies}/log/`);
  assertEquals([refused.kind, refused.condition], ["refused", "static_token"]);
  const listed = await served.all("deliveries/?trigger=copies&outcome=refused");
  assertEquals(listed.map(({ id, trigger_id }) => [id, trigger_id]), [[refused.id, copies]]);
}

/** Launches with what the old version has stored: a secret, a project, a window. */
async function assertLaunches(served: Served, folder: string, copies: string): Promise<void> {
  const project = { name: "golden", directory: `${folder}/project` };
  const body = JSON.stringify(project);
  const put = await request(served, "projects/golden/", { method: "PUT", body });
  assertEquals(put.status, 200, await put.text());
  const url = `${served.url}/api/v0/launch/${copies}/`;
  const headers = { ...SECRET, "x-id": "new" };
  const answer = await fetch(url, { method: "POST", body: "new", headers });
  const runId = await answer.text();
  assertEquals(answer.status, 200, runId);
  await untilAllEnded(served);
  const run = await served.api(`runs/${runId}/`);
  assertEquals(await outputOf(served, run.actions[0].created.execution_id), "new");
  const wrong = await fetch(url, { method: "POST", body: "new" });
  await wrong.body?.cancel();
  assertEquals(wrong.status, 400);
}

/** Checks what a folder of a format has become under a service. */
async function assertBrought(served: Served, folder: string, format: number): Promise<void> {
  await untilAllEnded(served);
  const { copies = "", waits = "" } = await triggerIds(served);
  await assertKept(served, copies);
  const executions = await served.all("executions/");
  const [queued, running] = executions.filter(({ trigger_id }) => trigger_id === waits);
  // Format 1 named snapshots by another hash, and what cannot be verified is not run.
  if (format === 1) assertMatch(queued.reason, /the snapshot is not kept any more/);
  else assertEquals(queued.status, "complete");
  // Its process has ended with its service, or went on to its end.
  assert(["error", "complete"].includes(running.status));
  const pipelines = await served.all("pipelines/");
  assertEquals(pipelines.map(({ status }) => status), format === 1 ? [] : ["complete"]);
  await assertLaunches(served, folder, copies);
}

/** Checks the database of a folder when no service has it open. */
async function assertStored(folder: string): Promise<void> {
  const findings = new Findings();
  await checkStored(`${folder}/data`, findings);
  findings.assertNone();
  using kv = await Deno.openKv(`${folder}/data/hooklaunch.kv`);
  assertEquals((await kv.get(keys.format())).value, FORMAT_VERSION);
}

Deno.test("a data folder of format 1 is brought up to date by serve, once, and goes on where it was", async () => {
  await using folder = await unpack(1);
  const flags = ["--retention-days", "3650"];
  {
    await using served = await serve(folder.path, { flags });
    assertMatch(served.printed(), new RegExp(`brought from format 1 to ${FORMAT_VERSION}`));
    await assertBrought(served, folder.path, 1);
    served.signal("SIGTERM");
    assertEquals((await served.end()).code, 0);
  }
  await assertStored(folder.path);
  await using again = await serve(folder.path, { flags });
  assert(!again.printed().includes("is brought from format"));
});

for (let format = 2; format <= FORMAT_VERSION; format++) {
  Deno.test(`a data folder of format ${format} is brought up to date, and goes on where it was`, async () => {
    await using folder = await unpack(format);
    {
      await using log = await collectLog("info");
      await using served = await host(folder.path);
      const isOld = new RegExp(`brought from format ${format} to ${FORMAT_VERSION}`);
      assertEquals(isOld.test(log.lines().join("\n")), format < FORMAT_VERSION);
      await assertBrought(served, folder.path, format);
      await served.close();
    }
    await assertStored(folder.path);
  });
}

Deno.test("a data folder of a newer format is refused, and left as it is", async () => {
  await using folder = await unpack(FORMAT_VERSION);
  {
    await using store = await openStore(`${folder.path}/data`);
    await store.kv.set(keys.format(), FORMAT_VERSION + 1);
  }
  const database = `${folder.path}/data/hooklaunch.kv`;
  const before = await Deno.readFile(database);
  const error = await assertRejects(() => serve(folder.path), Error);
  assertMatch(
    error.message,
    new RegExp(
      `its format is ${FORMAT_VERSION + 1}, and this version reads format ${FORMAT_VERSION}; ` +
        "a newer version of Hooklaunch has written it. Start that version, or restore a backup",
    ),
  );
  assertEquals(await Deno.readFile(database), before);
  assertEquals(await storedFormat(`${folder.path}/data`), FORMAT_VERSION + 1);
});

Deno.test("hooklaunch version says whether the next start changes the format", async () => {
  await using folder = await unpack(1);
  const data = `${folder.path}/data`;
  const { code, printed } = await run(["version", "--data", data, "--json"]);
  assertEquals(code, 0, printed);
  const { data_format, database_format, pending } = JSON.parse(printed);
  assertEquals([data_format, database_format, pending], [1, FORMAT_VERSION, true]);
  const missing = await run(["version", "--data", `${folder.path}/project`]);
  assertEquals(missing.code, 1);
  assertStringIncludes(missing.printed, "no database is there");
});
