/** Runs and deliveries where several instances share one database. */
import { assert, assertEquals, assertInstanceOf, assertLess, assertRejects } from "@std/assert";
import { messageOf, UnavailableError } from "../../src/platform/errors.ts";
import { RunWork, type WorkState } from "../../src/runs/work_state.ts";
import { UndecidedError } from "../../src/store/commit/commit_chain.ts";
import { CLOCK_SPREAD_MAX_MS } from "../../src/store/commit/instance_limits.ts";
import { saveExecution } from "../../src/store/records/executions.ts";
import type { ActionOutcome, Run } from "../../src/store/records/runs.ts";
import { CHUNK_BYTES } from "../../src/store/records/payloads.ts";
import { executionOf } from "../store/execution.ts";
import { contents, sharedStore, standIn, watchedKv } from "../store/fixture.ts";
import type { Store } from "../../src/store/store.ts";
import { eventually, TestClock } from "../surroundings.ts";
import {
  accept,
  launchOf,
  neverEnds,
  openDesk,
  pendingIds,
  pendingOf,
  storePending,
  untilIdle,
} from "./fixture.ts";

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

/** An instance whose commits that accept a run are stored, and answered when a test says so. */
async function heldInstance(
  kv: Deno.Kv,
  clock: TestClock,
  open: (kv: Deno.Kv, clock: TestClock) => Promise<Store> = sharedStore,
) {
  const sent = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const held = watchedKv(kv, async (commit, store) => {
    const result = await store();
    if (result.ok && commit.keys.some(([kind]) => kind === "delivery")) {
      sent.resolve();
      await answered.promise;
    }
    return result;
  });
  const store = await open(held, clock);
  return { store, sent: sent.promise, answer: answered.resolve };
}

/** An instance that does not lead, and serves without waiting until its clock is compared with the leader's. */
async function follower(kv: Deno.Kv, clock: TestClock) {
  const store = await sharedStore(kv, clock, { leads: false });
  Object.defineProperty(store.shared?.instances, "obstacle", { value: undefined });
  return store;
}

Deno.test("a wall clock that jumps at one of two instances gives nothing back, and takes nothing", async () => {
  using kv = await Deno.openKv(":memory:");
  const clocks = [new TestClock(), new TestClock()] as const;
  await using store = await sharedStore(kv, clocks[0]);
  await using other = await follower(kv, clocks[1]);
  await using desk = openDesk(store, { clock: clocks[0] });
  await using otherDesk = openDesk(other, { clock: clocks[1] });
  const launch = launchOf({ quotas: [{ period: 10, quota: 1 }] });
  assert("run" in await desk.acceptor.accept(launch));
  clocks[1].ahead_ms = 3_600_000;
  assert("exhausted" in await otherDesk.acceptor.accept(launch));
  for (const clock of clocks) clock.time_ms += 10_200 + CLOCK_SPREAD_MAX_MS;
  assert("run" in await otherDesk.acceptor.accept(launch));
  for (const clock of clocks) clock.time_ms += 10_200 + CLOCK_SPREAD_MAX_MS;
  await store.shared?.instances.look();
  assert("run" in await desk.acceptor.accept(launch));
});

const GONE = "Cannot store: the sender does not wait any more";
const DELIVERY = { id: "a", window_s: 60 };

