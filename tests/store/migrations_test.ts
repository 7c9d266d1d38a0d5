/**
 * What an earlier version has stored is brought up to the present format: all of it, at whatever moment it
 * was cut off before, and nothing else is changed. The folders of earlier formats are written here by hand.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { derivedId, newId } from "../../src/platform/ids.ts";
import { fill } from "../../src/conditions/values/fill.ts";
import { Committer } from "../../src/store/commit/committer.ts";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import { migrate, MIGRATIONS } from "../../src/store/migrations.ts";
import { getStoredTrigger } from "../../src/store/records/triggers.ts";
import { readPayload } from "../../src/store/records/payloads.ts";
import { listTriggerRuns } from "../../src/store/records/run_lists.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { openStore } from "../../src/store/open_store.ts";
import { pendingOf, startDesk, TRIGGER_ID } from "../runs/fixture.ts";
import { CONFIG_FLAGS, eventually, temporaryFolder } from "../surroundings.ts";
import { storedUnder, watchedKv } from "./fixture.ts";

const DOCKER = { type: "local", runner: "docker" };
/** The engine that executions of each project must have in the end; nobody knows `gone` any more. */
const ENGINES: Record<string, unknown> = {
  files: { type: "local" },
  boxes: DOCKER,
  gone: { type: "local" },
};

/** An execution as format 1 has it. */
function executionOf1(project: string, place: number, padding = "") {
  const run_id = newId(Date.UTC(2026, 0, 1) + place);
  return {
    id: derivedId(run_id, "0", "execution"),
    run_id,
    trigger_id: newId(0),
    project,
    commit: `~${"0".repeat(64)}`,
    step: "copy",
    title: "copy",
    image: "debian",
    command: `true ${padding}`,
    inputs: {},
    parameters: {},
    environment_variables: {},
    status: place % 3 === 0 ? "queued" : "complete",
    created_at: "2026-01-01T00:00:00.000Z",
    metadata: { place },
    outputs: [],
  };
}

type ExecutionOf1 = ReturnType<typeof executionOf1>;

/** Writes a folder of format 1, and answers its executions. */
async function writeFormat1(folder: string, count: number, padding = ""): Promise<ExecutionOf1[]> {
  using kv = await Deno.openKv(join(folder, DATABASE_FILE));
  await kv.set(keys.format(), 1);
  const config_file = "valohai.yaml";
  await kv.set(keys.project("files"), {
    name: "files",
    directory: "/files",
    config_file,
    engine: ENGINES.files,
  });
  await kv.set(keys.project("boxes"), {
    name: "boxes",
    directory: "/boxes",
    config_file,
    engine: DOCKER,
  });
  await kv.set(keys.run("some"), { id: "some", status: "completed" });
  const names = Object.keys(ENGINES);
  const executions = Array.from(
    { length: count },
    (_, place) => executionOf1(names[place % names.length] ?? "", place, padding),
  );
  for (let start = 0; start < count; start += 10) {
    const operation = kv.atomic();
    for (const execution of executions.slice(start, start + 10)) {
      operation.set(keys.execution(execution.id), execution);
    }
    await operation.commit();
  }
  return executions;
}

async function assertMigrated(folder: string, executions: readonly ExecutionOf1[]): Promise<void> {
  await using store = await openStore(folder);
  assertEquals((await store.kv.get(keys.format())).value, FORMAT_VERSION);
  assertEquals((await store.kv.get(keys.run("some"))).value, { id: "some", status: "completed" });
  const stored = await Array.fromAsync(store.kv.list({ prefix: ["execution"] }));
  assertEquals(stored.length, executions.length);
  for (const [place, { value }] of stored.entries()) {
    const execution = executions[place];
    assert(execution);
    assertEquals(value, { ...execution, engine: ENGINES[execution.project] });
  }
}

Deno.test("there is a step from each format to the next", () => {
  assertEquals(
    MIGRATIONS.map(({ from }) => from),
    Array.from({ length: FORMAT_VERSION - 1 }, (_, index) => index + 1),
  );
});

Deno.test("format 1: each execution gets the engine of its project, and nothing else changes", async () => {
  await using folder = await temporaryFolder();
  const executions = await writeFormat1(folder.path, 1_000);
  await assertMigrated(folder.path, executions);
});

Deno.test("format 1: large records fit into the commits", async () => {
  await using folder = await temporaryFolder();
  const executions = await writeFormat1(folder.path, 60, "x".repeat(55 * 1024));
  await assertMigrated(folder.path, executions);
});

Deno.test("format 1: an engine that is there already stays", async () => {
  await using folder = await temporaryFolder();
  const [execution] = await writeFormat1(folder.path, 1);
  assert(execution);
  const stored = { ...execution, engine: DOCKER };
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.execution(execution.id), stored);
  }
  await using store = await openStore(folder.path);
  assertEquals((await store.kv.get<unknown>(keys.execution(execution.id))).value, stored);
});

