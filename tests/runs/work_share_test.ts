/**
 * The share of runs beside launches, by a clock that the test sets.
 */
import { assertEquals } from "@std/assert";
import { WorkShare } from "../../src/runs/work_share.ts";
import { TestClock } from "../surroundings.ts";

const CONCURRENCY = 128;

/** A share, with its clock, beside launches that never stop. */
function underLoad(): { share: WorkShare; pass(time_ms: number): void } {
  const clock = new TestClock();
  const share = new WorkShare(clock, CONCURRENCY);
  for (let count = 0; count < 32; count++) share.expect(1);
  const pass = (time_ms: number) => void (clock.time_ms += time_ms);
  pass(100);
  return { share, pass };
}

Deno.test("a burst of launches goes first, and beside a lasting load runs get as many places as ends are missing", () => {
  const { share } = underLoad();
  const accept = (count: number) => share.accepted(0, count);
  assertEquals(share.places(), 1);
  accept(830);
  assertEquals(share.places(), 1, "a burst");
  accept(20);
  assertEquals(share.places(), 11, "six of ten launches");
  for (let count = 0; count < 10; count++) share.ended(0);
  assertEquals(share.places(), 1, "as many have ended");
  accept(100_000);
  assertEquals(share.places(), CONCURRENCY);
  for (let count = 0; count < CONCURRENCY; count++) share.ended(0);
  assertEquals(share.places(), 1, "no more are owed than may be under way");
  for (let count = 0; count < 32; count++) share.expect(-1);
  assertEquals(share.places(), 1, "the load has just ended");
});

Deno.test("a burst goes first for half a second, however few launches it has", () => {
  const { share, pass } = underLoad();
  share.accepted(0, 100);
  assertEquals(share.places(), 1);
  pass(499);
  assertEquals(share.places(), 1);
  pass(1);
  assertEquals(share.places(), 61, "the ends of sixty are missing");
});

Deno.test("without a load runs have all places, also when launches have gone", () => {
  assertEquals(new WorkShare(new TestClock(), CONCURRENCY).places(), CONCURRENCY);
  const { share, pass } = underLoad();
  for (let count = 0; count < 32; count++) share.expect(-1);
  pass(75);
  assertEquals(share.places(), CONCURRENCY);
});

Deno.test("launches wait for ends as soon as runs are behind with all places, and for no more than that", () => {
  const { share } = underLoad();
  share.accepted(29_999);
  assertEquals(share.holdsLaunches(29_999), false);
  share.accepted(30_000);
  assertEquals(share.holdsLaunches(30_000), true, "one launch ahead of the ends");
  share.accepted(30_001);
  share.ended(30_000);
  assertEquals(share.holdsLaunches(30_000), true, "still one");
  share.ended(29_999);
  assertEquals(share.holdsLaunches(29_999), false, "no longer behind");
});

Deno.test("what was behind at the start holds launches no longer than ends take", () => {
  const { share } = underLoad();
  assertEquals(share.holdsLaunches(90_000), false);
  share.accepted(90_001);
  assertEquals(share.holdsLaunches(90_001), true);
  share.ended(90_000);
  assertEquals(share.holdsLaunches(90_000), false);
});

Deno.test("runs that wait for something else than their turn hold no launches, and owe little when they go on", () => {
  const { share, pass } = underLoad();
  const ends = Array.from({ length: CONCURRENCY }, () => share.begin());
  for (let backlog = 30_000; backlog < 50_000; backlog++) share.accepted(backlog);
  assertEquals(share.holdsLaunches(50_000), true, "they have just begun");
  pass(5_000);
  assertEquals(share.holdsLaunches(50_000), false);
  // They end, and others begin in their places.
  for (const [index, end] of ends.entries()) {
    end();
    share.begin();
    share.ended(50_000 - index);
  }
  assertEquals(share.holdsLaunches(49_800), true);
  for (let count = 0; count < 1_024; count++) share.ended(49_000);
  assertEquals(share.holdsLaunches(49_000), false);
});

Deno.test("other instances are told what has ended since the last time, while launches should wait for ends", () => {
  const { share, pass } = underLoad();
  share.ended(29_999);
  assertEquals(share.takeEnded(29_999), undefined, "not behind");
  share.ended(30_001);
  share.ended(30_000);
  assertEquals([share.takeEnded(30_000), share.takeEnded(30_000)], [2, 0]);
  for (let count = 0; count < CONCURRENCY; count++) share.begin();
  pass(5_000);
  assertEquals(share.takeEnded(30_000), undefined, "all wait for something else");
});

Deno.test("what others accept counts as ahead of the ends", () => {
  const { share } = underLoad();
  share.accepted(30_000, 3);
  for (const isAhead of [true, true, false]) {
    share.ended(30_000);
    assertEquals(share.holdsLaunches(30_000), isAhead);
  }
});
