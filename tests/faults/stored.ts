/**
 * What a data folder holds, looked at when no service has it open: nothing of it may be half of something.
 *
 * @module
 */
import { join } from "node:path";
import { abandonedUploads, chunkCount, removeUpload } from "../../src/store/records/payloads.ts";
import type { EndedRun, PendingRun, Run } from "../../src/store/records/runs.ts";
import { openStore } from "../../src/store/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Findings } from "./findings.ts";

const HOUR_MS = 60 * 60_000;

/**
 * Checks that each run is there with its payload, and when it has ended with its place in its trigger's
 * list, and that there is
 * nothing that belongs to no run, once what was never accepted is cleaned up.
 *
 * @returns the runs that are stored, by their ids
 */
export async function checkStored(data: string, findings: Findings): Promise<Map<string, Run>> {
  await using store = await openStore(join(data));
  for (const id of await abandonedUploads(store, Date.now() + HOUR_MS)) {
    await removeUpload(store, id);
  }
  const runs = new Map<string, Run>();
  const bodies = new Map<string, Uint8Array | undefined>();
  for await (const { key, value } of store.kv.list<EndedRun>({ prefix: ["run"] })) {
    runs.set(String(key[1]), value);
    bodies.set(String(key[1]), value.body);
  }
  await checkLists(store, runs, findings);
  for await (const { key, value } of store.kv.list<PendingRun>({ prefix: ["pending"] })) {
    const id = String(key[1]);
    findings.check(value.run.trigger_id === key[2], `Run ${id} is stored as another trigger's`);
    findings.check(!runs.has(id), `Run ${id} has ended and is pending`);
    runs.set(id, value.run);
    bodies.set(id, value.body);
  }
  await checkPayloads(store, runs, bodies, findings);
  await checkQuotas(store, runs, findings);
  return runs;
}

async function checkLists(
  { kv }: Store,
  runs: ReadonlyMap<string, Run>,
  findings: Findings,
): Promise<void> {
  const listed = new Set<string>();
  for await (const { key } of kv.list({ prefix: ["trigger_run"] })) {
    const id = String(key[2]);
    listed.add(id);
    findings.check(runs.get(id)?.trigger_id === key[1], `Run ${id} is listed and not stored`);
  }
  for (const id of runs.keys()) findings.check(listed.has(id), `Run ${id} is in no list`);
}

async function checkPayloads(
  { kv }: Store,
  runs: ReadonlyMap<string, Run>,
  bodies: ReadonlyMap<string, Uint8Array | undefined>,
  findings: Findings,
): Promise<void> {
  const stored = new Map<string, { bytes: number; chunks: number }>();
  for await (const { key, value } of kv.list<Uint8Array>({ prefix: ["payload"] })) {
    const id = String(key[1]);
    const { bytes, chunks } = stored.get(id) ?? { bytes: 0, chunks: 0 };
    stored.set(id, { bytes: bytes + value.length, chunks: chunks + 1 });
    findings.check(runs.has(id), `A chunk of ${id} is stored, and there is no such run`);
  }
  for (const [id, { payload: { size } }] of runs) {
    const { bytes, chunks } = stored.get(id) ?? { bytes: 0, chunks: 0 };
    const inRecord = bodies.get(id)?.length;
    const isWhole = inRecord === undefined
      ? bytes === size && chunks === chunkCount(size)
      : inRecord === size && chunks === 0;
    findings.check(
      isWhole,
      `Run ${id} has ${bytes} bytes in ${chunks} chunks and ${inRecord} in its record, not ${size}`,
    );
  }
}

/** Windows that are longer than the test count every run of their trigger. */
async function checkQuotas(
  { kv }: Store,
  runs: ReadonlyMap<string, Run>,
  findings: Findings,
): Promise<void> {
  const ofTrigger = Map.groupBy(runs.values(), ({ trigger_id }) => trigger_id);
  for await (const { key, value } of kv.list<{ total: number }>({ prefix: ["rate"] })) {
    if (Number(key[2]) < 3_600) continue;
    const count = ofTrigger.get(String(key[1]))?.length ?? 0;
    findings.check(
      value.total === count,
      `The window of trigger ${String(key[1])} counts ${value.total}, and ${count} runs are stored`,
    );
  }
}
