/** The times of cron expressions over nights of daylight saving, and the occurrence that is due. */
import { assertEquals, assertMatch } from "@std/assert";
import { cronMistake, newestTime, nextTimes } from "../../src/runs/schedule/cron.ts";
import { dueTime, withTime } from "../../src/runs/schedule/due.ts";
import type { Ranges, StoredSchedule } from "../../src/store/records/schedules.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Each night, the expression, and its times in UTC on that night and the next day. */
const NIGHTS: [name: string, zone: string, day: string, cron: string, times: string[]][] = [
  // The clocks go from 3:00 to 4:00 at 1:00 UTC.
  ["left out", "Europe/Helsinki", "2026-03-28T22:00Z", "30 3 * * *", [
    "03-29T01:00",
    "03-30T00:30",
  ]],
  ["left out, its first minute", "Europe/Helsinki", "2026-03-28T22:00Z", "0 3 * * *", [
    "03-29T01:00",
    "03-30T00:00",
  ]],
  ["a list, one of which is left out", "Europe/Helsinki", "2026-03-28T22:00Z", "30 3,12 * * *", [
    "03-29T01:00",
    "03-29T09:30",
    "03-30T00:30",
  ]],
  ["the end of what is left out", "Europe/Helsinki", "2026-03-28T22:00Z", "0 4 * * *", [
    "03-29T01:00",
    "03-30T01:00",
  ]],
  ["steps over what is left out", "Europe/Helsinki", "2026-03-29T00:00Z", "*/30 2-4 * * *", [
    "03-29T00:30",
    "03-29T01:00",
    "03-29T01:30",
    "03-29T23:00",
  ]],
  // The clocks go from 4:00 to 3:00 at 1:00 UTC.
  ["twice", "Europe/Helsinki", "2026-10-24T21:00Z", "30 3 * * *", ["10-25T00:30", "10-26T01:30"]],
  ["a list of what comes twice", "Europe/Helsinki", "2026-10-24T21:00Z", "0,30 3 * * *", [
    "10-25T00:00",
    "10-25T00:30",
    "10-26T01:00",
  ]],
  ["behind what comes twice", "Europe/Helsinki", "2026-10-24T21:00Z", "0 4 * * *", [
    "10-25T02:00",
    "10-26T02:00",
  ]],
  ["each hour", "Europe/Helsinki", "2026-10-24T23:59Z", "0 * * * *", [
    "10-25T00:00",
    "10-25T01:00",
    "10-25T02:00",
    "10-25T03:00",
  ]],
  ["left out in the west", "America/New_York", "2026-03-08T05:00Z", "30 2 * * *", [
    "03-08T07:00",
    "03-09T06:30",
  ]],
  ["twice in the west", "America/New_York", "2026-11-01T04:00Z", "30 1 * * *", [
    "11-01T05:30",
    "11-02T06:30",
  ]],
  // By half an hour.
  ["left out, half an hour", "Australia/Lord_Howe", "2026-10-03T10:00Z", "15 2 * * *", [
    "10-03T15:30",
    "10-04T15:15",
  ]],
  ["twice, half an hour", "Australia/Lord_Howe", "2026-04-04T10:00Z", "45 1 * * *", [
    "04-04T14:45",
    "04-05T15:15",
  ]],
  // Midnight itself is left out, and comes twice.
  ["no midnight", "America/Santiago", "2026-09-06T00:00Z", "@daily", [
    "09-06T04:00",
    "09-07T03:00",
  ]],
  ["no such zone change", "Asia/Kolkata", "2026-03-29T00:00Z", "30 3 * * *", ["03-29T22:00"]],
];

Deno.test("a time that a night leaves out comes at the next moment, and one that comes twice counts once", () => {
  for (const [name, timezone, day, cron, times] of NIGHTS) {
    const from_ms = Date.parse(day);
    const timetable = { cron, timezone };
    const next = nextTimes(timetable, from_ms, times.length);
    assertEquals(next.map((ms) => new Date(ms).toISOString().slice(5, 16)), times, name);
    // Looking back finds the same times, each from the moment at which it comes.
    for (const time_ms of next) {
      for (const later_ms of [0, 1, 999, MINUTE_MS - 1]) {
        assertEquals(newestTime(timetable, time_ms + later_ms), time_ms, name);
      }
      assertEquals((newestTime(timetable, time_ms - 1) ?? 0) < time_ms, true, name);
    }
  }
});

