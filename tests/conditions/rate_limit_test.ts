/**
 * The window against the rule, whatever the launches' times: no span of a period ever holds more than
 * the quota, and what was used comes back within 1.02 periods. The log of accepted launches that a
 * test keeps is the measure, not the window.
 */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { rateLimit } from "../../src/conditions/rate_limit.ts";
import { admit, emptyWindow, leftOf, type Quota, settle } from "../../src/runs/rate_window.ts";
import type { RateWindow } from "../../src/store/records/rate_windows.ts";

const START_MS = 1_700_000_000_000;
const SLOTS_MAX = 51;

/** Accepts what it can at each time, and gives the accepted times. */
function launchAt(limit: Quota, times_ms: readonly number[]): number[] {
  let window: RateWindow | undefined;
  return times_ms.filter((now_ms) => {
    const next = admit(window, limit, now_ms);
    window = next ?? window;
    return next !== undefined;
  });
}

Deno.test("admit takes the quota and not one more", () => {
  const limit = { period: 60, quota: 3 };
  assertEquals(launchAt(limit, Array(10).fill(START_MS)).length, 3);
  assertEquals(launchAt({ period: 60, quota: 1 }, [START_MS, START_MS]).length, 1);
});

const boundaries: { name: string; since_ms: number; isAdmitted: boolean; afterFull?: boolean }[] = [
  { name: "at once", since_ms: 0, isAdmitted: false },
  { name: "within the period", since_ms: 999, isAdmitted: false },
  { name: "exactly a period later", since_ms: 1000, isAdmitted: false },
  { name: "more than a period later", since_ms: 1001, isAdmitted: true, afterFull: false },
  { name: "just before 1.02 periods", since_ms: 1019, isAdmitted: true, afterFull: false },
  { name: "1.02 periods later", since_ms: 1020, isAdmitted: true },
];

for (const { name, since_ms, isAdmitted, afterFull = isAdmitted } of boundaries) {
  Deno.test(`a launch at the start of a slot: the next ${name}`, () => {
    const window = admit(undefined, { period: 1, quota: 1 }, START_MS);
    const next = admit(window, { period: 1, quota: 1 }, START_MS + since_ms);
    assertEquals(next !== undefined, isAdmitted);
  });

  Deno.test(`a launch at the start of a slot, and one at its end: the next ${name}`, () => {
    const limit = { period: 1, quota: 2 };
    const window = admit(admit(undefined, limit, START_MS), limit, START_MS + 19);
    assertEquals(admit(window, limit, START_MS + since_ms) !== undefined, afterFull);
  });

  Deno.test(`a slot that an older version has stored: the next ${name}`, () => {
    const window = { total: 1, slots: [[START_MS / 20, 1]] as const };
    const next = admit(window, { period: 1, quota: 1 }, START_MS + since_ms);
    assertEquals(next !== undefined, afterFull);
  });

  Deno.test(`a launch at the end of a slot: the next ${name}`, () => {
    const window = admit(undefined, { period: 1, quota: 1 }, START_MS + 19);
    const next = admit(window, { period: 1, quota: 1 }, START_MS + 19 + since_ms);
    assertEquals(next !== undefined, since_ms > 1000);
  });
}

Deno.test("admit changes nothing that it was given", () => {
  const limit = { period: 1, quota: 5 };
  const first = admit(undefined, limit, START_MS);
  const before = structuredClone(first);
  admit(first, limit, START_MS);
  admit(first, limit, START_MS + 100);
  admit(first, limit, START_MS + 5000);
  admit(first, limit, START_MS - 5000);
  assertEquals(first, before);
  assertEquals(emptyWindow, { total: 0, slots: [] });
});

const limits = fc.record({
  period: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(3600, 86_400, 31_536_000)),
  quota: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 200 })),
});

/** What comes before a launch, in fiftieths of a period: a burst, a step, a long gap. */
const gaps = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.double({ min: 0, max: 0.1, noNaN: true }),
    fc.double({ min: 0, max: 3, noNaN: true }),
    fc.double({ min: 40, max: 60, noNaN: true }),
    fc.constantFrom(1, 49, 50, 51, 52),
  ),
  { minLength: 1, maxLength: 300, size: "max" },
);

function timesOf(period: number, gaps: readonly number[]): number[] {
  let time_ms = START_MS;
  return gaps.map((gap) => time_ms += Math.round(gap * period * 20));
}

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

