/**
 * Damaged records of what has not ended: the service starts, cleans up and does everything else as
 * before.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../src/store/file/database_file.ts";
import { endOfExecution, endOfRun, startService, type TestService } from "./data.ts";

const ID = "01900000-0000-7000-8000-00000000000f";

const pipeline = { id: ID, run_id: ID, project: "files", status: "started", nodes: [] };

const damages: { kind: string; open: Deno.KvKey; beside?: [Deno.KvKey, unknown] }[] = [
  { kind: "execution", open: ["execution_open", ID] },
  { kind: "pipeline", open: ["pipeline_open", ID] },
  { kind: "pipeline_plan", open: ["pipeline_open", ID], beside: [["pipeline", ID], pipeline] },
];

/** Overwrites the bytes of all values of a kind, as a disk that lies would. */
function makeUndecodable({ folder }: TestService, kind: string): void {
  const database = new DatabaseSync(join(folder, "data", DATABASE_FILE), { timeout: 10_000 });
  const hex = new TextEncoder().encode(kind).toHex().toUpperCase();
  const { changes } = database.prepare(
    "update kv set v = x'ff0fdeadbeef' where hex(k) like ? || '%'",
  ).run(`02${hex}00`);
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
