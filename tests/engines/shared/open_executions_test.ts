/** Executions that wait, among many that are another engine's. */
import { assert, assertEquals } from "@std/assert";
import { someWaiting } from "../../../src/engines/shared/open_executions.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { newId } from "../../../src/platform/ids.ts";
import { executionWrites } from "../../../src/store/records/executions.ts";
import { executionOf } from "../../store/execution.ts";
import { sharedStore, standIn } from "../../store/fixture.ts";

Deno.test("many executions of other engines that wait are not read one by one", async () => {
  using kv = await Deno.openKv(":memory:");
  let reads = 0;
  const getMany: Deno.Kv["getMany"] = (...of) => {
    reads++;
    return kv.getMany(...of);
  };
  const store = await sharedStore(standIn(kv, { getMany }), systemClock);
  try {
    const waiting = Array.from({ length: 1_000 }, (_, at) => {
      const type = at < 999 ? "slurm" : "local";
      return executionOf({ id: newId(Date.now()), engine: { type } });
    });
    for (let at = 0; at < waiting.length; at += 50) {
      await store.committer.write(waiting.slice(at, at + 50).flatMap(executionWrites));
    }
    reads = 0;
    const found = await someWaiting(store, "local", { max: 1, isWanted: () => true });
    assertEquals(found.map(({ id }) => id), waiting.slice(-1).map(({ id }) => id));
    assert(reads < 300, `${reads} reads`);
  } finally {
    await store.close();
  }
});
