/** One wake-up message is under way at a time, and a lost one does not silence those after it. */
import { assertEquals } from "@std/assert";
import { WakeUp } from "../../src/runs/wake_up.ts";
import { TestClock } from "../surroundings.ts";

Deno.test("a message is sent once until it has arrived", () => {
  const wakeUp = new WakeUp(new TestClock());
  assertEquals(wakeUp.message(), { kind: "wake_up" });
  assertEquals(wakeUp.message(), undefined);
  wakeUp.received();
  assertEquals(wakeUp.message(), { kind: "wake_up" });
  assertEquals(wakeUp.message(), undefined);
});

Deno.test("a message that does not arrive is sent again after five seconds", () => {
  const clock = new TestClock();
  const wakeUp = new WakeUp(clock);
  wakeUp.message();
  clock.time_ms += 4_999;
  assertEquals(wakeUp.message(), undefined);
  clock.time_ms += 1;
  assertEquals(wakeUp.message(), { kind: "wake_up" });
  assertEquals(wakeUp.message(), undefined);
});

Deno.test("a message that arrives twice does no harm", () => {
  const wakeUp = new WakeUp(new TestClock());
  wakeUp.received();
  assertEquals(wakeUp.message(), { kind: "wake_up" });
  wakeUp.received();
  wakeUp.received();
  assertEquals(wakeUp.message(), { kind: "wake_up" });
});
