/** Calls at times of the wall clock, by names: one timer for all of them. */
import { assertEquals } from "@std/assert";
import type { Clock } from "../../../src/platform/clock.ts";
import { Alarms } from "../../../src/platform/waiting/alarms.ts";

const HOUR_MS = 60 * 60_000;

/** A clock whose calls come when it is moved. */
class SetClock implements Clock {
  now_ms = 0;
  /** How far it was set forward. */
  ahead_ms = 0;
  readonly timers = new Set<{ at_ms: number; call: () => void }>();

  now = () => this.now_ms + this.ahead_ms;
  steady = () => this.now_ms;

  after(delay_ms: number, call: () => void): () => void {
    const timer = { at_ms: this.now_ms + delay_ms, call };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Makes the calls that are due at a time, and those that they ask for. */
  moveTo(now_ms: number): void {
    this.now_ms = now_ms;
    for (;;) {
      const due = [...this.timers].find(({ at_ms }) => at_ms <= now_ms);
      if (due === undefined) return;
      this.timers.delete(due);
      due.call();
    }
  }
}

function setUp(onCall: (name: string, alarms: Alarms) => void = () => {}) {
  const clock = new SetClock();
  const called: string[] = [];
  const alarms = new Alarms(clock, (name) => {
    called.push(name);
    onCall(name, alarms);
  });
  return { clock, alarms, called };
}

Deno.test("alarms: each at its time, those of one time in the order in which they were set", () => {
  const { clock, alarms, called } = setUp();
  const times = Array.from({ length: 200 }, (_, index) => (index * 7_919) % 100);
  for (const [index, at_ms] of times.entries()) alarms.set(`${index}`, at_ms);
  const expected = times.map((at_ms, index) => ({ at_ms, index }))
    .sort((one, other) => one.at_ms - other.at_ms || one.index - other.index)
    .map(({ index }) => `${index}`);
  clock.moveTo(49);
  assertEquals(called, expected.slice(0, 100));
  clock.moveTo(100);
  assertEquals(called, expected);
});

Deno.test("alarms: one that is set again or cancelled does not come at its old time", () => {
  const { clock, alarms, called } = setUp();
  for (const name of ["a", "b", "c"]) alarms.set(name, 10);
  alarms.set("a", 20);
  assertEquals([alarms.cancel("b"), alarms.cancel("b"), alarms.cancel("d")], [true, false, false]);
  clock.moveTo(10);
  assertEquals(called, ["c"]);
  alarms.set("a", 15);
  clock.moveTo(15);
  clock.moveTo(20);
  assertEquals(called, ["c", "a"]);
});

Deno.test("alarms: a call replaces, cancels and sets others, also of the same time", () => {
  const { clock, alarms, called } = setUp((name, alarms) => {
    if (name !== "a") return;
    alarms.cancel("b");
    alarms.set("c", 30);
    alarms.set("d", 0);
  });
  for (const name of ["a", "b", "c"]) alarms.set(name, 10);
  clock.moveTo(10);
  assertEquals(called, ["a", "d"]);
  clock.moveTo(30);
  assertEquals(called, ["a", "d", "c"]);
});

Deno.test("alarms: one timer, little memory for those that were replaced, and none once closed", () => {
  const { clock, alarms, called } = setUp();
  for (let index = 0; index < 10_000; index++) alarms.set("one", 1_000 + index);
  alarms.set("two", 5_000);
  assertEquals(clock.timers.size, 1);
  clock.moveTo(5_000);
  assertEquals(called, ["two"]);
  alarms.close();
  assertEquals(clock.timers.size, 0);
  clock.moveTo(20_000);
  assertEquals(called, ["two"]);
});

Deno.test("alarms: a clock that is set forward holds up none that is set afterwards", () => {
  const { clock, alarms, called } = setUp();
  alarms.set("half an hour", HOUR_MS / 2);
  clock.ahead_ms = 5 * HOUR_MS;
  alarms.set("soon", 5 * HOUR_MS + 10);
  clock.moveTo(10);
  assertEquals(called, ["half an hour", "soon"]);
});

Deno.test("alarms: years ahead", () => {
  const { clock, alarms, called } = setUp();
  const years_ms = 10 * 365 * 24 * HOUR_MS;
  alarms.set("later", years_ms);
  const [{ at_ms } = { at_ms: NaN }] = clock.timers;
  assertEquals(at_ms, HOUR_MS);
  clock.moveTo(HOUR_MS);
  assertEquals(called, []);
  clock.moveTo(years_ms - 1);
  assertEquals(called, []);
  clock.moveTo(years_ms);
  assertEquals(called, ["later"]);
});
