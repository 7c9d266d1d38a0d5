/**
 * Quotas where they are kept: in the commits of a real database, over restarts, under bursts. The
 * measure is the list of accepted launches that a test keeps, not what the service has counted.
 */
import { assert, assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import fc from "fast-check";
import { serialize } from "node:v8";
import {
  admit,
  leftOf,
  newestTime,
  type Quota,
  smallestByPeriod,
} from "../../src/runs/rate_window.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { Quotas } from "../../src/runs/quotas.ts";
import type { RateWindow } from "../../src/store/records/rate_windows.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestStore, storedUnder, storeInMemory } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { launchOf, openDesk, startDesk, TRIGGER_ID } from "./fixture.ts";

/** The most launches that any span of a period holds, both ends included. */
function mostWithin(period_ms: number, accepted_ms: readonly number[]): number {
  let first = 0;
  let most = 0;
  accepted_ms.forEach((time_ms, last) => {
    while ((accepted_ms[first] ?? 0) < time_ms - period_ms) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}

/** Whether the rule lets a quota refuse a launch: as many launches lie within 1.02 periods. */
function mayRefuse({ period, quota }: Quota, accepted_ms: readonly number[], now_ms: number) {
  return accepted_ms.filter((time_ms) => time_ms > now_ms - period * 1_020).length >= quota;
}

Deno.test("what a window is taken to need holds it, however many slots it has, and is not much more", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const counted = new Quotas(store, clock);
  const limits = [1, 60, 31_536_000].map((period) => ({ period, quota: 1_000_000 }));
  await counted.load(TRIGGER_ID, limits);
  for (let turn = 0; turn < 200; turn++) {
    const admission = counted.admit(TRIGGER_ID, limits);
    assert("writes" in admission);
    for (const { value, bytes = 0 } of admission.writes) {
      const stored = serialize(value).length;
      assertLessOrEqual(stored, bytes);
      assertLessOrEqual(bytes, 2 * stored + 64);
    }
    clock.time_ms += 20;
  }
});

const quotas = fc.uniqueArray(
  fc.record({
    period: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constantFrom(60, 3_600)),
    quota: fc.integer({ min: 1, max: 8 }),
  }),
  { minLength: 1, maxLength: 3, selector: ({ period }) => period },
);

const steps = fc.array(
  fc.record({
    /** In thousandths of the shortest period. */
    pause: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 300 }),
      fc.constantFrom(980, 999, 1_000, 1_001, 1_019, 1_020, 1_021),
      fc.integer({ min: 1_000, max: 20_000 }),
    ),
    burst: fc.integer({ min: 1, max: 12 }),
    restart: fc.constantFrom("none", "none", "none", "idle", "busy"),
  }),
  { minLength: 1, maxLength: 25, size: "max" },
);

Deno.test("no span holds more than a quota, and nothing is refused without need, over restarts", async () => {
  await fc.assert(
    fc.asyncProperty(quotas, steps, async (quotas, steps) => {
      await using open = await openTestStore();
      const clock = new TestClock();
      const accepted_ms: number[] = [];
      const unit_ms = Math.min(...quotas.map(({ period }) => period));
      let desk = openDesk(open.store, { clock });
      for (const { pause, burst, restart } of steps) {
        clock.time_ms += pause * unit_ms;
        const accept = () => desk.acceptor.accept(launchOf({ quotas }));
        if (restart !== "none") {
          // A launch that is under way when the store closes is accepted or not, and told which.
          const cutOff = restart === "busy" ? accept().catch(() => undefined) : undefined;
          await desk.worker.close(0);
          desk = openDesk(await open.reopen(), { clock });
          const answer = await cutOff;
          if (answer && "run" in answer) accepted_ms.push(clock.time_ms);
        }
        const answers = await Promise.all(Array.from({ length: burst }, accept));
        for (const answer of answers) if ("run" in answer) accepted_ms.push(clock.time_ms);
        for (const answer of answers) {
          if (!("exhausted" in answer)) continue;
          assert(
            mayRefuse(answer.exhausted, accepted_ms, clock.time_ms),
            "was refused without need",
          );
        }
      }
      await desk.worker.close(0);
      for (const { period, quota } of quotas) {
        assertLessOrEqual(mostWithin(period * 1_000, accepted_ms), quota);
      }
      assertEquals((await storedUnder(open.store, "pending")).length, accepted_ms.length);
    }),
    { numRuns: 25 },
  );
});

