/** The room for values of a request: what does not fit is left out whole, and said. */
import { assert, assertEquals } from "@std/assert";
import { ValueRoom } from "../../src/triggers/value_room.ts";

Deno.test("a value that does not fit is left out, and shorter ones after it are kept", () => {
  const room = new ValueRoom({ hasLongActions: false });
  const taken = [["a", 3_000], ["b", 2_000], ["c", 1_000], ["b", 2_000]] as const;
  assertEquals(taken.map(([name, length]) => room.take(name, length)), [true, false, true, false]);
  assertEquals(room.leftOut, ["b"]);
  assertEquals(new ValueRoom({ hasLongActions: true }).take("a", 600), false);
});

Deno.test("the names of what is left out are few and short", () => {
  const room = new ValueRoom({ hasLongActions: false });
  for (let count = 0; count < 1_000; count++) room.take(`${count}-${"n".repeat(200)}`, 5_000);
  assert(room.leftOut.join("").length <= 512);
  assertEquals([room.leftOut.length, room.leftOut.at(-1)], [5, "…"]);
});
