/** The log of when an instance accepts launches. */
import { assertEquals } from "@std/assert";
import { ObstacleLog } from "../../../src/store/commit/obstacle_log.ts";
import { collectLog } from "../../log_records.ts";

Deno.test("the log says once when an instance ceases to accept launches, why, and when it goes on", async () => {
  await using log = await collectLog("info");
  const obstacles = new ObstacleLog();
  for (
    const obstacle of [
      "it applies its configuration",
      "it applies its configuration",
      undefined,
      undefined,
      "its clock differs by 1200 ms",
      "its clock differs by 1300 ms",
      "the database does not answer",
      undefined,
    ]
  ) obstacles.note(obstacle);
  assertEquals(log.lines(), [
    "info: Not serving yet: it applies its configuration",
    "warning: Not serving: its clock differs by 1200 ms",
    "warning: Not serving: the database does not answer",
    "info: Serving again",
  ]);
});