Deno.test("a burst takes the quota and not one more, and says which one is used up", async () => {
  await using store = await storeInMemory();
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const perHour = { period: 3_600, quota: 7 };
  const quotas = [{ period: 60, quota: 100 }, perHour];
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => acceptor.accept(launchOf({ quotas }))),
  );
  const refused = answers.filter((answer) => !("run" in answer));
  assertEquals(refused, Array.from({ length: 43 }, () => ({ exhausted: perHour })));
});

Deno.test("the quotas of one trigger are not those of another", async () => {
  await using store = await storeInMemory();
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const quotas = [{ period: 60, quota: 1 }];
  for (const triggerId of [TRIGGER_ID, TRIGGER_ID.replace("0190", "0191")]) {
    assert("run" in await acceptor.accept(launchOf({ quotas, triggerId })), triggerId);
    assert("exhausted" in await acceptor.accept(launchOf({ quotas, triggerId })), triggerId);
  }
});

Deno.test("a launch that one quota refuses uses up nothing of another", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using desk = openDesk(store, { clock });
  const { acceptor } = desk;
  for (
    const quotas of [
      [{ period: 3_600, quota: 3 }, { period: 10, quota: 1 }],
      [{ period: 10, quota: 1 }, { period: 3_600, quota: 3 }],
    ]
  ) {
    clock.time_ms += 2 * 3_600_000;
    const answers: boolean[] = [];
    for (let turn = 0; turn < 4; turn++) {
      for (let again = 0; again < 5; again++) {
        answers.push("run" in await acceptor.accept(launchOf({ quotas })));
      }
      clock.time_ms += 10_200;
    }
    const firstOfFive = answers.filter((_, index) => index % 5 === 0);
    assertEquals(firstOfFive, [true, true, true, false]);
    assertEquals(answers.filter((isAccepted) => isAccepted).length, 3);
  }
});

Deno.test("a launch that could not be stored gives back what it used", async () => {
  let isBroken = true;
  await using store = await storeInMemory((_commit, store) =>
    isBroken ? Promise.reject(new TypeError("disk is full")) : store()
  );
  await using desk = openDesk(store);
  const { acceptor } = desk;
  const quotas = [{ period: 60, quota: 2 }, { period: 3_600, quota: 3 }];
  const accept = () => acceptor.accept(launchOf({ quotas }));
  for (let turn = 0; turn < 3; turn++) {
    const results = await Promise.allSettled([accept(), accept(), accept()]);
    assertEquals(results.filter(({ status }) => status === "fulfilled"), []);
  }
  isBroken = false;
  const answers = await Promise.all([accept(), accept(), accept()]);
  assertEquals(answers.map((answer) => "run" in answer), [true, true, false]);
});

Deno.test("what one launch gives back is there for the next, which is then told of its run", async () => {
  let commits = 0;
  // The database refuses both launches together, and then the first of them alone.
  await using store = await storeInMemory((_commit, store) =>
    ++commits <= 2 ? Promise.reject(new TypeError("Value too large")) : store()
  );
  await using desk = openDesk(store);
  const quotas = [{ period: 60, quota: 1 }];
  // What is counted so far is in memory then, and both come in one commit.
  await desk.acceptor.exhausted(TRIGGER_ID, quotas);
  const answers = await Promise.allSettled(
    [1, 2].map(() => desk.acceptor.accept(launchOf({ quotas }))),
  );
  const [told, ...others] = answers.flatMap((answer) =>
    answer.status === "fulfilled" ? [answer.value] : []
  );
  assertEquals(others, []);
  assert(told && "run" in told);
  assertEquals(await storedUnder(store, "pending"), [told.run.id]);
});

Deno.test("what a launch uses that cannot be stored keeps no large one from being accepted", async () => {
  const gate = Promise.withResolvers<void>();
  let isBroken = true;
  await using store = await storeInMemory(async (_commit, store) => {
    await gate.promise;
    if (!isBroken) return await store();
    isBroken = false;
    throw new TypeError("disk is full");
  });
  await using desk = openDesk(store);
  const quotas = [{ period: 60, quota: 1 }];
  await desk.acceptor.exhausted(TRIGGER_ID, quotas);
  const small = assertRejects(
    () => desk.acceptor.accept(launchOf({ quotas })),
    UnavailableError,
    "disk is full",
  );
  // Its commit is under way.
  await eventually(() => store.committer.waiting === 0 || undefined);
  const large = desk.acceptor.accept(launchOf({ quotas, body: new Uint8Array(200_000) }));
  gate.resolve();
  await small;
  assert("run" in await large);
});

