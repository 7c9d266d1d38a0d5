/**
 * What a request takes of the service's limits is given back with its answer: as many again are
 * answered as the limit holds.
 */
import { assertEquals } from "@std/assert";
import { startService } from "../data.ts";
import { REJECTED } from "./scenario.ts";

const MIB = 1_024 * 1_024;

Deno.test("a request takes a place among those under way until it is answered, and no longer", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ enabled: false });
  const statuses = new Map<number, number>();
  // More than the 4,096 that may be under way, some at a time.
  const senders = Array.from({ length: 20 }, async () => {
    for (let turn = 0; turn < 210; turn++) {
      const { status, body } = await fetch(url, { method: "POST", body: "x" });
      await body?.cancel();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  await Promise.all(senders);
  assertEquals(statuses, new Map([[400, 4_200]]));
});

Deno.test("a body takes memory until its request is answered, and no longer", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ enabled: false });
  const body = new Uint8Array(16 * MIB);
  // More than the 256 MiB that bodies may take together, one at a time.
  for (let turn = 0; turn < 17; turn++) {
    const answer = await fetch(url, { method: "POST", body });
    assertEquals([answer.status, await answer.text()], [400, REJECTED], `body ${turn}`);
  }
});
