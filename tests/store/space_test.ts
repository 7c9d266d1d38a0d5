/** The room on the disk: it is short while there is less than the reserve, and not when nobody can tell. */
import { assertEquals } from "@std/assert";
import { Space } from "../../src/store/space.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";

const looks: { name: string; free_bytes: number | undefined; isShort: boolean }[] = [
  { name: "more than the reserve", free_bytes: 1_001, isShort: false },
  { name: "the reserve", free_bytes: 1_000, isShort: false },
  { name: "less than the reserve", free_bytes: 999, isShort: true },
  { name: "nothing", free_bytes: 0, isShort: true },
  { name: "what cannot be known", free_bytes: undefined, isShort: false },
];

for (const { name, free_bytes, isShort } of looks) {
  Deno.test(`a disk with ${name} left is ${isShort ? "short" : "not short"} of room`, async () => {
    const space = new Space("/", { reserve_bytes: 1_000, look: () => Promise.resolve(free_bytes) });
    await space.look();
    assertEquals(space.isShort, isShort);
  });
}

Deno.test("what is seen changes with each look, and a look that fails changes nothing for the worse", async () => {
  let free_bytes = 0;
  const space = new Space("/", {
    reserve_bytes: 10,
    look: () => free_bytes < 0 ? Promise.reject(new Error("gone")) : Promise.resolve(free_bytes),
  });
  const seen: boolean[] = [];
  for (free_bytes of [0, 10, 9, -1, 0]) {
    await space.look();
    seen.push(space.isShort);
  }
  assertEquals(seen, [true, false, true, false, true]);
});

Deno.test("a disk that hangs is asked once", async () => {
  const hangs = Promise.withResolvers<number>();
  let asked = 0;
  const space = new Space("/", {
    look: () => {
      asked++;
      return hangs.promise;
    },
  });
  const looks = [space.look(), space.look(), space.look()];
  assertEquals(asked, 1);
  hangs.resolve(0);
  await Promise.all(looks);
  assertEquals(space.isShort, true);
});

Deno.test("it looks each second until it is closed", async () => {
  let asked = 0;
  const space = new Space("/", { look: () => Promise.resolve(++asked === 1 ? 0 : 1e9) });
  await space.start();
  assertEquals([asked, space.isShort], [1, true]);
  await eventually(() => space.isShort ? undefined : true);
  await space.close();
});

Deno.test("there is no room without the database's file, however much the disk has", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/db`;
  const space = new Space(folder.path, { file, look: () => Promise.resolve(1e9) });
  const seen: boolean[] = [];
  for (const there of [true, false, true]) {
    if (there) await Deno.writeTextFile(file, "");
    else await Deno.remove(file);
    await space.look();
    seen.push(space.isShort);
  }
  assertEquals(seen, [false, true, false]);
});

Deno.test("the machine's own answer is asked for where that is allowed", async () => {
  await using folder = await temporaryFolder();
  const space = new Space(folder.path, { reserve_bytes: Number.MAX_SAFE_INTEGER });
  await space.look();
  const { state } = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  assertEquals(space.isShort, state === "granted");
});
