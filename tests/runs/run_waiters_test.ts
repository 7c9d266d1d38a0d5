/** Waiting for runs to end: each of several is told, whoever gives up before. */
import { assertEquals } from "@std/assert";
import { RunWaiters } from "../../src/runs/run_waiters.ts";

Deno.test("who waits for a run is told of its end, though another has waited no longer", async () => {
  const waiters = new RunWaiters();
  const notYet = () => Promise.resolve(false);
  const impatient = new AbortController();
  const { signal } = new AbortController();
  const first = waiters.wait("a", notYet, impatient.signal);
  const others = ["a", "a", "b"].map((id) => waiters.wait(id, notYet, signal));
  impatient.abort();
  assertEquals(await first, false);
  waiters.notify("a");
  assertEquals(await Promise.all(others.slice(0, 2)), [true, true]);
  waiters.notify("b");
  assertEquals(await others[2], true);
});
