/** The wrapper of an execution's command: what it leaves for the engine. */
import { assertEquals } from "@std/assert";
import { existsSync } from "node:fs";
import { readExitCode, readMark } from "../../../src/engines/local/control_files.ts";
import { WorkFolder } from "../../../src/engines/local/work_folder.ts";
import { RESERVED_BYTES, wrapperArguments } from "../../../src/engines/local/wrapper.ts";
import { shell, unmount } from "../../faults/served.ts";
import { has } from "../../needs.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { until } from "../service.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("the wrapper of commands");

/** What root may do anyway, this user may not. */
const NOBODY = 65534;
const STREAM_BYTES_MAX = 1 << 20;

interface RunOptions {
  /** Whether it runs, and has the folder, as another user where the tests run as root. */
  asNobody?: boolean;
  /** The shell that becomes the wrapper. */
  shell?: readonly string[];
  /** A script that comes before the wrapper's. */
  before?: string;
  /** The script that sets the command's variables. */
  environment?: string;
}

/** Runs a command in the wrapper, in a work folder that is prepared in a folder. */
async function run(root: string, command: string, options?: RunOptions): Promise<WorkFolder> {
  const { folder, wrapper } = await start(root, command, options);
  await wrapper.status;
  return folder;
}

async function start(
  root: string,
  command: string,
  { asNobody = false, shell: becomes = ["sh"], before = "", environment = "" }: RunOptions = {},
): Promise<{ folder: WorkFolder; wrapper: Deno.ChildProcess }> {
  const folder = new WorkFolder(root, "e");
  for (const name of ["control", "repository", "outputs"]) {
    await Deno.mkdir(`${folder.path}/${name}`, { recursive: true });
  }
  await Deno.writeTextFile(folder.control("command"), command);
  await Deno.writeTextFile(`${folder.path}/control/environment`, environment);
  const [flag = "", script, ...words] = wrapperArguments({
    shell: "/bin/sh",
    streamBytesMax: STREAM_BYTES_MAX,
  });
  const args = ["-w", ...becomes, flag, `${before}${script}`, ...words];
  const isRoot = Deno.statSync(folder.path).uid === 0;
  const user = asNobody && isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if ("uid" in user) await shell(`chmod 755 '${root}'; chown -R ${NOBODY} '${folder.path}'`);
  const wrapper = new Deno.Command("setsid", {
    args,
    cwd: folder.path,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...user,
  });
  return { folder, wrapper: wrapper.spawn() };
}

/** The programs of a session. */
async function programsOf(session: number): Promise<string[]> {
  const programs = await shell(`ps -s ${session} -o comm=`);
  return programs.trim().split("\n").sort();
}

/** Shells that may be `sh`. Bash before 5.1 makes no pipe for a here-document. */
const SHELLS = [["sh"], ["bash", "--posix"], ["busybox", "sh"], [
  "env",
  "BASH_COMPAT=5.0",
  "bash",
  "--posix",
]];

for (const words of SHELLS) {
  test({
    name: `with ${words.join(" ")} as shell, both streams are kept up to the limit`,
    ignore: words[0] === "busybox" && !has("busybox"),
    async fn() {
      await using folder = await temporaryFolder();
      const command = `echo out; echo err >&2; head -c ${STREAM_BYTES_MAX} /dev/zero; exit 7`;
      const left = await run(folder.path, command, { shell: words });
      assertEquals(readExitCode(left)?.code, 7);
      assertEquals(await Deno.readTextFile(left.control("stderr")), "err\n");
      const { size } = await Deno.stat(left.control("stdout"));
      assertEquals(size, STREAM_BYTES_MAX);
      const marks = [left.control("stdout.cut"), left.control("stderr.cut")];
      const isCut = marks.map((path) => Deno.statSync(path).size !== RESERVED_BYTES);
      assertEquals(isCut, [true, false]);
      assertEquals(existsSync(`${left.path}/control/pipe`), false);
    },
  });
}

test({
  name: "beside a command there are three processes",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using temporary = await temporaryFolder();
    const { folder, wrapper } = await start(temporary.path, "exec sleep 1000");
    await until(() => readMark(folder)?.hasBegun === true);
    const { pid = 0 } = readMark(folder) ?? {};
    // Each begins as a shell, and becomes its program when it comes to it.
    await until(async () => {
      const programs = await programsOf(pid);
      return programs.includes("sleep") && programs.filter((name) => name === "tee").length === 2;
    });
    assertEquals(await programsOf(pid), ["sh", "sleep", "tee", "tee"]);
    await shell(`kill -KILL -${pid}`);
    await wrapper.status;
  },
});

