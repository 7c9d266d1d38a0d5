/** The setting `backup` of the configuration file. */
import { assertEquals, assertThrows } from "@std/assert";
import { parseConfig } from "../../../src/config/document.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";

const HOUR_MS = 3_600_000;
const KEEP = { hourly: 24, daily: 7, weekly: 4 };

Deno.test("the setting backup is read, with defaults; a relative folder begins at the file", () => {
  const cases: [text: string, expected: unknown][] = [
    ["{ to: /srv/backups }", { to: "/srv/backups", every_ms: HOUR_MS, keep: KEEP }],
    ["{ to: ./b, every: 15m }", { to: "/etc/b", every_ms: HOUR_MS / 4, keep: KEEP }],
    [
      '{ to: "s3://bucket/p?endpoint=https://s3.example.com", every: 1d, keep: { weekly: 1 } }',
      {
        to: "s3://bucket/p?endpoint=https://s3.example.com",
        every_ms: 24 * HOUR_MS,
        keep: { ...KEEP, weekly: 1 },
      },
    ],
    ["null", undefined],
  ];
  for (const [text, expected] of cases) {
    assertEquals(parseConfig(`backup: ${text}\n`, "/etc/hooklaunch.yaml").backup, expected, text);
  }
});

Deno.test("a mistake in the setting backup is told with its line, what was found and what was expected", () => {
  const cases: [text: string, pointer: string, detail: string][] = [
    ["{ every: 1h }", "/backup/to", "Expected a string, found nothing"],
    ["{ to: /b, every: 1w }", "/backup/every", "Expected a time such as 15m, 1h or 1d"],
    ["{ to: /b, every: 8d }", "/backup/every", "Expected at most 7d"],
    ["{ to: /b, keep: { hourly: -1 } }", "/backup/keep/hourly", "Expected a number of at least 0"],
    ["{ to: /b, keep: { yearly: 1 } }", "/backup/keep", "yearly"],
    ["{ to: ftp://b/p }", "/backup/to", "Expected s3://bucket/prefix"],
    ["{ to: 's3://user:secret@b' }", "/backup/to", "without a user name and a password"],
  ];
  for (const [text, pointer, detail] of cases) {
    const error = assertThrows(
      () => parseConfig(`\nbackup: ${text}\n`, "/etc/hooklaunch.yaml"),
      InvalidInputError,
    );
    const [problem] = error.problems;
    assertEquals(problem?.pointer.startsWith(pointer), true, `${text}: ${JSON.stringify(problem)}`);
    assertEquals(problem?.detail.includes(detail), true, `${text}: ${JSON.stringify(problem)}`);
    assertEquals(JSON.stringify(error.problems).includes("secret"), false);
    assertEquals(/line 2\b/.test(error.message), true, error.message);
  }
});