Deno.test("no span of a period holds more launches than the quota", () => {
  fc.assert(fc.property(limits, gaps, (limit, gaps) => {
    const accepted = launchAt(limit, timesOf(limit.period, gaps));
    assertLessOrEqual(mostWithin(limit.period * 1000, accepted), limit.quota);
  }));
});

Deno.test("a launch is refused only while a quota of launches lies within 1.02 periods", () => {
  fc.assert(fc.property(limits, gaps, (limit, gaps) => {
    const accepted: number[] = [];
    let window: RateWindow | undefined;
    for (const now_ms of timesOf(limit.period, gaps)) {
      const next = admit(window, limit, now_ms);
      if (next) accepted.push(now_ms);
      else {
        const recent = accepted.filter((time_ms) => time_ms > now_ms - limit.period * 1020);
        assert(recent.length >= limit.quota, `${recent.length} of ${limit.quota}`);
      }
      window = next ?? window;
    }
  }));
});

Deno.test("a launch that is refused is admitted within 1.02 periods", () => {
  fc.assert(fc.property(limits, gaps, (limit, gaps) => {
    let window: RateWindow | undefined;
    for (const now_ms of timesOf(limit.period, gaps)) {
      const next = admit(window, limit, now_ms);
      const until_ms = now_ms + limit.period * 1020;
      if (next === undefined) assert(admit(window, limit, until_ms) !== undefined, `${until_ms}`);
      window = next ?? window;
    }
  }));
});

Deno.test("who is refused waits no longer than a period, and is admitted then", () => {
  fc.assert(fc.property(limits, gaps, (limit, gaps) => {
    let window: RateWindow | undefined;
    for (const now_ms of timesOf(limit.period, gaps)) {
      const next = admit(window, limit, now_ms);
      const { more_ms = Infinity } = leftOf(window, limit, now_ms);
      if (next === undefined) {
        assertLessOrEqual(more_ms, now_ms + limit.period * 1000 + 1);
        assert(admit(window, limit, more_ms) !== undefined, `${more_ms}`);
      }
      window = next ?? window;
    }
  }));
});

Deno.test("a window stays small and sound, however long it is used", () => {
  fc.assert(fc.property(limits, gaps, (limit, gaps) => {
    let window: RateWindow | undefined;
    for (const now_ms of timesOf(limit.period, gaps)) {
      window = admit(window, limit, now_ms) ?? window ?? emptyWindow;
      const { slots, total } = window;
      assertLessOrEqual(slots.length, SLOTS_MAX);
      assertEquals(slots.reduce((sum, [, count]) => sum + count, 0), total);
      assert(slots.every(([index], i) => i === 0 || index > (slots[i - 1]?.[0] ?? 0)), "ascends");
    }
  }));
  const busy = launchAt({ period: 1, quota: 1_000_000 }, timesOf(1, Array(500).fill(0.5)));
  assertEquals(busy.length, 500);
});

/** Launches in several lives of a process; in each the wall clock is off by another amount. */
const lives = fc.array(
  fc.record({
    gaps,
    pause: fc.double({ min: 0, max: 10, noNaN: true }),
    setBack: fc.oneof(
      fc.constant(0),
      fc.double({ min: 0, max: 2, noNaN: true }),
      fc.double({ min: 0, max: 200, noNaN: true }),
    ),
  }),
  { minLength: 2, maxLength: 4 },
);

interface Launch {
  real_ms: number;
  isAccepted: boolean;
  life: number;
}

/** Runs all lives and tells what happened in real time. */
function live(
  limit: Quota,
  all: readonly { gaps: number[]; pause: number; setBack: number }[],
) {
  const unit_ms = limit.period * 20;
  const launches: Launch[] = [];
  let real_ms = START_MS;
  let offset_ms = 0;
  let window: RateWindow = emptyWindow;
  all.forEach(({ gaps, pause, setBack }, life) => {
    if (life > 0) {
      real_ms += Math.round(pause * unit_ms);
      offset_ms -= Math.round(setBack * unit_ms);
      window = structuredClone(window);
    }
    for (const gap of gaps) {
      real_ms += Math.round(gap * unit_ms);
      const next = admit(window, limit, real_ms + offset_ms);
      launches.push({ real_ms, isAccepted: next !== undefined, life });
      window = next ?? settle(window, limit.period, real_ms + offset_ms);
    }
  });
  return launches;
}

