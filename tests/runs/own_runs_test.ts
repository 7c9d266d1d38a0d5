/** Runs that are their instances' own, where several share one database. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { messageOf, UnavailableError } from "../../src/platform/errors.ts";
import { removeInstanceWrites } from "../../src/store/commit/lane_records.ts";
import type { ActionOutcome } from "../../src/store/records/runs.ts";
import { getRun } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { contents, sharedStore, watchedKv } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import {
  accept,
  type Desk,
  type DeskParts,
  launchOf,
  openDesk,
  pendingIds,
  pendingOf,
  storePending,
  untilIdle,
} from "./fixture.ts";

/** What has performed which runs, in order. */
type Seen = [by: string, id: string, repeated: boolean][];

/** An instance that does not lead, and serves without waiting until its clock is compared with the leader's. */
async function follower(kv: Deno.Kv, clock: TestClock): Promise<Store> {
  const store = await sharedStore(kv, clock, { leads: false });
  Object.defineProperty(store.shared?.instances, "obstacle", { value: undefined });
  return store;
}

/** A desk of an instance that can perform all runs. */
function ownDesk(store: Store, by: string, seen: Seen, parts: DeskParts = {}): Desk {
  const desk = openDesk(store, {
    canPerform: () => true,
    perform({ run, repeated }) {
      seen.push([by, run.id, repeated]);
      return Promise.resolve([{ action: "none" }]);
    },
    ...parts,
  });
  const { shared } = store;
  assert(shared);
  shared.instances.onAccepted = (count) => desk.worker.acceptedElsewhere(count);
  shared.instances.onLeft = () => desk.worker.claim();
  return desk;
}

Deno.test("an instance performs the runs that it has accepted, and the leader none of them", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const seen: Seen = [];
  await using leading = ownDesk(store, "leader", seen, { clock });
  await using following = ownDesk(other, "follower", seen, { clock });
  await leading.worker.start();
  const ids = [await accept(following), await accept(leading), await accept(following)];
  for (const [index, desk] of [following, leading, following].entries()) {
    assert(await desk.worker.ended(ids[index] ?? "", AbortSignal.timeout(10_000)));
  }
  // One that does not perform it sees its end, too.
  assert(await leading.worker.ended(ids[0] ?? "", AbortSignal.timeout(10_000)));
  leading.worker.claim();
  await store.shared?.instances.look();
  assertEquals(
    seen.toSorted(),
    [["follower", ids[0], false], ["leader", ids[1], false], ["follower", ids[2], false]]
      .toSorted(),
  );
  await untilIdle(leading);
  await untilIdle(following);
});

Deno.test("runs that an instance cannot perform, and those with a pace, are the leader's", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const seen: Seen = [];
  await using leading = ownDesk(store, "leader", seen, { clock });
  const canPerform = ({ run }: { run: { project: string } }) => run.project !== "files";
  await using following = ownDesk(other, "follower", seen, { clock, canPerform });
  await leading.worker.start();
  await accept(following);
  const concurrency = { key: "a", limit: 1, when_full: "queue" } as const;
  await following.acceptor.accept(launchOf({ project: "other", pace: { concurrency } }));
  await following.acceptor.accept(launchOf({ project: "other" }));
  await eventually(async () => (await pendingIds(store)).length === 0 ? true : undefined);
  assertEquals(seen.map(([by]) => by).toSorted(), ["follower", "leader", "leader"]);
});

Deno.test("an instance performs its own runs to the last, though memory holds few and no more come", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const seen: Seen = [];
  await using leading = ownDesk(store, "leader", seen, { clock });
  await leading.worker.start();
  const begins = Promise.withResolvers<void>();
  await using following = ownDesk(other, "follower", seen, {
    clock,
    heldMax: 2,
    concurrency: 1,
    async perform({ run, repeated }) {
      await begins.promise;
      seen.push(["follower", run.id, repeated]);
      return [{ action: "none" }];
    },
  });
  const ids: string[] = [];
  for (let count = 0; count < 9; count++) ids.push(await accept(following));
  begins.resolve();
  await untilIdle(following);
  assertEquals(seen.map(([by, id]) => [by, id]), ids.map((id) => ["follower", id]));
  assertEquals(await pendingIds(store), []);
});

Deno.test("the leader leaves the own runs of an instance that lives, and performs those of one that has left", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  const seen: Seen = [];
  await using leading = ownDesk(store, "leader", seen, { clock });
  const other = await follower(kv, clock);
  const id = other.shared?.id ?? "";
  const [earlier = ""] = await storePending(store, [pendingOf({ worker: id, own: true })]);
  await leading.worker.start();
  assertEquals(leading.worker.backlog, 0);
  const [own = ""] = await storePending(store, [pendingOf({ worker: id, own: true })]);
  const [others = ""] = await storePending(store, [pendingOf({ worker: id })]);
  for (let passes = 0; passes < 3; passes++) {
    leading.worker.claim();
    await store.shared?.instances.look();
  }
  await leading.worker.ended(others, AbortSignal.timeout(10_000));
  assertEquals(seen, [["leader", others, true]]);
  assertEquals((await pendingIds(store)).toSorted(), [earlier, own].toSorted());
  await other.close();
  await eventually(() => seen.length > 2 ? true : undefined);
  await untilIdle(leading);
  assertEquals(seen.slice(1).map(([, id]) => id).toSorted(), [earlier, own].toSorted());
});