for (const isMeanwhile of [false, true]) {
  const when = isMeanwhile ? ", also where it is stored meanwhile" : "";
  Deno.test(`a run that a repeat at another instance has named is not withdrawn any more${when}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const clock = new TestClock();
    const { store, sent, answer } = await heldInstance(kv, clock);
    await using _store = store;
    await using desk = openDesk(store, { clock });
    const options = { quotas: [{ period: 60, quota: 5 }], delivery: DELIVERY };
    let hasGone = false;
    let end: Promise<string> | undefined;
    const leave = async () => {
      const first = desk.acceptor.accept(launchOf({ ...options, isAbandoned: () => hasGone }));
      end = first.then(() => "accepted", messageOf);
      await sent;
      hasGone = true;
    };
    const late = watchedKv(kv, async (commit, store) => {
      if (!hasGone && commit.keys.some(([kind]) => kind === "delivery")) await leave();
      return await store();
    });
    await using other = await follower(late, clock);
    await using otherDesk = openDesk(other, { clock });
    if (!isMeanwhile) await leave();
    const repeat = await otherDesk.acceptor.accept(launchOf(options));
    assert("repeatOf" in repeat);
    answer();
    assertEquals(await end, GONE);
    const stored = await contents(other);
    assert(stored.has(JSON.stringify(["pending", repeat.repeatOf, launchOf().triggerId])));
    assertEquals(await otherDesk.acceptor.accept(launchOf(options)), repeat);
  });
}

Deno.test("the leader performs at once what it was to withdraw, and a repeat at another instance has named", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const { store, sent, answer } = await heldInstance(kv, clock);
  await using _store = store;
  await using other = await follower(kv, clock);
  await using desk = openDesk(store, { clock, perform: () => Promise.resolve([]) });
  await desk.worker.start();
  await using otherDesk = openDesk(other, { clock });
  let hasGone = false;
  const left = launchOf({ delivery: DELIVERY, isAbandoned: () => hasGone });
  const end = desk.acceptor.accept(left).then(() => "accepted", messageOf);
  await sent;
  hasGone = true;
  const repeat = await otherDesk.acceptor.accept(launchOf({ delivery: DELIVERY }));
  assert("repeatOf" in repeat);
  answer();
  assertEquals(await end, GONE);
  assertEquals(await desk.worker.ended(repeat.repeatOf, AbortSignal.timeout(5_000)), true);
  await untilIdle(desk);
});

Deno.test("a repeat at another instance makes a run of its own where the first was withdrawn", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const { store, sent, answer } = await heldInstance(kv, clock);
  await using _store = store;
  await using desk = openDesk(store, { clock });
  let hasGone = false;
  const options = { delivery: DELIVERY };
  const first = desk.acceptor.accept(launchOf({ ...options, isAbandoned: () => hasGone }));
  const end = first.then(() => "accepted", messageOf);
  await sent;
  hasGone = true;
  // Its claim comes after the withdrawal.
  const late = watchedKv(kv, async (commit, store) => {
    if (commit.keys.some(([kind]) => kind === "claimed")) {
      answer();
      assertEquals(await end, GONE);
    }
    return await store();
  });
  await using other = await follower(late, clock);
  await using otherDesk = openDesk(other, { clock });
  const accepted = await otherDesk.acceptor.accept(launchOf(options));
  assert("run" in accepted);
  const kinds = [...(await contents(other)).keys()].map((key) => JSON.parse(key));
  assertEquals(kinds.filter(([kind]) => kind === "pending").map(([, id]) => id), [accepted.run.id]);
});

Deno.test("a withdrawal does not forget that another instance has accepted the delivery again", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const { store, sent, answer } = await heldInstance(kv, clock);
  await using _store = store;
  await using other = await follower(kv, clock);
  await using desk = openDesk(store, { clock });
  await using otherDesk = openDesk(other, { clock });
  let hasGone = false;
  const options = { delivery: DELIVERY };
  const first = desk.acceptor.accept(launchOf({ ...options, isAbandoned: () => hasGone }));
  const end = first.then(() => "accepted", messageOf);
  await sent;
  hasGone = true;
  clock.time_ms += 60_000 + CLOCK_SPREAD_MAX_MS + 1;
  const again = await otherDesk.acceptor.accept(launchOf(options));
  assert("run" in again);
  answer();
  assertEquals(await end, GONE);
  assertEquals(await otherDesk.acceptor.accept(launchOf(options)), { repeatOf: again.run.id });
});

Deno.test("an instance that stops keeps the payload of a launch that may be stored later", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const sent = Promise.withResolvers<() => Promise<unknown>>();
  let isAway = false;
  const away = watchedKv(kv, (commit, store) => {
    if (commit.keys.some(([kind]) => kind === "pending")) {
      isAway = true;
      sent.resolve(store);
    }
    return isAway ? Promise.reject(new TypeError("connect error")) : store();
  });
  const store = await follower(away, clock);
  const artifacts = new Set<string>();
  const put = (key: string) => Promise.resolve(void artifacts.add(key));
  const remove = (key: string) => Promise.resolve(void artifacts.delete(key));
  Object.defineProperty(store, "artifacts", { value: { put, remove } });
  await using desk = openDesk(store, { clock });
  const body = new Uint8Array(3 * CHUNK_BYTES).fill(1);
  const accepting = desk.acceptor.accept(launchOf({ body }));
  const end = accepting.catch((error) => error);
  const arrive = await sent.promise;
  await store.shared?.leave();
  assertInstanceOf(await end, UndecidedError);
  await arrive();
  const kinds = [...(await contents(store)).keys()].map((key) => JSON.parse(key)[0]);
  assertEquals([kinds.includes("pending"), artifacts.size], [true, 1]);
});

Deno.test("what another instance accepts is performed to the last run, though memory holds few and no more come", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const perform = () => Promise.resolve([{ action: "none" }]);
  await using leading = openDesk(store, { clock, perform, heldMax: 2, concurrency: 1 });
  await using following = openDesk(other, { clock });
  assert(store.shared);
  store.shared.instances.onAccepted = (count) => leading.worker.acceptedElsewhere(count);
  await leading.worker.start();
  for (let count = 0; count < 9; count++) await accept(following);
  await eventually(async () => (await pendingIds(store)).length === 0 ? true : undefined);
  await untilIdle(leading);
});

Deno.test("the leader's backlog counts what others accept, and their launches are refused at its limit", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const ending = Promise.withResolvers<ActionOutcome[]>();
  const perform = () => ending.promise;
  const limits = { heldMax: 2, concurrency: 1, backlogMax: 9 };
  await using leading = openDesk(store, { clock, perform, ...limits });
  await using following = openDesk(other, { clock });
  assert(store.shared && other.shared);
  store.shared.instances.onAccepted = (count) => leading.worker.acceptedElsewhere(count);
  store.shared.instances.load = () => leading.worker.load();
  await accept(following);
  await leading.worker.start();
  for (let count = 0; count < 8; count++) await accept(following);
  const { instances } = other.shared;
  await eventually(() => instances.isLeaderFull ? true : undefined);
  await assertRejects(() => accept(following), UnavailableError, "too many runs are pending");
  ending.resolve([{ action: "none" }]);
  await untilIdle(leading);
  await eventually(() => instances.isLeaderFull ? undefined : true);
  await accept(following);
});

Deno.test("while the leader's runs are behind, another instance accepts its part of what ends, and no more", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  let isSilent = false;
  const away = () => Promise.reject(new TypeError("connect error"));
  const leaderKv = watchedKv(kv, (_commit, store) => isSilent ? away() : store());
  await using store = await sharedStore(leaderKv, clock);
  await using other = await follower(kv, clock);
  await using desk = openDesk(other, { clock });
  assert(store.shared && other.shared);
  const { acceptor, worker } = desk;
  /** Has so many launches announced as may be, and returns their number. */
  const announce = () => {
    const ids = [];
    for (; !acceptor.isBusy && ids.length < 10; ids.push(crypto.randomUUID())) {
      worker.expect(ids.length.toString());
    }
    return ids.length;
  };
  assertEquals([announce(), acceptor.slowness], [10, undefined], "runs are not behind");
  await store.shared.instances.look();
  store.shared.instances.load = () => ({ isFull: false, ended: 5 });
  await eventually(() => other.shared?.instances.room ? true : undefined);
  assertEquals(announce(), 2, "half of five");
  assertEquals(acceptor.slowness?.message.includes("runs end more slowly"), true);
  worker.withdraw("0");
  assertEquals(announce(), 1, "one was refused");
  assertEquals(await eventually(() => announce() || undefined), 2, "with the next beat");

  isSilent = true;
  for (let looks = 0; acceptor.isBusy; looks++) {
    assertLess(looks, 30);
    await other.shared.instances.look();
  }
  assertEquals(acceptor.slowness, undefined, "a leader that is gone holds nobody");
});

Deno.test("an instance sees the end of what a run has launched that another one stores", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await follower(kv, clock);
  const execution = executionOf({ status: "started" });
  const save = async (status: "started" | "complete") =>
    await store.committer.commit(saveExecution({ ...execution, status }));
  const looks: WorkState[] = [];
  class Watched extends RunWork {
    override async stateOf(run: Pick<Run, "status" | "actions">): Promise<WorkState> {
      const state = await super.stateOf(run);
      looks.push(state);
      return state;
    }
  }
  await save("started");
  const created = { execution_step: "train", execution_id: execution.id };
  const run = {
    id: execution.run_id,
    status: "completed" as const,
    actions: [{ action: "run_execution", created }],
  };
  let isOver = false;
  const waiting = new Watched({ store: other, clock })
    .ended(run, new AbortController().signal).then(() => isOver = true);
  // Before its second look, one that waits for its own ends would not wait for another's.
  await eventually(() => looks.length >= 2 ? true : undefined);
  assertEquals([new Set(looks), isOver], [new Set(["running"]), false]);
  await save("complete");
  await eventually(() => isOver ? true : undefined);
  await waiting;
  assertEquals(looks.at(-1), "complete");
});

Deno.test("a search for pending runs that fails is made again, and not by the next sweep", async () => {
  using kv = await Deno.openKv(":memory:");
  let failures = 0;
  const failing = watchedKv(kv, async (commit, store) => {
    const kinds = commit.keys.map(([kind]) => kind);
    const isClaim = kinds.includes("claimed") && !kinds.includes("instance");
    if (failures > 0 || !isClaim) return await store();
    failures++;
    throw new TypeError("the connection broke");
  });
  await using store = await sharedStore(failing, new TestClock());
  await using other = await sharedStore(kv, new TestClock(), { leads: false });
  const performed: string[] = [];
  await using desk = openDesk(store, {
    perform: ({ run: { id } }) => {
      performed.push(id);
      return Promise.resolve([{ action: "none" }]);
    },
  });
  const [id = ""] = await storePending(store, [pendingOf({ worker: other.shared?.id ?? "" })]);
  await desk.worker.start();
  await desk.worker.ended(id, AbortSignal.timeout(10_000));
  assertEquals([failures, performed], [1, [id]]);
});

for (const isAtStart of [false, true]) {
  const when = isAtStart ? "while the leader begins" : "between the search and the claim";
  Deno.test(`a launch is not performed that its instance withdraws ${when}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const clock = new TestClock();
    let withdraw = () => Promise.resolve();
    const searched = standIn(kv, {
      async *list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
        yield* kv.list(selector, options);
        if ("prefix" in selector && selector.prefix[0] === "pending") await withdraw();
      },
    });
    await using store = await sharedStore(searched, clock);
    const { store: other, sent, answer } = await heldInstance(kv, clock, follower);
    await using _other = other;
    const performed: string[] = [];
    await using desk = openDesk(store, {
      clock,
      perform({ run: { id } }) {
        performed.push(id);
        return Promise.resolve([{ action: "none" }]);
      },
    });
    await using otherDesk = openDesk(other, { clock });
    if (!isAtStart) await desk.worker.start();
    let hasGone = false;
    const left = launchOf({ delivery: DELIVERY, isAbandoned: () => hasGone });
    const end = otherDesk.acceptor.accept(left).then(() => "accepted", messageOf);
    await sent;
    withdraw = async () => {
      hasGone = true;
      answer();
      assertEquals(await end, GONE);
    };
    if (isAtStart) await desk.worker.start();
    else desk.worker.acceptedElsewhere(1);
    await eventually(() => hasGone || undefined);
    // The one behind it is performed after it, if that is performed.
    const next = await otherDesk.acceptor.accept(launchOf());
    assert("run" in next);
    desk.worker.acceptedElsewhere(1);
    await eventually(() => performed.includes(next.run.id) || undefined);
    assertEquals(performed, [next.run.id]);
    await untilIdle(desk);
  });
}

