/** Changes of deliveries: they are told to all who ask, and read once for them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DeliveryChanges } from "../../../src/http/api/delivery_changes.ts";
import type { DeliveryList } from "../../../src/http/api/delivery_views.ts";
import { newId } from "../../../src/platform/ids.ts";
import { keys } from "../../../src/store/keys.ts";
import { entryWrites } from "../../../src/store/records/trigger_log_entries.ts";
import { storeInMemory } from "../../store/fixture.ts";

Deno.test("the newest deliveries are read once between two changes", async () => {
  await using store = await storeInMemory();
  let now_ms = 0;
  const engines = { changes: 0 };
  const changes = new DeliveryChanges({ store, engines, clock: { steady: () => now_ms } });
  let reads = 0;
  const read = (): Promise<DeliveryList> => {
    reads++;
    return Promise.resolve({ results: [], omitted: [], next: undefined });
  };
  /** Asks twice, a second after what was asked before, and returns how often that was read. */
  const asked = async () => {
    now_ms += 1_000;
    const before = reads;
    await Promise.all([changes.newest(50, read), changes.newest(50, read)]);
    return reads - before;
  };
  assertEquals(await asked(), 1);
  assertEquals(await asked(), 0, "nothing has changed");
  engines.changes++;
  assertEquals(await asked(), 1, "an execution has changed");
  const [id, trigger_id] = [newId(1), newId(2)];
  const request = { method: "POST", remote_ip: "192.0.2.7", headers: {} };
  const common = { id, time: new Date(1).toISOString(), status: 400, request };
  const refused = { kind: "refused", condition: "hmac", condition_index: 0, reason: "no" } as const;
  await store.committer.write(entryWrites(trigger_id, { ...common, ...refused }));
  const before = await changes.state();
  assertEquals(await asked(), 1, "a delivery has come");
  assert(before !== await changes.state());
  const written: [what: string, key: Deno.KvKey][] = [
    ["an HTTP request has ended", keys.httpRequest(newId(3))],
    ["a pipeline has changed", keys.pipeline(newId(4))],
    ["a run has ended, older than the newest", keys.run(newId(0))],
    ["a trigger has another name", keys.trigger(trigger_id)],
  ];
  for (const [what, key] of written) {
    await store.committer.write([{ key, value: {} }]);
    assertEquals(await asked(), 1, what);
    assertEquals(await asked(), 0, `${what}, and nothing since`);
  }
  const known = reads;
  engines.changes++;
  now_ms += 1_000;
  await assertRejects(() => changes.newest(50, () => Promise.reject(new Error("away"))));
  await changes.newest(50, read);
  assertEquals(reads, known + 1, "a read that failed is made again");
});