Deno.test("launches that a quota refuses hold no run back", async () => {
  await using store = await storeInMemory();
  let performed = 0;
  const perform = () => {
    performed++;
    return new Promise<never>(() => {});
  };
  await using desk = await startDesk(store, { perform });
  const quotas = [{ period: 60, quota: 1 }];
  for (let turn = 0; turn < 20; turn++) await desk.acceptor.accept(launchOf({ quotas }));
  for (let turn = 0; turn < 4; turn++) {
    await desk.acceptor.accept(launchOf());
    assertEquals(performed, turn + 2);
    // As long as it takes for a crowd to be one that lasts.
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
});

Deno.test("what was used before a restart counts after it", async () => {
  await using open = await openTestStore();
  const clock = new TestClock();
  const quotas = [{ period: 60, quota: 2 }];
  const accept = async (store: Store) =>
    "run" in await openDesk(store, { clock }).acceptor.accept(launchOf({ quotas }));
  assertEquals([await accept(open.store), await accept(await open.reopen())], [true, true]);
  clock.time_ms += 59_000;
  assertEquals(await accept(await open.reopen()), false);
  const { acceptor } = openDesk(await open.reopen(), { clock });
  assertEquals(await acceptor.exhausted(TRIGGER_ID, quotas), quotas[0]);
  const shown = openDesk(await open.reopen(), { clock }).acceptor;
  assertEquals((await shown.left(TRIGGER_ID, quotas)).map(({ left }) => left), [0]);
  clock.time_ms += 2_200;
  assertEquals(await accept(await open.reopen()), true);
});

Deno.test("launches of several triggers that are stored together count for each after a restart", async () => {
  await using open = await openTestStore();
  const clock = new TestClock();
  const quotas = [{ period: 60, quota: 1 }];
  const triggers = [TRIGGER_ID, TRIGGER_ID.replace("0190", "0191")];
  const accept = async (store: Store) => {
    const { acceptor } = openDesk(store, { clock });
    // What is counted so far is in memory then, and both come in one commit.
    for (const triggerId of triggers) await acceptor.exhausted(triggerId, quotas);
    const answers = triggers.map((triggerId) => acceptor.accept(launchOf({ quotas, triggerId })));
    return (await Promise.all(answers)).map((answer) => "run" in answer);
  };
  assertEquals(await accept(open.store), [true, true]);
  assertEquals(await accept(await open.reopen()), [false, false]);
});

Deno.test("after a restart at which the clock was set back, capacity still comes back", async () => {
  await using open = await openTestStore();
  const clock = new TestClock();
  const quotas = [{ period: 60, quota: 2 }];
  const before = openDesk(open.store, { clock });
  for (let turn = 0; turn < 2; turn++) await before.acceptor.accept(launchOf({ quotas }));

  clock.time_ms -= 24 * 3_600_000;
  await using desk = openDesk(await open.reopen(), { clock });
  const { acceptor } = desk;
  const accept = async () => "run" in await acceptor.accept(launchOf({ quotas }));
  assertEquals(await accept(), false);
  clock.time_ms += 59_000;
  assertEquals(await accept(), false);
  clock.time_ms += 2_200;
  assertEquals([await accept(), await accept(), await accept()], [true, true, false]);
});

Deno.test("a wall clock that jumps while the service runs gives nothing back, and takes nothing", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using desk = openDesk(store, { clock });
  const { acceptor } = desk;
  const quotas = [{ period: 60, quota: 1 }];
  const accept = async () => "run" in await acceptor.accept(launchOf({ quotas }));
  assertEquals(await accept(), true);
  clock.ahead_ms = 3_600_000;
  assertEquals(await accept(), false);
  clock.ahead_ms = -3_600_000;
  clock.time_ms += 61_200;
  assertEquals(await accept(), true);
});