for (const isListed of [false, true]) {
  const when = isListed ? "after" : "before";
  Deno.test(`an instance counts no launch that it withdraws while it begins to lead, ${when} it has seen it`, async () => {
    using kv = await Deno.openKv(":memory:");
    const clock = new TestClock();
    let withdraw = () => Promise.resolve();
    const searched = standIn(kv, {
      async *list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
        const isSearch = "prefix" in selector && selector.prefix[0] === "pending";
        const found = await Array.fromAsync(kv.list(selector, options));
        if (isSearch && !isListed) await withdraw();
        yield* found;
        if (isSearch && isListed) await withdraw();
      },
    });
    const { store, sent, answer } = await heldInstance(searched, clock);
    await using _store = store;
    await using desk = openDesk(store, { clock, perform: () => Promise.resolve([]) });
    let hasGone = false;
    const left = launchOf({ delivery: DELIVERY, isAbandoned: () => hasGone });
    const end = desk.acceptor.accept(left).then(() => "accepted", messageOf);
    await sent;
    withdraw = async () => {
      hasGone = true;
      answer();
      assertEquals(await end, GONE);
    };
    await desk.worker.start();
    assertEquals(hasGone, true);
    const id = await accept(desk);
    await desk.worker.ended(id, AbortSignal.timeout(10_000));
    assertEquals([desk.worker.backlog, await pendingIds(store)], [0, []]);
  });
}