Deno.test("format 2: payloads and pending runs stay as they are, and are read and performed", async () => {
  await using folder = await temporaryFolder();
  const [ended, pending] = [pendingOf().run, pendingOf().run];
  const body = new TextEncoder().encode("hello");
  const payload = { size: body.length, sha256: createHash("sha256").update(body).digest("hex") };
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.format(), 2);
    for (const { id } of [ended, pending]) {
      await kv.set(keys.triggerRun(TRIGGER_ID, id), true);
      await kv.set(keys.payload(id, 0), body);
    }
    await kv.set(keys.run(ended.id), { ...ended, payload, status: "completed" });
    await kv.set(["pending", pending.id], { ...pendingOf(), run: { ...pending, payload } });
  }
  await using store = await openStore(folder.path);
  await using desk = await startDesk(store, { perform: () => Promise.resolve([]) });
  assert(await desk.worker.ended(pending.id, AbortSignal.timeout(5_000)));
  const { records: runs } = await listTriggerRuns(store, TRIGGER_ID, { limit: 10 });
  assertEquals(runs.map(({ status }) => status), ["completed", "completed"]);
  for (const { id } of runs) {
    const chunks = await Array.fromAsync(readPayload(store, id, payload.size, payload.sha256));
    assertEquals(chunks, [body]);
  }
  assertEquals((await store.kv.get(keys.format())).value, FORMAT_VERSION);
});

Deno.test("format 3: pending runs are listed once, and one whose record is damaged ends", async () => {
  await using folder = await temporaryFolder();
  const [damaged, ...whole] = Array.from({ length: 450 }, (_, at) => pendingOf({ time_ms: at }));
  assert(damaged);
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.format(), 3);
    for (const pending of whole) await kv.set(["pending", pending.run.id], pending);
    await kv.set(["pending", damaged.run.id], { run: "gone" });
    for (const { run } of [damaged, ...whole]) {
      await kv.set(keys.triggerRun(TRIGGER_ID, run.id), new Uint8Array());
    }
  }
  const ids = whole.map(({ run }) => run.id).reverse();
  {
    await using store = await openStore(folder.path);
    await using desk = await startDesk(store);
    assertEquals(desk.worker.backlog, 450);
    const pending = desk.worker.pendingOf(TRIGGER_ID);
    const { records: runs } = await listTriggerRuns(store, TRIGGER_ID, { pending, limit: 1_000 });
    assertEquals(runs.map(({ id }) => id).slice(0, 449), ids);
  }
  await using store = await openStore(folder.path);
  await using desk = await startDesk(store, { perform: () => Promise.resolve([]) });
  await eventually(() => Promise.resolve(desk.worker.backlog === 0 ? true : undefined));
  const { records: runs } = await listTriggerRuns(store, TRIGGER_ID, { limit: 1_000 });
  assertEquals(runs.map(({ id }) => id), [...ids, damaged.run.id]);
  assertEquals(new Set(runs.slice(0, 449).map(({ status }) => status)), new Set(["completed"]));
  assertEquals(runs[449]?.status, "error");
  assertEquals(await storedUnder(store, "pending"), []);
});

Deno.test("format 4: refused requests and counts are listed over all triggers, failed actions are not", async () => {
  await using folder = await temporaryFolder();
  const time = "2026-01-01T00:00:00.000Z";
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  const refused = { time, kind: "refused", condition: "hmac", reason: "No header", request };
  const entries = [
    { ...refused, id: newId(1) },
    {
      time,
      kind: "action_failed",
      run_id: "r",
      action: "a",
      action_index: 0,
      error: "e",
      id: newId(2),
    },
    { time, kind: "omitted", count: 7, id: newId(3) },
  ];
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.format(), 4);
    for (const entry of entries) await kv.set(keys.triggerLog("t", entry.id), entry);
    await kv.set(keys.triggerLog("t", newId(4)), "damaged");
  }
  await using store = await openStore(folder.path);
  const listed = await Array.fromAsync(store.kv.list({ prefix: ["delivery_entry"] }));
  assertEquals(listed.map(({ key, value }) => [key[1], value]), [
    [entries[0]?.id, { trigger_id: "t", outcome: "refused", condition: "hmac" }],
    [entries[2]?.id, { trigger_id: "t", deliveries: { refused: 7 } }],
  ]);
});

