/** The wrapper of an execution's command: what it leaves for the engine. */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { readExitCode, readMark } from "../../../src/engines/local/control_files.ts";
import { WorkFolder } from "../../../src/engines/local/work_folder.ts";
import { wrapperArguments } from "../../../src/engines/local/wrapper.ts";
import { shell, unmount } from "../../faults/served.ts";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";

/** What root may do anyway, this user may not. */
const NOBODY = 65534;

/**
 * Runs a command in the wrapper, in a work folder that is prepared in a folder.
 *
 * @param asNobody whether it runs, and has the folder, as another user where the tests run as root
 */
async function run(root: string, command: string, { asNobody = false } = {}): Promise<WorkFolder> {
  const folder = new WorkFolder(root, "e");
  for (const name of ["control", "repository", "outputs"]) {
    await Deno.mkdir(`${folder.path}/${name}`, { recursive: true });
  }
  await Deno.writeTextFile(folder.control("command"), command);
  await Deno.writeTextFile(`${folder.path}/control/environment`, "");
  const args = ["sh", ...wrapperArguments({ shell: "/bin/sh", streamBytesMax: 1 << 20 })];
  const isRoot = Deno.statSync(folder.path).uid === 0;
  const user = asNobody && isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if ("uid" in user) await shell(`chmod 755 '${root}'; chown -R ${NOBODY} '${folder.path}'`);
  const wrapper = new Deno.Command("setsid", { args: ["-w", ...args], cwd: folder.path, ...user });
  await wrapper.output();
  return folder;
}

Deno.test("every exit code is left as it is", async () => {
  await using folder = await temporaryFolder();
  for (const code of [0, 1, 8, 9, 42, 255]) {
    const left = await run(`${folder.path}/${code}`, `exit ${code}`);
    assertEquals(readExitCode(left)?.code, code);
    assertEquals(readMark(left)?.hasBegun, true);
  }
});

Deno.test("there is no exit code before the command has ended", async () => {
  await using folder = await temporaryFolder();
  const left = await run(folder.path, "kill -KILL 0");
  assertEquals(readMark(left)?.hasBegun, true);
  assertEquals(readExitCode(left), undefined);
});

Deno.test({
  name: "a command that fills the disk leaves its exit code as soon as there is room",
  ignore: !has("mount"),
  async fn() {
    await using folder = await temporaryFolder();
    await shell(`mount -t tmpfs -o size=2m tmpfs '${folder.path}'`);
    try {
      const left = run(folder.path, "cat /dev/zero >../outputs/all || exit 7");
      await delay(500);
      await Deno.remove(`${folder.path}/e/outputs/all`);
      assertEquals(readExitCode(await left)?.code, 7);
    } finally {
      await unmount(folder.path);
    }
  },
});

Deno.test("a command that takes the rights to its folders leaves its exit code", async () => {
  await using folder = await temporaryFolder();
  const command = "chmod 0 ../control ..; exit 7";
  const left = await run(folder.path, command, { asNobody: true });
  assertEquals(readExitCode(left)?.code, 7);
  assertEquals((Deno.statSync(left.path).mode ?? 0) & 0o700, 0o700);
});

Deno.test("what a command puts in the place of its exit code is removed", async () => {
  await using folder = await temporaryFolder();
  const puts = ["mkfifo $0", "ln -s /dev/full $0", "ln -s nothing $0", "mkdir -p $0/more"];
  for (const [index, put] of puts.entries()) {
    const command = `${put.replace("$0", "../control/exit_code")}; exit 7`;
    const left = await run(`${folder.path}/${index}`, command);
    assertEquals(readExitCode(left)?.code, 7, put);
  }
});

Deno.test("a command that keeps the mark of its long output away is not broken off", async () => {
  await using folder = await temporaryFolder();
  const left = await run(
    folder.path,
    "mkdir ../control/stdout.cut; head -c 3000000 /dev/zero || exit 1; exit 7",
  );
  assertEquals(readExitCode(left)?.code, 7);
});

Deno.test("a wrapper whose folder is gone does not wait for room", async () => {
  await using folder = await temporaryFolder();
  await run(folder.path, `rm -r ${folder.path}/e; exit 7`);
});
