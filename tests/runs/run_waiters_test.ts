/** Waiting for runs to end: each of several is told, whoever gives up before. */
import { assertEquals } from "@std/assert";
import { RunWaiters } from "../../src/runs/run_waiters.ts";

Deno.test("who waits for a run is told of its end, though another has waited no longer", async () => {
  const endings = new RunWaiters();
  const notYet = () => Promise.resolve(false);
  const impatient = new AbortController();
  const { signal } = new AbortController();
  const first = endings.wait("a", notYet, impatient.signal);
  const others = ["a", "a", "b"].map((id) => endings.wait(id, notYet, signal));
  impatient.abort();
  assertEquals(await first, false);
  endings.tell("a");
  assertEquals(await Promise.all(others.slice(0, 2)), [true, true]);
  endings.tell("b");
  assertEquals(await others[2], true);
});
