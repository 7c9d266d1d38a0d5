/** Calls to a database that may never be answered. */
import { assertEquals, assertRejects } from "@std/assert";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { TimedCalls } from "../../../src/store/commit/timed_calls.ts";
import { TestClock } from "../../surroundings.ts";

Deno.test("calls that are never answered keep later ones back for a while, and not for good", async () => {
  const clock = new TestClock();
  const calls = new TimedCalls(clock, 1);
  const answered = () => calls.call(() => Promise.resolve("answer"));
  for (let times = 0; times < 8; times++) {
    await assertRejects(() => calls.call(() => new Promise(() => {})), UnavailableError);
  }
  await assertRejects(answered, UnavailableError);
  clock.time_ms += 100;
  assertEquals(await answered(), "answer");
});