test({
  name: "a session gives way to others from its command on",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folder = await temporaryFolder();
    // Not every kernel knows groups of sessions.
    const ask = "if [ -e /proc/self/autogroup ]; then cat /proc/self/autogroup; fi";
    const tell = (name: string) => `{ ${ask}; } >../outputs/${name}`;
    const environment = `${tell("before")}\n`;
    const { path } = await run(folder.path, tell("during"), { environment });
    const niceOf = async (name: string) =>
      (await Deno.readTextFile(`${path}/outputs/${name}`)).trim().replace(/.* nice /, "");
    const found = [await niceOf("before"), await niceOf("during")];
    assertEquals(found, found[0] === "" ? ["", ""] : ["0", "10"]);
  },
});

/** Makes time pass at once, and counts it in seconds. Leaves it near the end of a day. */
const COUNT_TIME = `
sleep() {
  passed=$((passed + $1))
  [ "$passed" -lt 86000 ] || echo "$passed" >../passed
}
`;

test("a wrapper that cannot leave the exit code ends after a day", async () => {
  await using folder = await temporaryFolder();
  // Nothing removes what is in its place.
  const before = `rm() { :; }\nchmod() { :; }\n${COUNT_TIME}`;
  const left = await run(folder.path, "mkdir ../control/exit_code", { before });
  assertEquals(readMark(left)?.hasBegun, true);
  assertEquals(await Deno.readTextFile(`${folder.path}/passed`), "86400\n");
});

test("without a service, what a command leaves running is killed after a day", async () => {
  await using folder = await temporaryFolder();
  // It is deaf before its shell ends.
  const command = "(trap '' TERM; : >deaf; exec sleep 1000) & " +
    "until [ -e deaf ]; do :; done; echo said; exit 7";
  const left = await run(folder.path, command, { before: COUNT_TIME });
  assertEquals(readExitCode(left)?.code, 7);
  assertEquals(await Deno.readTextFile(left.control("stdout")), "said\n");
  assertEquals(await Deno.readTextFile(`${folder.path}/passed`), "86400\n");
});

test("every exit code is left as it is", async () => {
  await using folder = await temporaryFolder();
  for (const code of [0, 1, 8, 9, 42, 255]) {
    const left = await run(`${folder.path}/${code}`, `exit ${code}`);
    assertEquals(readExitCode(left)?.code, code);
    assertEquals(readMark(left)?.hasBegun, true);
  }
});

test("there is no exit code before the command has ended", async () => {
  await using folder = await temporaryFolder();
  const left = await run(folder.path, "kill -KILL 0");
  assertEquals(readMark(left)?.hasBegun, true);
  assertEquals(readExitCode(left), undefined);
});

test({
  name: "a command that fills the disk leaves its exit code as soon as there is room",
  ignore: !has("mount"),
  async fn() {
    await using folder = await temporaryFolder();
    await shell(`mount -t tmpfs -o size=2m tmpfs '${folder.path}'`);
    try {
      const command = "cat /dev/zero >../outputs/all || { echo said; exit 7; }";
      const { folder: left, wrapper } = await start(folder.path, command);
      const size = () => Deno.stat(left.control("stdout.cut")).then(({ size }) => size, () => 0);
      await until(async () => await size() > RESERVED_BYTES);
      await Deno.remove(`${left.outputs}/all`);
      await wrapper.status;
      assertEquals(readExitCode(left)?.code, 7);
    } finally {
      await unmount(folder.path);
    }
  },
});

test("a command that takes the rights to its folders leaves its exit code", async () => {
  await using folder = await temporaryFolder();
  const command = "chmod 0 ../control ..; exit 7";
  const left = await run(folder.path, command, { asNobody: true });
  assertEquals(readExitCode(left)?.code, 7);
  assertEquals((Deno.statSync(left.path).mode ?? 0) & 0o700, 0o700);
});

test("what a command puts in the place of its exit code is removed", async () => {
  await using folder = await temporaryFolder();
  const puts = ["mkfifo $0", "ln -s /dev/full $0", "ln -s nothing $0", "mkdir -p $0/more"];
  for (const [index, put] of puts.entries()) {
    const command = `${put.replace("$0", "../control/exit_code")}; exit 7`;
    const left = await run(`${folder.path}/${index}`, command);
    assertEquals(readExitCode(left)?.code, 7, put);
  }
});

test("a command that keeps the mark of its long output away is not broken off", async () => {
  await using folder = await temporaryFolder();
  const left = await run(
    folder.path,
    "rm ../control/stdout.cut; mkdir ../control/stdout.cut; head -c 3000000 /dev/zero || exit 1; exit 7",
  );
  assertEquals(readExitCode(left)?.code, 7);
});

test("a wrapper whose folder is gone does not wait for room", async () => {
  await using folder = await temporaryFolder();
  const before = `sleep() { echo waited >'${folder.path}/waited'; exit; }\n`;
  await run(folder.path, `rm -r ${folder.path}/e; exit 7`, { before });
  assertEquals(existsSync(`${folder.path}/waited`), false);
});
