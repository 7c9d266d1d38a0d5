/**
 * The floor of storing: bare atomic operations of Deno KV, one after the other, and nothing else.
 * Small payloads go in with the records of their launches, so many launches to a commit; of larger ones
 * only the bytes are written, in the service's chunks and as many to a commit as it holds.
 *
 * Arguments: the folder of the database, launches a commit, triggers, payload bytes, milliseconds.
 * Prints launches a second.
 *
 * @module
 */
import { hash } from "node:crypto";
import { join } from "node:path";
import { newId } from "../../src/platform/ids.ts";
import { keys } from "../../src/store/keys.ts";
import { CHUNK_BYTES, chunkCount } from "../../src/store/records/payloads.ts";
import { acceptWrites, newPending, type Run } from "../../src/store/records/runs.ts";
import { payload, triggerId } from "./requests.ts";

/** What the service puts into one commit at most. An operation of Deno KV holds 800 KiB. */
const COMMIT_BYTES_MAX = 780 * 1024;

const [folder = ""] = Deno.args;
const [batch = 32, triggers = 1, payload_bytes = 1_024, duration_ms = 3_000] = Deno.args.slice(1)
  .map(Number);
using kv = await Deno.openKv(join(folder, "floor.kv"));
const body = new TextEncoder().encode(payload(payload_bytes));
const sha256 = hash("sha256", body);
const store = chunkCount(body.length) > 1 ? storeChunks : storeRecords;
let launches = 0;
const began_ms = performance.now();
while (performance.now() < began_ms + duration_ms) {
  await store();
  launches += batch;
}
console.log(launches / ((performance.now() - began_ms) / 1_000));

async function storeRecords(): Promise<void> {
  const operation = kv.atomic();
  const actions = [{
    type: "run_execution",
    step: "clock",
    commit: "HEAD",
    payload_input_name: "body",
    parameters: {},
  }];
  // A window of the rate limit is written once a commit, however many of its launches are in it.
  for (let index = 0; index < Math.min(batch, triggers); index++) {
    const slots = [[1_472_000_000, launches], [1_472_000_001, launches], [1_472_000_002, 1]];
    operation.set(keys.rate(triggerOf(index), 60), { total: launches, slots });
  }
  for (let index = 0; index < batch; index++) {
    const run = runOf(triggerOf(index));
    const pending = newPending({ run, actions, worker: run.id }, body);
    for (const { key, value } of acceptWrites(pending, body)) {
      operation.set(key, value);
    }
  }
  await operation.commit();
}

async function storeChunks(): Promise<void> {
  let operation = kv.atomic();
  let bytes = 0;
  for (let index = 0; index < batch; index++) {
    const id = newId(Date.now());
    for (let at = 0; at < chunkCount(body.length); at++) {
      const chunk = body.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES);
      if (bytes + chunk.length > COMMIT_BYTES_MAX) {
        await operation.commit();
        operation = kv.atomic();
        bytes = 0;
      }
      operation.set(keys.payload(id, at), chunk);
      bytes += chunk.length;
    }
  }
  await operation.commit();
}

/** Launches go to the triggers in turn. */
function triggerOf(index: number): string {
  return triggerId((launches + index) % triggers);
}

function runOf(trigger_id: string): Run {
  const now_ms = Date.now();
  return {
    id: newId(now_ms),
    trigger_id,
    project: "bench",
    status: "pending",
    created_at: new Date(now_ms).toISOString(),
    remote_ip: "127.0.0.1",
    payload: { size: body.length, sha256, content_type: "application/json" },
    actions: [],
  };
}