Deno.test("an expression has five fields or is a name, and comes some time", () => {
  const right = [
    "0 3 * * *",
    "*/5 9-17 * * MON-FRI",
    "0 0 1,15 JAN-MAR *",
    "@daily",
    "@hourly",
    "0 0 29 2 *",
  ];
  for (const cron of right) assertEquals(cronMistake(cron), undefined, cron);
  const wrong: [string, RegExp][] = [
    ["0 0 3 * * *", /Expected five fields/],
    ["", /Expected five fields/],
    ["2026-01-01T00:00:00", /Expected five fields/],
    ["@reboot", /./],
    ["61 * * * *", /minute/],
    ["0 24 * * *", /hour/],
    ["0 0 30 2 *", /never does/],
    ["a * * * *", /illegal/],
  ];
  for (const [cron, detail] of wrong) assertMatch(cronMistake(cron) ?? "", detail, cron);
});

const HOURLY: StoredSchedule = {
  name: "hourly",
  cron: "0 * * * *",
  timezone: "UTC",
  missed: "run",
  since_ms: Date.UTC(2026, 0, 1, 0, 30),
};

/** A schedule that is looked at by a clock that a test sets. */
class Look {
  ranges: Ranges = [];
  #before_ms = HOURLY.since_ms;

  constructor(readonly schedule = HOURLY) {}

  /** Looks at a time of a day; returns the hour that is launched. */
  at(time: string, day = 1): string | undefined {
    const now_ms = Date.parse(`2026-01-0${day}T${time}:00Z`);
    const due_ms = dueTime(this.schedule, this.ranges, { now_ms, before_ms: this.#before_ms });
    this.#before_ms = now_ms;
    if (due_ms === undefined) return undefined;
    this.ranges = withTime(this.schedule, this.ranges, due_ms);
    return new Date(due_ms).toISOString().slice(11, 16);
  }
}

Deno.test("each occurrence is due once, whatever the clock does", () => {
  const look = new Look();
  const table: [string, string | undefined][] = [
    ["00:31", undefined],
    ["01:00", "01:00"],
    ["01:00", undefined],
    ["02:03", "02:00"],
    // Three were missed.
    ["05:30", "05:00"],
    ["05:40", undefined],
    // Set back: those that were launched are not launched again, and one that was missed is still to come.
    ["01:30", undefined],
    ["02:00", undefined],
    ["03:00", "03:00"],
    ["04:00", "04:00"],
    ["05:00", undefined],
    ["06:00", "06:00"],
  ];
  for (const [time, due] of table) assertEquals(look.at(time), due, time);
  // Set forward by mistake, and back.
  assertEquals(look.at("09:10", 5), "09:00");
  assertEquals(look.at("06:10"), undefined);
  assertEquals(look.at("07:00"), "07:00");
  assertEquals(look.at("09:00", 5), undefined);
  assertEquals(look.at("10:00", 5), "10:00");
});

Deno.test("a clock that is set to before the schedule was saved launches what comes", () => {
  const look = new Look({ ...HOURLY, since_ms: Date.UTC(2026, 0, 3) });
  assertEquals(look.at("00:30"), undefined);
  assertEquals(look.at("01:00"), "01:00");
});

Deno.test("what was missed by more than five minutes is skipped where it is to be", () => {
  const look = new Look({ ...HOURLY, missed: "skip" });
  assertEquals(look.at("01:05"), "01:00");
  assertEquals(look.at("02:06"), undefined);
  assertEquals(look.at("03:00"), "03:00");
});

Deno.test("occurrences one after the other are one range, and few ranges are kept", () => {
  let ranges: Ranges = [];
  for (let hour = 0; hour < 1_000; hour++) ranges = withTime(HOURLY, ranges, hour * 3_600_000);
  assertEquals(ranges, [[0, 999 * 3_600_000]]);
  for (let day = 100; day < 200; day++) ranges = withTime(HOURLY, ranges, day * DAY_MS);
  assertEquals([ranges.length, ranges.at(-1)], [16, [199 * DAY_MS, 199 * DAY_MS]]);
});
