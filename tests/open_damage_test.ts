/**
 * Damaged records of what has not ended: the service starts, cleans up and does everything else as
 * before.
 */
import { assertEquals } from "@std/assert";
import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newId } from "../src/platform/ids.ts";
import { DATABASE_FILE } from "../src/store/file/database_file.ts";
import { keys } from "../src/store/keys.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "./data.ts";
import { collectLog } from "./log_records.ts";
import { damageMarked, storedUnder, TO_DAMAGE } from "./store/fixture.ts";

const ID = "01900000-0000-7000-8000-00000000000f";

const pipeline = { id: ID, run_id: ID, project: "files", status: "started", nodes: [] };

const damages: { kind: string; open: Deno.KvKey; beside?: [Deno.KvKey, unknown] }[] = [
  { kind: "execution", open: ["execution_open", ID] },
  { kind: "pipeline", open: ["pipeline_open", ID] },
  { kind: "pipeline_plan", open: ["pipeline_open", ID], beside: [["pipeline", ID], pipeline] },
];

/** Overwrites the bytes of the value whose key begins with some texts, as a disk that lies would. */
function makeUndecodable({ folder }: TestService, ...key: string[]): void {
  const database = new DatabaseSync(join(folder, "data", DATABASE_FILE), { timeout: 10_000 });
  const parts = key.map((part) => `02${new TextEncoder().encode(part).toHex().toUpperCase()}00`);
  const { changes } = database.prepare(
    "update kv set v = x'ff0fdeadbeef' where hex(k) like ? || '%'",
  ).run(parts.join(""));
  assertEquals(Number(changes), 1);
  database.close();
}

async function assertWorks(service: TestService): Promise<void> {
  await service.service.cleanUp();
  const { url } = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const answer = await fetch(url, { method: "POST", body: "some" });
  const { status, actions: [action] } = await endOfRun(service, await answer.text());
  assertEquals(status, "completed");
  const execution = await endOfExecution(service, action.created.execution_id);
  assertEquals(execution.status, "complete");
}

for (const { kind, open, beside } of damages) {
  for (const isDecodable of [true, false]) {
    const what = isDecodable ? "a value that it cannot be" : "bytes that are no value";
    Deno.test(`nothing else is kept from being done by a ${kind} that is open and ${what}`, async () => {
      await using service = await startService();
      const { kv } = service.service.parts.store;
      await kv.set([kind, ID, ...kind === "pipeline_plan" ? [0] : []], "garbage");
      await kv.set(open, kind === "execution" ? "started" : true);
      if (beside) await kv.set(...beside);
      if (!isDecodable) makeUndecodable(service, kind);
      await assertWorks(service);
      await service.restart();
      await assertWorks(service);
    });
  }
}

/** Records that may be damaged, and the page of the API that reads each. */
const lists: {
  kind: string;
  rest(of: { triggerId: string; runId: string }): Deno.KvKey;
  page?: string;
}[] = [
  {
    kind: "trigger_run",
    rest: ({ triggerId, runId }) => [triggerId, runId],
    page: "triggers/T/runs/",
  },
  { kind: "replay_of", rest: ({ runId }) => [runId, ID], page: "deliveries/R/" },
  {
    kind: "sent_id",
    rest: ({ runId }) => [hash("sha256", "sent"), runId],
    page: "deliveries/?delivery_id=sent",
  },
  { kind: "trigger_log", rest: ({ triggerId }) => [triggerId, ID], page: "retention/" },
  { kind: "rate", rest: ({ triggerId }) => [triggerId, 60] },
  { kind: "delivery_count", rest: ({ triggerId }) => ["2020-01-01", triggerId, ""] },
  { kind: "upload", rest: () => [ID] },
  { kind: "notifier_silences", rest: () => ["ops", 0] },
];

for (const { kind, rest, page } of lists) {
  Deno.test(`a ${kind} that is no value keeps no list, cleanup and notifier from the others`, async () => {
    await using logs = await collectLog("error");
    await using service = await startService();
    const { parts } = service.service;
    const to = { type: "webhook", url: "https://example.com/" };
    const notifier = { name: "ops", on: ["silent"], silent: "1h", to };
    assertEquals((await service.api("PUT", "notifiers/ops/", notifier)).status, 201);
    const { id: triggerId, url } = await service.trigger({
      response: { type: "text", text: "{run_id}" },
    });
    const runId = await (await fetch(url, { method: "POST", body: "some" })).text();
    await endOfRun(service, runId);
    const key = [kind, ...rest({ triggerId, runId })];
    await parts.store.kv.set(key, true);
    makeUndecodable(service, ...key.filter((part) => typeof part === "string"));
    if (page !== undefined) {
      const path = page.replace("T", triggerId).replace("R", runId);
      assertEquals((await service.api("GET", path)).status, 200);
    }
    await service.service.cleanUp();
    await parts.notifications.look();
    assertEquals(logs.lines().filter((line) => !line.endsWith(" is damaged")), []);
  });
}

Deno.test("cleanup removes what deleted triggers have left, also where a record of it is no value", async () => {
  await using logs = await collectLog("error");
  await using service = await startService();
  const { store } = service.service.parts;
  const kinds = ["rate", "delivery", "dismissal"];
  const ids: string[] = [];
  for (const damaged of kinds) {
    const { id } = await service.trigger();
    ids.push(id);
    assertEquals((await service.api("DELETE", `triggers/${id}/`)).status, 204);
    for (const kind of kinds) {
      for (const part of kind === "rate" ? [60, 3_600] : ["a", "b"]) {
        const isDamaged = kind === damaged && part !== "b" && part !== 3_600;
        await store.kv.set([kind, id, part], isDamaged ? TO_DAMAGE : true);
      }
    }
  }
  assertEquals(damageMarked(join(service.folder, "data", DATABASE_FILE)), kinds.length);
  const { leftovers } = await service.service.cleanUp();
  assertEquals(leftovers, ids.length * kinds.length * 2);
  for (const kind of kinds) assertEquals(await storedUnder(store, kind), []);
  assertEquals(logs.lines(), []);
});

Deno.test("cleanup removes abandoned uploads, also where a chunk of one is no value", async () => {
  await using logs = await collectLog("error");
  await using service = await startService();
  const { store } = service.service.parts;
  const ids = [newId(1), newId(2)];
  for (const id of ids) {
    await store.kv.set(keys.upload(id), true);
    for (const index of [0, 1, 2]) {
      await store.kv.set(keys.payload(id, index), index === 1 ? TO_DAMAGE : new Uint8Array(3));
    }
  }
  assertEquals(damageMarked(join(service.folder, "data", DATABASE_FILE)), ids.length);
  assertEquals((await service.service.cleanUp()).uploads, ids.length);
  for (const kind of ["upload", "payload"]) assertEquals(await storedUnder(store, kind), []);
  assertEquals(logs.lines(), []);
});

Deno.test("a notifier is deleted with all that it has told of, also where a record of it is no value", async () => {
  await using service = await startService();
  const { store } = service.service.parts;
  const to = { type: "webhook", url: "https://example.com/" };
  const notifier = { name: "ops", on: ["silent"], silent: "1h", to };
  assertEquals((await service.api("PUT", "notifiers/ops/", notifier)).status, 201);
  await store.kv.set(keys.toldCause("ops", "a"), TO_DAMAGE);
  await store.kv.set(keys.toldCause("ops", "b"), true);
  assertEquals(damageMarked(join(service.folder, "data", DATABASE_FILE)), 1);
  assertEquals((await service.api("DELETE", "notifiers/ops/")).status, 204);
  assertEquals(await storedUnder(store, "told_cause"), []);
});
