import { assertEquals } from "@std/assert";
import { LoadWindow } from "../../src/runs/load_window.ts";

Deno.test("a crowd is so many at once, window after window", () => {
  const crowd = new LoadWindow(20, 8);
  for (let now_ms = 0; now_ms <= 100; now_ms += 5) {
    crowd.note(now_ms % 20 === 10 ? 9 : 1, now_ms);
    assertEquals(crowd.lasts(now_ms), now_ms >= 40, `after ${now_ms} ms`);
  }
  assertEquals(crowd.lasts(119), true, "still, while the window lasts in which none was");
  assertEquals(crowd.lasts(140), false, "but not when it is over");
});

Deno.test("a burst is no crowd, however many come in it", () => {
  const crowd = new LoadWindow(20, 8);
  for (let now_ms = 0; now_ms < 20; now_ms++) crowd.note(1_000, now_ms);
  crowd.note(0, 19);
  for (const now_ms of [20, 39, 40, 41, 60, 80, 1_000]) assertEquals(crowd.lasts(now_ms), false);
});

Deno.test("a crowd that has left is forgotten, after a short and after a long time", () => {
  for (const pause_ms of [60, 90, 1_000_000]) {
    const crowd = new LoadWindow(20, 8);
    for (let now_ms = 0; now_ms < 60; now_ms++) crowd.note(10, now_ms);
    crowd.note(0, 60);
    assertEquals(crowd.lasts(60), true);
    assertEquals(crowd.lasts(60 + pause_ms), false, `${pause_ms} ms later`);
    crowd.note(10, 60 + pause_ms);
    assertEquals(crowd.lasts(61 + pause_ms), false, "one window is no crowd again");
  }
});

Deno.test("few at once are no crowd, however fast they come", () => {
  const crowd = new LoadWindow(20, 8);
  for (let now_ms = 0; now_ms < 1_000; now_ms += 0.25) {
    crowd.note(7, now_ms);
    assertEquals(crowd.lasts(now_ms), false);
  }
});

Deno.test("those that wait for one long commit stay a crowd until it has ended", () => {
  const crowd = new LoadWindow(20, 8);
  for (let count = 1; count <= 10; count++) crowd.note(count, 0);
  for (const now_ms of [40, 60, 1_000, 1_010]) assertEquals(crowd.lasts(now_ms), true);
  crowd.note(0, 1_010);
  assertEquals(crowd.lasts(1_080), false);
});
