import { assertEquals } from "@std/assert";
import { Deadlines } from "../../../src/platform/waiting/deadlines.ts";

const TIME_MS = 20;

function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}

Deno.test("who takes too long is told once, in the order in which they began", async () => {
  using deadlines = new Deadlines(TIME_MS);
  const late: string[] = [];
  const begin = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = deadlines.begin(() => resolve(void late.push(name)));
    return { promise, done };
  };
  const first = begin("first");
  begin("in time").done();
  assertEquals(late, []);
  await pause(TIME_MS / 4);
  await Promise.all([first.promise, begin("second").promise]);
  await begin("third").promise;
  assertEquals(late, ["first", "second", "third"]);
});

Deno.test("deadlines hold again after a time without any", async () => {
  using deadlines = new Deadlines(TIME_MS);
  deadlines.begin(() => {})();
  await pause(TIME_MS * 2);
  const late = Promise.withResolvers<void>();
  deadlines.begin(() => late.resolve());
  await late.promise;
});

Deno.test("whoever comes behind one that is late has all of the time", async () => {
  using deadlines = new Deadlines(TIME_MS);
  const late: number[] = [];
  deadlines.begin(() => late.push(performance.now()));
  await pause(TIME_MS / 2);
  const began_ms = performance.now();
  const second = Promise.withResolvers<void>();
  deadlines.begin(() => second.resolve());
  await second.promise;
  assertEquals(late.length, 1);
  // Timers of the runtime are as exact as a millisecond.
  assertEquals(performance.now() - began_ms >= TIME_MS - 1, true);
});
