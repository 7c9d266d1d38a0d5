/** Runs and deliveries where several instances share one database. */
import { assert, assertEquals } from "@std/assert";
import { CLOCK_SPREAD_MAX_MS } from "../../src/store/commit/instances.ts";
import { assembleStore, lead } from "../../src/store/open_store.ts";
import { Shared } from "../../src/store/shared_store.ts";
import type { Store } from "../../src/store/store.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { launchOf, neverEnds, openDesk, pendingOf, storePending } from "./fixture.ts";

/** Opens the store of an instance that leads the others on a database in memory. */
async function leadingStore(clock: TestClock): Promise<Store> {
  const kv = await Deno.openKv(":memory:");
  const opened = new AsyncDisposableStack();
  opened.defer(() => kv.close());
  const shared = await Shared.join({ kv, clock, id: crypto.randomUUID() });
  opened.defer(() => shared.leave());
  const parts = {
    clock,
    events: undefined,
    ownership: undefined,
    shared,
    guard: undefined,
    opened,
  };
  const store = await assembleStore(kv, parts, { where: "memory" });
  await lead(store, "memory");
  return store;
}

Deno.test("the leader before may have begun with a run that this instance has accepted", async () => {
  await using store = await leadingStore(new TestClock());
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

Deno.test("an instance whose clock is ahead, and that joins later, knows a delivery to its window's end", async () => {
  const clock = new TestClock();
  await using store = await leadingStore(clock);
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
