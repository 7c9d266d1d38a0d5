/** Which scheduled backups are kept, and their names. */
import { assertEquals } from "@std/assert";
import { backupName, timeOfName } from "../../../src/backup/scheduled/names.ts";
import { type Keep, keptNames } from "../../../src/backup/scheduled/retention.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Wednesday. */
const START_MS = Date.UTC(2026, 0, 14, 10, 30);

/** Makes a backup each so often, removes what is not kept, and returns the times that are left. */
function keptAfter(days: number, every_ms: number, keep: Keep): string[] {
  let names: string[] = [];
  for (let at_ms = START_MS; at_ms <= START_MS + days * DAY_MS; at_ms += every_ms) {
    names.push(backupName(at_ms));
    const kept = keptNames(names, keep);
    names = names.filter((name) => kept.has(name));
  }
  return names.map((name) => new Date(timeOfName(name) ?? 0).toISOString().slice(5, 16)).reverse();
}

Deno.test("the newest of each hour, day and week is kept, also where old ones are removed each time", () => {
  const cases: [what: string, found: string[], expected: string[]][] = [
    [
      "hourly alone",
      keptAfter(2, HOUR_MS, { hourly: 3, daily: 0, weekly: 0 }),
      ["01-16T10:30", "01-16T09:30", "01-16T08:30"],
    ],
    [
      "every ten minutes: one an hour",
      keptAfter(1, 10 * 60_000, { hourly: 3, daily: 0, weekly: 0 }),
      ["01-15T10:30", "01-15T09:50", "01-15T08:50"],
    ],
    [
      "days end at midnight of UTC, weeks on Sunday",
      keptAfter(30, HOUR_MS, { hourly: 2, daily: 3, weekly: 3 }),
      [
        "02-13T10:30",
        "02-13T09:30",
        "02-12T23:30",
        "02-11T23:30",
        "02-08T23:30",
        "02-01T23:30",
      ],
    ],
    [
      "once a day",
      keptAfter(20, DAY_MS, { hourly: 2, daily: 2, weekly: 2 }),
      ["02-03T10:30", "02-02T10:30", "02-01T10:30"],
    ],
    ["nothing", keptAfter(5, HOUR_MS, { hourly: 0, daily: 0, weekly: 0 }), ["01-19T10:30"]],
  ];
  for (const [what, found, expected] of cases) assertEquals(found, expected, what);
});

Deno.test("names are in UTC, and sort by time; other names are none", () => {
  const times = [0, 1, 59, 3_600, 86_400 * 365, 86_400 * 20_000].map((s) => s * 1_000);
  const names = times.map(backupName);
  assertEquals(names.toSorted(), names);
  assertEquals(names.map(timeOfName), times);
  assertEquals(backupName(START_MS), "hooklaunch-20260114T103000Z.tar.gz");
  for (
    const name of [
      "hooklaunch-20260114T103000Z.tar.gz.part",
      ".hooklaunch-20260114T103000Z.tar.gz",
      "hooklaunch-20261314T103000Z.tar.gz",
      "backup.tar.gz",
    ]
  ) assertEquals(timeOfName(name), undefined, name);
});
