/**
 * The floor of storing: bare atomic operations of Deno KV that hold the records of so many launches
 * each, one after the other, and nothing else.
 *
 * Arguments: the folder of the database, launches a commit, payload bytes, milliseconds. Prints
 * launches a second.
 *
 * @module
 */
import { join } from "node:path";
import { newId } from "../../src/ids.ts";
import { keys } from "../../src/store/keys.ts";
import { acceptWrites, type Run } from "../../src/store/runs.ts";

const [folder = "", batch = "32", payload_bytes = "1024", duration_ms = "3000"] = Deno.args;
const kv = await Deno.openKv(join(folder, "floor.kv"));
const body = crypto.getRandomValues(new Uint8Array(Number(payload_bytes)));
const triggerId = newId(Date.now());
const window = { period: 60, total: 1, slots: [[1, 1]] };
let launches = 0;
const end_ms = performance.now() + Number(duration_ms);
while (performance.now() < end_ms) {
  const operation = kv.atomic().set(keys.rate(triggerId, 60), window);
  for (let count = 0; count < Number(batch); count++) {
    const actions = [{ type: "run_execution", step: "noop" }];
    const pending = { run: run(), actions, worker: triggerId };
    for (const { key, value } of acceptWrites(pending, body)) operation.set(key, value);
  }
  await operation.commit();
  launches += Number(batch);
}
kv.close();
console.log(launches / (Number(duration_ms) / 1_000));

function run(): Run {
  const now_ms = Date.now();
  return {
    id: newId(now_ms),
    trigger_id: triggerId,
    project: "bench",
    status: "pending",
    created_at: new Date(now_ms).toISOString(),
    remote_ip: "127.0.0.1",
    payload: { size: body.length, sha256: "0".repeat(64), content_type: "application/json" },
    actions: [],
  };
}