Deno.test("the end of a run is not stored by an instance that was taken for gone, and is stored once", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  const seen: Seen = [];
  await using leading = ownDesk(store, "leader", seen, { clock });
  await leading.worker.start();
  const ending = Promise.withResolvers<ActionOutcome[]>();
  await using other = await follower(kv, clock);
  const following = ownDesk(other, "follower", seen, { clock, perform: () => ending.promise });
  const id = await accept(following);
  await store.shared?.instances.look();
  await store.committer.write(removeInstanceWrites(other.shared?.id ?? ""));
  await eventually(() => seen.length > 0 ? true : undefined);
  await untilIdle(leading);
  const ended = await getRun(store, id);
  assertEquals([seen, ended?.status], [[["leader", id, true]], "completed"]);
  ending.resolve([{ action: "none", error: "too late" }]);
  await assertRejects(() => other.intake.write([{ key: ["any"], value: 1 }]), UnavailableError);
  await following.worker.close(0);
  assertEquals((await getRun(other, id))?.status, "completed");
});

Deno.test("an instance that becomes the leader performs its own runs and those of others once", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const first = await sharedStore(kv, clock);
  const seen: Seen = [];
  await using other = await follower(kv, clock);
  const held: PromiseWithResolvers<ActionOutcome[]> = Promise.withResolvers();
  await using following = ownDesk(other, "follower", seen, {
    clock,
    heldMax: 2,
    concurrency: 1,
    perform({ run, repeated }) {
      seen.push(["follower", run.id, repeated]);
      return held.promise;
    },
  });
  const ids = [await accept(following), await accept(following), await accept(following)];
  const gone = pendingOf({ worker: first.shared?.id ?? "", own: true });
  ids.push(...await storePending(first, [gone]));
  ids.push(...await storePending(first, [pendingOf({ worker: first.shared?.id ?? "" })]));
  await first.close();
  const { lead } = await import("../../src/store/kv_store.ts");
  await lead(other, "memory");
  await following.worker.start();
  ids.push(await accept(following));
  held.resolve([{ action: "none" }]);
  await eventually(async () => (await pendingIds(other)).length === 0 ? true : undefined);
  await untilIdle(following);
  assertEquals(seen.map(([, id]) => id).toSorted(), ids.toSorted());
});

Deno.test("an instance performs a run of its own whose sender has gone, and that a repeat has named", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const seen: Seen = [];
  await using store = await sharedStore(kv, clock);
  await using leading = ownDesk(store, "leader", seen, { clock });
  await leading.worker.start();
  const [sent, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = watchedKv(kv, async (commit, store) => {
    const result = await store();
    if (result.ok && commit.keys.some(([kind]) => kind === "delivery")) {
      sent.resolve();
      await answered.promise;
    }
    return result;
  });
  await using other = await follower(late, clock);
  await using following = ownDesk(other, "follower", seen, { clock });
  let hasGone = false;
  const options = { delivery: { id: "a", window_s: 60 } };
  const end = following.acceptor.accept(launchOf({ ...options, isAbandoned: () => hasGone }))
    .then(() => "", messageOf);
  await sent.promise;
  hasGone = true;
  const repeat = await leading.acceptor.accept(launchOf(options));
  assert("repeatOf" in repeat);
  answered.resolve();
  assertEquals(await end, "Cannot store: the sender does not wait any more");
  await eventually(async () => (await pendingIds(store)).length === 0 ? true : undefined);
  assertEquals(seen, [["follower", repeat.repeatOf, false]]);
  await untilIdle(following);
});

Deno.test("a launch of its own that an instance withdraws is not performed, and nothing of it stays", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const seen: Seen = [];
  let hasGone = false;
  const late = watchedKv(kv, async (commit, store) => {
    const result = await store();
    hasGone ||= commit.keys.some(([kind]) => kind === "pending");
    return result;
  });
  await using other = await follower(late, clock);
  await using following = ownDesk(other, "follower", seen, { clock });
  await assertRejects(
    () => following.acceptor.accept(launchOf({ isAbandoned: () => hasGone })),
    UnavailableError,
  );
  assertEquals([seen, await pendingIds(other), following.worker.backlog], [[], [], 0]);
  const lanes = [...(await contents(other)).entries()].filter(([key]) => key.includes('"lane"'));
  assertEquals(lanes.every(([, value]) => Object(value).accepted === 0), true);
});