Deno.test("format 5: braces in parameters of actions stay text, however often the step begins", async () => {
  await using folder = await temporaryFolder();
  const texts = ["{a}", "{{b", "{ c }", "{1}", "plain", ["{d}"]];
  const actions = [{ type: "run_execution", step: "s", parameters: { texts } }, { type: "fetch" }];
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.format(), 5);
    const response = { type: "json", json: { run: "{run_id}", like: "{run} {{run_id}" } };
    const settings = { name: "old", actions, response };
    await kv.set(keys.trigger(TRIGGER_ID), { id: TRIGGER_ID, name: "old", settings });
    await kv.set(keys.pending(newId(0), TRIGGER_ID), { run: { trigger_id: TRIGGER_ID }, actions });
  }
  for (const _ of ["first", "again"]) {
    await using store = await openStore(folder.path);
    for (const prefix of ["trigger", "pending"]) {
      const [record] = await Array.fromAsync(
        store.kv.list<{ actions?: unknown; settings?: { actions: unknown } }>({ prefix: [prefix] }),
      );
      const { actions: own, settings } = record?.value ?? {};
      const kept = (settings?.actions ?? own) as typeof actions | undefined;
      assertEquals(kept?.[0]?.parameters?.texts, [
        "{{a}",
        "{{{{b",
        "{ c }",
        "{1}",
        "plain",
        ["{{d}"],
      ]);
      const read = (text: unknown): unknown => fill(text, []).value;
      assertEquals(read(kept?.[0]?.parameters?.texts), texts);
      assertEquals(kept?.[1], { type: "fetch" });
    }
    const trigger = await getStoredTrigger(store, TRIGGER_ID);
    const json = { run: "{run_id}", like: "{{run} {{{run_id}" };
    assertEquals(Object(trigger?.settings).response, { type: "json", json });
    // As if the step had been cut off before its end.
    await store.kv.set(keys.format(), 5);
  }
});

Deno.test("format 5: a trigger that braces would make too long stays as it is, and keeps no other from its own", async () => {
  await using folder = await temporaryFolder();
  const longId = newId(0);
  const responses = new Map([[longId, "{a".repeat(29_000)], [TRIGGER_ID, "{a"]]);
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    await kv.set(keys.format(), 5);
    // A pending run may hold its payload.
    const run = { trigger_id: TRIGGER_ID };
    const actions = [{ type: "run_execution", step: "s", parameters: { text: "{a" } }];
    const body = new Uint8Array(50_000);
    await kv.set(keys.pending(longId, TRIGGER_ID), { run, actions, body });
    for (const [id, text] of responses) {
      const settings = { name: id, actions: [], response: { type: "text", text } };
      await kv.set(keys.trigger(id), { id, name: id, settings });
    }
  }
  await using store = await openStore(folder.path);
  const textOf = async (id: string) =>
    Object(Object((await getStoredTrigger(store, id))?.settings).response).text;
  assertEquals(await textOf(longId), responses.get(longId));
  assertEquals(await textOf(TRIGGER_ID), "{{a");
  const { value } = await store.kv.get(keys.pending(longId, TRIGGER_ID));
  assertEquals(Object(value).actions[0].parameters, { text: "{{a" });
});

Deno.test("a migration that is cut off at any commit is gone on with at the next start", async () => {
  await using folder = await temporaryFolder();
  const executions = await writeFormat1(folder.path, 700);
  const path = join(folder.path, DATABASE_FILE);
  let seen = 0;
  for (let cuts = 0;; cuts++) {
    let commits = 0;
    using inner = await Deno.openKv(path);
    const kv = watchedKv(inner, ({ keys: [key] }, store) => {
      // The number of the format comes last, and is not what is looked at here.
      if (key?.[0] === "meta" || commits++ < 1) return store();
      throw new Error("the power is gone");
    });
    assertEquals((await inner.get(keys.format())).value, 1);
    try {
      await migrate({ kv, committer: new Committer(kv) }, { where: folder.path, from: 1 });
      seen = cuts;
      break;
    } catch (error) {
      assert(error instanceof Error && error.message.includes("the power is gone"));
    }
  }
  assert(seen >= 3, `cut off ${seen} times`);
  await assertMigrated(folder.path, executions);
});

Deno.test("a migration that is killed is gone on with at the next start", async () => {
  await using folder = await temporaryFolder();
  const executions = await writeFormat1(folder.path, 700);
  const program = import.meta.resolve("./migrate_and_wait.ts");
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      ...CONFIG_FLAGS,
      "--unstable-kv",
      "--allow-all",
      program,
      folder.path,
      "2",
    ],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
  {
    using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
    assertEquals((await kv.get(keys.format())).value, 1);
    const stored = await Array.fromAsync(kv.list<object>({ prefix: ["execution"] }));
    const done = stored.filter(({ value }) => "engine" in value).length;
    assert(done > 0 && done < executions.length, `${done} were done when it was killed`);
  }
  await assertMigrated(folder.path, executions);
});

Deno.test("a folder of an earlier format can be opened to be read only", async () => {
  await using folder = await temporaryFolder();
  const [execution] = await writeFormat1(folder.path, 1);
  assert(execution);
  {
    await using store = await openStore(folder.path, { keepFormat: true });
    assertEquals((await store.kv.get<unknown>(keys.execution(execution.id))).value, execution);
    assertEquals((await store.kv.get(keys.format())).value, 1);
  }
  using kv = await Deno.openKv(join(folder.path, DATABASE_FILE));
  await kv.set(keys.format(), FORMAT_VERSION + 1);
  await assertRejects(
    () => openStore(folder.path, { keepFormat: true }),
    Error,
    "a newer version of Hooklaunch has written it",
  );
});