Deno.test("the quota holds over restarts at which the clock is set back", () => {
  fc.assert(
    fc.property(limits, lives, (limit, lives) => {
      const accepted = live(limit, lives).filter(({ isAccepted }) => isAccepted);
      const times_ms = accepted.map(({ real_ms }) => real_ms);
      assertLessOrEqual(mostWithin(limit.period * 1000, times_ms), limit.quota);
    }),
    { numRuns: 300 },
  );
});

Deno.test("what was used comes back within 1.02 periods of a clock that was set back", () => {
  fc.assert(
    fc.property(limits, lives, (limit, lives) => {
      const launches = live(limit, lives);
      for (const { real_ms, isAccepted, life } of launches) {
        if (isAccepted) continue;
        // The window learns of the clock at the first launch of a life: what was used counts from then.
        const noticed_ms = launches.find((launch) => launch.life === life)?.real_ms ?? 0;
        const recent = launches.filter((launch) =>
          launch.isAccepted && launch.real_ms <= real_ms &&
          Math.max(launch.real_ms, launch.life < life ? noticed_ms : 0) >
            real_ms - limit.period * 1020
        );
        assert(recent.length >= limit.quota, `${recent.length} of ${limit.quota}`);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("machines whose clocks differ by less than a slot gain nothing from taking turns", () => {
  const limit = { period: 1, quota: 100 };
  let window: RateWindow | undefined;
  const accepted: number[] = [];
  for (let real_ms = START_MS; real_ms < START_MS + 3000; real_ms += 5) {
    for (const skew_ms of [0, -15]) {
      const next = admit(window, limit, real_ms + skew_ms);
      if (next) accepted.push(real_ms);
      window = next ?? window;
    }
  }
  assertLessOrEqual(mostWithin(limit.period * 1000 - 20, accepted), limit.quota);
});

Deno.test("settle leaves a window that is of the present as it is", () => {
  const limit = { period: 60, quota: 10 };
  const window = admit(undefined, limit, START_MS);
  assert(settle(window, limit.period, START_MS + 59_000) === window, "is the same object");
  assertEquals(settle(window, limit.period, START_MS + 62_000), { total: 0, slots: [] });
  assertEquals(settle(undefined, limit.period, START_MS), emptyWindow);
});

Deno.test("launches of the present and of a clock that was set back since count once each", () => {
  const limit = { period: 50, quota: 10 };
  const window = admit(admit(undefined, limit, START_MS), limit, START_MS + 1_000);
  const slot = Math.floor(START_MS / 1_000);
  assertEquals(settle(window, limit.period, START_MS), {
    total: 2,
    slots: [[slot, 2, START_MS + 1]],
  });
});

Deno.test("a quota that is lowered holds at once", () => {
  let window: RateWindow | undefined;
  for (let i = 0; i < 10; i++) {
    window = admit(window, { period: 60, quota: 10 }, START_MS + i * 5000);
  }
  const lower = { period: 60, quota: 2 };
  assertEquals(admit(window, lower, START_MS + 46_000), undefined);
  // Until but one of the ten, one each five seconds, is a period and its fiftieth part ago.
  assertEquals(admit(window, lower, START_MS + 40_000 + 60_000 - 1), undefined);
  assert(admit(window, lower, START_MS + 40_000 + 61_200) !== undefined, "is admitted again");
});

const settings: { period: unknown; quota: unknown; isValid: boolean }[] = [
  { period: 1, quota: 1, isValid: true },
  { period: 31_536_000, quota: 1_000_000, isValid: true },
  { period: 0, quota: 1, isValid: false },
  { period: 31_536_001, quota: 1, isValid: false },
  { period: 1, quota: 0, isValid: false },
  { period: 1, quota: 1_000_001, isValid: false },
  { period: 1.5, quota: 1, isValid: false },
  { period: "60", quota: 1, isValid: false },
];

for (const { period, quota, isValid } of settings) {
  Deno.test(`rate_limit: ${quota} in ${period} s is ${isValid ? "taken" : "refused"}`, () => {
    const result = rateLimit.schema.safeParse({ type: "rate_limit", period, quota });
    assertEquals(result.success, isValid);
  });
}
