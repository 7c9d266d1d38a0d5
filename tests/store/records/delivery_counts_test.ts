/** The numbers of deliveries by hour: across midnight, while they are stored, and after a restart. */
import { assertEquals } from "@std/assert";
import {
  DeliveryCounts,
  type DeliveryHour,
  removeOldDeliveryCounts,
} from "../../../src/store/records/delivery_counts.ts";
import { TestClock } from "../../surroundings.ts";
import { contents, storeInMemory } from "../fixture.ts";

const HOUR_MS = 60 * 60_000;
const EVENING_MS = Date.UTC(2026, 0, 1, 23, 10);

function shown(hours: readonly DeliveryHour[]): string[] {
  return hours.flatMap(({ from_ms, counts }) =>
    Object.entries(counts).map(([outcome, count]) =>
      `${new Date(from_ms).toISOString().slice(5, 13)} ${outcome} ${count}`
    )
  );
}

Deno.test("deliveries are counted by hour and outcome, for the last 24 hours", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock(EVENING_MS);
  const counts = new DeliveryCounts(store, clock);
  counts.note("a", "accepted");
  counts.note("a", "accepted");
  counts.note("b", "refused");
  clock.time_ms += HOUR_MS;
  counts.note("a", "refused");
  const expected = ["01-01T23 accepted 2", "01-02T00 refused 1"];
  const { hours, last_ms } = await counts.read("a");
  assertEquals([shown(hours), hours.length, last_ms], [expected, 24, clock.now()]);
  await counts.flush();
  assertEquals(shown((await counts.read("a")).hours), expected, "they are not counted twice");
  counts.note("a", "refused");
  await counts.close();
  const again = new DeliveryCounts(store, clock);
  const read = async (id: string) => shown((await again.read(id)).hours);
  assertEquals(await read("a"), ["01-01T23 accepted 2", "01-02T00 refused 2"]);
  assertEquals(await read("b"), ["01-01T23 refused 1"]);
  assertEquals(await again.read("c").then(({ last_ms }) => last_ms), undefined);
  clock.time_ms += 23 * HOUR_MS;
  assertEquals(await read("a"), ["01-02T00 refused 2"]);
  clock.time_ms += HOUR_MS;
  assertEquals(await read("a"), []);
});

Deno.test("the triggers of the last day are those with counts, stored or not", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock(EVENING_MS);
  const counts = new DeliveryCounts(store, clock);
  const found = async () => [...new Set(await Array.fromAsync(counts.triggersOfLastDay()))].sort();
  assertEquals(await found(), []);
  counts.note("a", "accepted");
  assertEquals(await found(), ["a"]);
  await counts.flush();
  clock.time_ms += HOUR_MS;
  counts.note("b", "refused");
  assertEquals(await found(), ["a", "b"]);
  await counts.flush();
  assertEquals(await found(), ["a", "b"]);
  clock.time_ms += 24 * HOUR_MS;
  assertEquals(await found(), ["b"]);
  await counts.close();
});

Deno.test("what comes while counts are stored is stored next", async () => {
  await using store = await storeInMemory();
  const counts = new DeliveryCounts(store, new TestClock(EVENING_MS));
  counts.note("a", "accepted");
  const flushing = counts.flush();
  for (let sent = 0; sent < 10; sent++) {
    await Promise.resolve();
    counts.note("a", "accepted");
  }
  await Promise.all([flushing, counts.flush(), counts.flush()]);
  await counts.close();
  assertEquals(shown((await counts.read("a")).hours), ["01-01T23 accepted 11"]);
  assertEquals((await contents(store)).size, 1);
});

Deno.test("the counts of days that are long over are removed", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock(EVENING_MS);
  const counts = new DeliveryCounts(store, clock);
  counts.note("a", "accepted");
  await counts.close();
  assertEquals(await removeOldDeliveryCounts(store, clock.now() + 8 * 24 * HOUR_MS), 0);
  assertEquals(await removeOldDeliveryCounts(store, clock.now() + 9 * 24 * HOUR_MS), 1);
  assertEquals((await contents(store)).size, 0);
});
