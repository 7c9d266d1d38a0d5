/** The values of a run whose payload cannot be read: an error of the values, and of nothing else. */
import { assertRejects } from "@std/assert";
import { CorruptPayloadError, type PayloadInfo } from "../../src/store/records/payloads.ts";
import { RemovedError } from "../../src/platform/errors.ts";
import { valuesOfRun } from "../../src/triggers/run_values.ts";
import { pendingOf } from "../runs/fixture.ts";
import { storeInMemory } from "../store/fixture.ts";

const REMOVED = { size: 5, sha256: "", removed_at: "2026-01-01T00:00:00Z" };

Deno.test("a payload that cannot be read is an error of the values alone", async () => {
  await using store = await storeInMemory();
  const { run } = pendingOf();
  const reads = async (times: number) => {
    for (let count = 0; count < times; count++) await store.kv.get(["trigger", String(count)]);
    return undefined;
  };
  const cases: [payload: PayloadInfo, error: new (message: string) => Error][] = [
    [REMOVED, RemovedError],
    [{ size: 5, sha256: "" }, CorruptPayloadError],
  ];
  for (const [payload, error] of cases) {
    const evaluate = valuesOfRun({
      store,
      // To prepare a trigger may take longer than the read of a payload.
      triggers: { prepared: () => reads(500) },
      heavyWork: { run: () => Promise.reject(new Error("it is called")) },
      baseUrl: () => "https://hooks.example.com",
    }, { run: { ...run, payload } });
    for (let count = 0; count < 2; count++) {
      await assertRejects(() => evaluate({ sources: ["body.a"] }), error);
    }
  }
});
