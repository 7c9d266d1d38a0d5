/** Runs and deliveries where several instances share one database. */
import { assert, assertEquals } from "@std/assert";
import { CLOCK_SPREAD_MAX_MS } from "../../src/store/commit/instances.ts";
import { sharedStore } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { launchOf, neverEnds, openDesk, pendingOf, storePending } from "./fixture.ts";

Deno.test("the leader before may have begun with a run that this instance has accepted", async () => {
  using kv = await Deno.openKv(":memory:");
  await using store = await sharedStore(kv, new TestClock());
  const seen: [id: string, repeated: boolean][] = [];
  await using desk = openDesk(store, {
    perform: (waiting, signal) => {
      seen.push([waiting.run.id, waiting.repeated]);
      return neverEnds(waiting, signal);
    },
  });
  const [id] = await storePending(store, [pendingOf({ worker: desk.worker.id })]);
  await desk.worker.start();
  await eventually(() => seen.length > 0 ? true : undefined);
  assertEquals(seen, [[id ?? "", true]]);
});

Deno.test("the leader before may have begun with a run whose acceptance is answered late", async () => {
  using kv = await Deno.openKv(":memory:");
  await using store = await sharedStore(kv, new TestClock());
  const seen: boolean[] = [];
  await using desk = openDesk(store, {
    perform: (waiting, signal) => {
      seen.push(waiting.repeated);
      return neverEnds(waiting, signal);
    },
  });
  const [before, after] = [pendingOf(), pendingOf()];
  desk.worker.expect(before.run.id);
  await desk.worker.start();
  desk.worker.expect(after.run.id);
  for (const pending of [before, after]) desk.worker.take(pending);
  await eventually(() => seen.length === 2 ? true : undefined);
  assertEquals(seen, [true, false]);
});

Deno.test("an instance whose clock is ahead, and that joins later, knows a delivery to its window's end", async () => {
  const clock = new TestClock();
  using kv = await Deno.openKv(":memory:");
  await using store = await sharedStore(kv, clock);
  await using desk = openDesk(store, { clock });
  const launch = launchOf({ delivery: { id: "a", window_s: 60 } });
  const first = await desk.acceptor.accept(launch);
  assert("run" in first);
  clock.time_ms += 60_000 + CLOCK_SPREAD_MAX_MS - 1;
  assertEquals(
    await desk.acceptor.madeBy(launch.triggerId, { id: "a", window_s: 60 }),
    first.run.id,
  );
  clock.time_ms += 2;
  assertEquals(await desk.acceptor.madeBy(launch.triggerId, { id: "a", window_s: 60 }), undefined);
});

Deno.test("a quota holds over a change of the leader, whatever the two clocks are", async () => {
  using kv = await Deno.openKv(":memory:");
  const launch = launchOf({ quotas: [{ period: 10, quota: 1 }] });
  const began_ms = Date.UTC(2026, 0, 1);
  {
    const behind = new TestClock(began_ms - 900);
    await using store = await sharedStore(kv, behind);
    await using desk = openDesk(store, { clock: behind });
    assert("run" in await desk.acceptor.accept(launch));
  }
  const ahead = new TestClock(began_ms + 900);
  await using store = await sharedStore(kv, ahead);
  await using desk = openDesk(store, { clock: ahead });
  ahead.time_ms = began_ms + 900 + 9_900;
  await store.shared?.instances.look();
  assertEquals(await desk.acceptor.accept(launch), { exhausted: { period: 10, quota: 1 } });
});