Deno.test("a launch is not performed that an instance withdraws which has joined during the search", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const sent = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let hasGone = false;
  let end: Promise<string> | undefined;
  await using opened = new AsyncDisposableStack();
  /** Joins, and has a launch stored whose sender goes before it is answered. */
  const join = async () => {
    const held = watchedKv(kv, async (commit, store) => {
      const result = await store();
      if (commit.keys.every(([kind]) => kind !== "pending") || hasGone) return result;
      sent.resolve();
      await answered.promise;
      return result;
    });
    const { acceptor } = opened.use(openDesk(opened.use(await follower(held, clock)), { clock }));
    end = acceptor.accept(launchOf({ isAbandoned: () => hasGone })).then(() => "", messageOf);
    await sent.promise;
    hasGone = true;
  };
  const leading = watchedKv(kv, async (commit, store) => {
    const isClaim = commit.keys.some(([kind]) => kind === "claimed") && end !== undefined;
    if (isClaim) {
      answered.resolve();
      assertEquals(await end, GONE);
    }
    return await store();
  });
  const searched = standIn(leading, {
    async *list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
      yield* kv.list(selector, options);
      const isMarks = "prefix" in selector && selector.prefix[0] === "claimed";
      if (isMarks && end === undefined) await join();
    },
  });
  await using store = await sharedStore(searched, clock);
  const performed: string[] = [];
  await using desk = openDesk(store, {
    clock,
    perform({ run: { id } }) {
      performed.push(id);
      answered.resolve();
      return Promise.resolve([{ action: "none" }]);
    },
  });
  await desk.worker.start();
  await eventually(() => end);
  assertEquals(await end, GONE);
  assertEquals([performed, await pendingIds(store)], [[], []]);
});
