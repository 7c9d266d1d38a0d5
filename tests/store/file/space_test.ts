/** The room on the disk: it is short while there is less than the reserve, and not when nobody can tell. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Room, Space } from "../../../src/store/file/space.ts";
import { collectLog } from "../../log_records.ts";
import { shell, unmount } from "../../faults/served.ts";
import { has } from "../../needs.ts";
import { eventually, temporaryFolder } from "../../surroundings.ts";

const looks: { name: string; room: Room; isShort: boolean }[] = [
  { name: "more than the reserve", room: { bytes: 1_001, files: 11 }, isShort: false },
  { name: "the reserve", room: { bytes: 1_000, files: 10 }, isShort: false },
  { name: "less than the reserve", room: { bytes: 999, files: 11 }, isShort: true },
  { name: "room for too few files", room: { bytes: 1_001, files: 9 }, isShort: true },
  { name: "nothing", room: { bytes: 0, files: 0 }, isShort: true },
  { name: "what cannot be known", room: {}, isShort: false },
];

for (const { name, room, isShort } of looks) {
  Deno.test(`a disk with ${name} left is ${isShort ? "short" : "not short"} of room`, async () => {
    const reserve = { reserve_bytes: 1_000, reserve_files: 10 };
    const space = new Space("/", { ...reserve, look: () => Promise.resolve(room) });
    await space.look();
    assertEquals(space.isShort, isShort);
  });
}

Deno.test("what is seen changes with each look, and a look that fails changes nothing for the worse", async () => {
  let bytes = 0;
  const space = new Space("/", {
    reserve_bytes: 10,
    look: () => bytes < 0 ? Promise.reject(new Error("gone")) : Promise.resolve({ bytes }),
  });
  const seen: boolean[] = [];
  for (bytes of [0, 10, 9, -1, 0]) {
    await space.look();
    seen.push(space.isShort);
  }
  assertEquals(seen, [true, false, true, false, true]);
});

Deno.test("a disk that hangs is asked once", async () => {
  const hangs = Promise.withResolvers<Room>();
  let asked = 0;
  const space = new Space("/", {
    look: () => {
      asked++;
      return hangs.promise;
    },
  });
  const looks = [space.look(), space.look(), space.look()];
  assertEquals(asked, 1);
  hangs.resolve({ bytes: 0 });
  await Promise.all(looks);
  assertEquals(space.isShort, true);
});

Deno.test("it looks each second until it is closed", async () => {
  let asked = 0;
  const space = new Space("/", { look: () => Promise.resolve({ bytes: ++asked === 1 ? 0 : 1e9 }) });
  await space.start();
  assertEquals([asked, space.isShort], [1, true]);
  await eventually(() => space.isShort ? undefined : true);
  await space.close();
});

Deno.test("the machine's own answer is asked for where that is allowed", async () => {
  await using folder = await temporaryFolder();
  const space = new Space(folder.path, { reserve_bytes: Number.MAX_SAFE_INTEGER });
  await space.look();
  const { state } = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  assertEquals(space.isShort, state === "granted");
});

Deno.test("the parts of a data folder that lie on disks of their own need room as well", async () => {
  const full = new Set<string>();
  const look = (folder: string) => Promise.resolve({ bytes: full.has(folder) ? 0 : 1e9 });
  const space = new Space("/data", { look });
  for (
    const [folder, ...isShort] of [
      ["/data/executions", false, true],
      ["/data/projects", true, false],
    ] as const
  ) {
    full.add(folder);
    await space.look();
    assertEquals([space.isShort, space.isShortForFiles], isShort, folder);
    const since = [space.shortSince_ms, space.filesShortSince_ms];
    assertEquals(since.map((each) => (each ?? Infinity) <= Date.now()), isShort, folder);
    full.delete(folder);
    await space.look();
    assertEquals([space.isShort, space.isShortForFiles], [false, false]);
  }
});

Deno.test("that a part lies on a disk that is away is told once, until it is there again", async () => {
  await using folder = await temporaryFolder();
  await using log = await collectLog("warning");
  const part = `${folder.path}/executions`;
  const disk = `${folder.path}/disk`;
  await Deno.symlink(disk, part);
  const space = new Space(folder.path, { reserve_bytes: 0, reserve_files: 0 });
  for (const isThere of [false, false, true, false]) {
    if (isThere) await Deno.mkdir(disk);
    await space.look();
    if (isThere) await Deno.remove(disk);
  }
  const { state } = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  const said = log.lines();
  assertEquals(said.length, state === "granted" ? 2 : 0, said.join("\n"));
  for (const line of said) assertStringIncludes(line, `how full the disk of ${part} is: `);
});

Deno.test({
  name: "messages are sent while much room is left, more than launches need",
  ignore: !has("mount"),
  async fn() {
    await using folder = await temporaryFolder();
    await shell(`mount -t tmpfs -o size=512m tmpfs '${folder.path}'`);
    try {
      const space = new Space(folder.path, {});
      const leave = async (mib: number) => {
        await shell(`fallocate -l ${512 - mib}m '${folder.path}/filler'`);
        await space.look();
        return { isShort: space.isShort, sends: space.hasRoomForMessage() };
      };
      assertEquals(await leave(260), { isShort: false, sends: true });
      assertEquals(await leave(250), { isShort: false, sends: false });
      assertEquals(await leave(30), { isShort: true, sends: false });
    } finally {
      await unmount(folder.path);
    }
  },
});
