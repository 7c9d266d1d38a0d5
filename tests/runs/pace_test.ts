import { assertEquals } from "@std/assert";
import { Pace } from "../../src/runs/pace.ts";

Deno.test("a pace is fast from so many in a window until a window has passed without as many", () => {
  const pace = new Pace(50, 3);
  assertEquals(pace.isFast(0), false);
  pace.count(0);
  pace.count(10);
  assertEquals(pace.isFast(10), false, "two are not fast");
  pace.count(49);
  assertEquals(pace.isFast(49), true, "three are");
  assertEquals(pace.isFast(99), true, "still, a window later");
  assertEquals(pace.isFast(150), false, "but not after two");
});

Deno.test("a pace forgets what came long ago", () => {
  const pace = new Pace(50, 3);
  for (let turn = 0; turn < 100; turn++) pace.count(turn * 40);
  assertEquals(pace.isFast(4_000), false, "two in a window are never three");
  for (let turn = 0; turn < 10; turn++) pace.count(5_000);
  assertEquals(pace.isFast(5_000), true);
  assertEquals(pace.isFast(60_000), false);
});
