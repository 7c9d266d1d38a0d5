/** Waiting for an end also where the service is away for a moment. */
import { assertEquals, assertRejects } from "@std/assert";
import { ApiError } from "../../../src/commands/api/client.ts";
import { untilEnded } from "../../../src/commands/api/until_ended.ts";

const MINUTE_MS = 60_000;

/** Makes the time since the start of the process what a function says, until it is disposed of. */
function clockOf(now: () => number): Disposable {
  const before = performance.now;
  performance.now = now;
  return { [Symbol.dispose]: () => void (performance.now = before) };
}

Deno.test("a service that is away for a moment is waited for, however long the log before was", async () => {
  let now_ms = 0;
  using _clock = clockOf(() => now_ms);
  let read = 0;
  const failures: ApiError[] = [];
  const ended = await untilEnded({
    read: () => Promise.resolve(++read),
    hasEnded: (count) => count === 4,
    onRead(count) {
      if (count !== 2) return;
      now_ms += 10 * MINUTE_MS;
      const failure = new ApiError("The service answered 503", 503);
      failures.push(failure);
      throw failure;
    },
  });
  assertEquals([ended, failures.length], [4, 1]);
});

Deno.test("a service that stays away for over a minute is not waited for", async () => {
  let now_ms = 0;
  using _clock = clockOf(() => now_ms);
  let read = 0;
  const waiting = () =>
    untilEnded({
      read() {
        now_ms += 25_000;
        return ++read === 1 ? Promise.resolve(read) : Promise.reject(new ApiError("It is away"));
      },
      hasEnded: () => false,
    });
  await assertRejects(waiting, ApiError, "It is away");
  assertEquals(read, 5);
});

Deno.test("a service that is away for a moment is waited for from the first state on", async () => {
  let read = 0;
  const seen: [record: number, before: number | undefined][] = [];
  const ended = await untilEnded({
    read: () => Promise.resolve(++read),
    hasEnded: (count) => count === 3,
    onRead(count, before) {
      seen.push([count, before]);
      if (count === 1) throw new ApiError("The service answered 503", 503);
    },
  });
  assertEquals([ended, seen], [3, [[1, undefined], [2, undefined], [3, 2]]]);
});