Deno.test("a launch learns of an exhausted quota without using it", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const quotas = new Quotas(store, clock);
  const limits = [{ period: 60, quota: 1 }];
  await quotas.load(TRIGGER_ID, limits);
  assertEquals(quotas.isLoaded(TRIGGER_ID, limits), true);
  assertEquals(quotas.isLoaded(TRIGGER_ID, [...limits, { period: 61, quota: 1 }]), false);
  for (let turn = 0; turn < 3; turn++) {
    assertEquals(quotas.exhausted(TRIGGER_ID, limits), undefined);
  }
  const admission = quotas.admit(TRIGGER_ID, limits);
  assert("writes" in admission);
  assertEquals(quotas.exhausted(TRIGGER_ID, limits), limits[0]);
  admission.undo();
  assertEquals(quotas.exhausted(TRIGGER_ID, limits), undefined);
});

Deno.test("what is left is what is admitted, more comes when it is said, and asking uses up nothing", async () => {
  await fc.assert(
    fc.asyncProperty(quotas, steps, async (limits, steps) => {
      await using store = await storeInMemory();
      const clock = new TestClock();
      clock.ahead_ms = 60_000;
      const counted = new Quotas(store, clock);
      const unit_ms = Math.min(...limits.map(({ period }) => period));
      for (const { pause, burst } of steps) {
        clock.time_ms += pause * unit_ms;
        const before = await counted.left(TRIGGER_ID, limits);
        assertEquals(await counted.left(TRIGGER_ID, limits), before);
        const room = Math.min(...before.map(({ left }) => left));
        const admitted = Array.from({ length: burst }, () => counted.admit(TRIGGER_ID, limits))
          .filter((admission) => "writes" in admission).length;
        assertEquals(admitted, Math.min(room, burst));
        const after = await counted.left(TRIGGER_ID, limits);
        for (const [place, { left, more_ms }] of after.entries()) {
          assertEquals(left, (before[place]?.left ?? 0) - admitted);
          if (more_ms === undefined) continue;
          const { time_ms } = clock;
          clock.time_ms = more_ms - clock.ahead_ms - 1;
          assertEquals((await counted.left(TRIGGER_ID, limits))[place]?.left, left);
          clock.time_ms += 1;
          assert(((await counted.left(TRIGGER_ID, limits))[place]?.left ?? 0) > left);
          clock.time_ms = time_ms;
        }
      }
    }),
    { numRuns: 25 },
  );
});

Deno.test("a quota that was lowered has more only when enough has come back", () => {
  const window: RateWindow = { total: 6, slots: [[100, 4], [110, 2]] };
  const width_ms = 60_000 / 50;
  const left = (quota: number) => leftOf(window, { period: 60, quota }, 112 * width_ms);
  assertEquals(left(7), { left: 1, more_ms: 151 * width_ms });
  assertEquals(left(2), { left: 0, more_ms: 161 * width_ms });
});

Deno.test("of several quotas of one period the smallest counts", () => {
  assertEquals(
    smallestByPeriod([
      { period: 60, quota: 5 },
      { period: 3_600, quota: 1 },
      { period: 60, quota: 2 },
      { period: 60, quota: 9 },
    ]),
    [{ period: 60, quota: 2 }, { period: 3_600, quota: 1 }],
  );
  assertEquals(smallestByPeriod([]), []);
});

Deno.test("no span holds more than a quota when clocks that differ count it in turn", () => {
  const launch = fc.record({ after_ms: fc.nat(400), clock: fc.nat(2) });
  const skews = fc.array(fc.integer({ min: -400, max: 400 }), { minLength: 3, maxLength: 3 });
  const property = fc.property(
    skews,
    fc.array(launch, { minLength: 30, maxLength: 200 }),
    (skews_ms, launches) => {
      const limit = { period: 2, quota: 3 };
      const spread_ms = Math.max(...skews_ms) - Math.min(...skews_ms);
      let window: RateWindow | undefined;
      let time_ms = Date.UTC(2026, 0, 1);
      const taken_ms: number[] = [];
      for (const { after_ms, clock } of launches) {
        time_ms += after_ms;
        const own_ms = time_ms + (skews_ms[clock] ?? 0);
        const now_ms = Math.max(own_ms, newestTime(window, limit.period));
        const next = admit(window, limit, now_ms, spread_ms);
        if (next === undefined) continue;
        window = next;
        taken_ms.push(time_ms);
      }
      for (const [index, last_ms] of taken_ms.entries()) {
        const first_ms = taken_ms[index - limit.quota] ?? -Infinity;
        assertLessOrEqual(limit.period * 1_000, last_ms - first_ms);
      }
    },
  );
  fc.assert(property, { numRuns: 500 });
});
