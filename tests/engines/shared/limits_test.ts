/** When an execution has run, or was silent, for too long, and how long nobody needs to look. */
import { assertEquals } from "@std/assert";
import { Limits, startedBefore_ms } from "../../../src/engines/shared/limits.ts";
import { executionOf } from "../../store/execution.ts";
import { TestClock } from "../../surroundings.ts";

function limitsOf(parts: { time_limit?: number; no_output_timeout?: number }, clock: TestClock) {
  const started_at = new Date(clock.now() - 4_000).toISOString();
  const execution = executionOf({ ...parts, started_at });
  const started_ms = startedBefore_ms(execution, clock);
  return new Limits(execution, { clock, started_ms, idle_ms: 1_000 });
}

Deno.test("limits: a time limit counts from the start, whatever is printed and the wall clock says", () => {
  const clock = new TestClock();
  const limits = limitsOf({ time_limit: 10 }, clock);
  assertEquals(limits.remaining_ms(), 6_000);
  clock.ahead_ms = 60_000;
  clock.time_ms += 5_999;
  limits.sawOutput();
  assertEquals([limits.remaining_ms(), limits.reached()], [1, undefined]);
  clock.time_ms += 1;
  assertEquals(limits.remaining_ms(), 0);
  assertEquals(limits.reached(), "Stopped: time limit of 10 s reached");
});

Deno.test("limits: silence counts from what was printed last", () => {
  const clock = new TestClock();
  const limits = limitsOf({ no_output_timeout: 3, time_limit: 10 }, clock);
  assertEquals(limits.remaining_ms(), 2_000);
  clock.time_ms += 1_999;
  assertEquals(limits.reached(), undefined);
  limits.sawOutput();
  assertEquals(limits.remaining_ms(), 3_000);
  clock.time_ms += 3_000;
  assertEquals(limits.reached(), "Stopped: no output for 3 s");
});

Deno.test("limits: without any, nobody needs to look", () => {
  const limits = limitsOf({}, new TestClock());
  assertEquals([limits.remaining_ms(), limits.reached()], [Infinity, undefined]);
});
