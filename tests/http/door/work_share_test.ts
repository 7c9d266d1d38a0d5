/**
 * Launches on a real service whose runs have fallen behind: they wait in the queue of requests until runs
 * end, and none is turned away.
 */
import { assertEquals, assertLessOrEqual } from "@std/assert";
import { Worker } from "../../../src/runs/worker.ts";
import { startService } from "../../data.ts";
import { collectLog } from "../../log_records.ts";
import { eventually } from "../../surroundings.ts";

/** The backlog at which launches wait. */
const BEHIND = 30_000;
const SENDERS = 16;
const LAUNCHES = 160;

/** Makes workers believe that so many more runs have not ended; tells the most that really had not. */
function makeBehind(): Disposable & { most: number } {
  const before = Object.getOwnPropertyDescriptor(Worker.prototype, "backlog") ?? {};
  const behind = {
    most: 0,
    [Symbol.dispose]: () => void Object.defineProperty(Worker.prototype, "backlog", before),
  };
  const get = function (this: Worker) {
    const backlog = Number(before.get?.call(this));
    behind.most = Math.max(behind.most, backlog);
    return BEHIND + backlog;
  };
  Object.defineProperty(Worker.prototype, "backlog", { ...before, get });
  return behind;
}

Deno.test("while runs are behind, no more launches are accepted than runs end", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ actions: [{ type: "fetch_repository" }] });
  using behind = makeBehind();
  let left = LAUNCHES;
  const statuses = new Set<number>();
  const send = async () => {
    while (left-- > 0) {
      const answer = await fetch(url, { method: "POST", body: "a" });
      await answer.body?.cancel();
      statuses.add(answer.status);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  assertEquals([...statuses], [200]);
  // Each sender may have one launch under way while the first of them is counted.
  assertLessOrEqual(behind.most, SENDERS);
  await eventually(async () => {
    const { body } = await service.api("GET", "runs/?limit=1&status=pending");
    return body.results.length === 0 ? true : undefined;
  });
});

Deno.test("a launch that no end of a run lets in is answered 503, and the log names the reason", async () => {
  await using service = await startService();
  const { url } = await service.trigger({});
  await using log = await collectLog("warning");
  const before = Object.getOwnPropertyDescriptor(Worker.prototype, "isBehind") ?? {};
  Object.defineProperty(Worker.prototype, "isBehind", { ...before, get: () => true });
  try {
    const answer = await fetch(url, { method: "POST", body: "a" });
    await answer.body?.cancel();
    assertEquals([answer.status, answer.headers.get("retry-after")], [503, "5"]);
    assertEquals(
      log.records.map(({ properties }) => properties.error),
      ["Cannot accept a launch: runs end more slowly than launches arrive"],
    );
  } finally {
    Object.defineProperty(Worker.prototype, "isBehind", before);
  }
});
