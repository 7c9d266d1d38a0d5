/** The agent of a job, as a plain process, and the routes that it asks. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { has } from "../../needs.ts";
import { eventually } from "../../surroundings.ts";
import type { FolderDesk } from "./desk.ts";
import { AgentFixture, SHELLS } from "./fixture.ts";
import { serveDesk } from "./served_desk.ts";

const ignore = !has("curl");
const shells = SHELLS.filter((shell) => shell !== "busybox sh" || has("busybox"));

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

async function sizeOf(desk: FolderDesk, key: string): Promise<number | undefined> {
  const found = await desk.artifacts.open(key);
  await found?.stream.cancel();
  return found?.size;
}

function localUrl({ port }: { port: number }): string {
  return `http://127.0.0.1:${port}`;
}

for (const shell of shells) {
  Deno.test(`a job runs from its claim to its end (${shell})`, { ignore }, async () => {
    await using fixture = new AgentFixture();
    await using served = serveDesk(fixture.desk);
    const env: Record<string, string> = { SECRET: "of the machine" };
    if (shell === "busybox sh") {
      // Every program but curl is one of busybox.
      const tools = join(fixture.folder, "tools");
      const script = 'busybox --install -s "$0" && ln -s "$(command -v curl)" "$0/curl"';
      Deno.mkdirSync(tools);
      await new Deno.Command("sh", { args: ["-c", script, tools] }).output();
      env.HOOKLAUNCH_TEST_PATH = tools;
    }
    const command = `
cat "../inputs/data/a b" program
echo to stderr >&2
echo "$GREETING, SECRET is '\${SECRET-}', token is '\${token-}'"
mkdir -p ../outputs/sub
echo result >"../outputs/sub/größe"
head -c 100000 /dev/zero >../outputs/zeros
ln -s zeros ../outputs/link
printf 'no line break'
exit 7`;
    const tar = await new Deno.Command("sh", {
      args: ["-c", 'cd "$0" && echo code >program && tar -cf - program', fixture.folder],
    }).output();
    const job = fixture.give(command, {
      environment: { GREETING: "hello" },
      files: [
        { path: "inputs/data/a b", content: bytes("input\n") },
        { path: "repository", kind: "tar", content: tar.stdout.slice() },
      ],
    });
    const agent = fixture.start({ url: localUrl(served), job, shell, env });
    assertEquals(await agent.ended(), { code: 0, printed: "" });
    const { desk } = fixture;
    assertEquals(
      desk.stream(job.id, "stdout"),
      "input\ncode\nhello, SECRET is '', token is ''\nno line break",
    );
    assertEquals(desk.stream(job.id, "stderr"), "to stderr\n");
    assertEquals(desk.state(job.id).end?.exitCode, 7);
    assertEquals(desk.state(job.id).end?.notUploaded, []);
    assertEquals(desk.state(job.id).end?.passedOver, ["link"]);
    const key = `executions/${job.id}/outputs`;
    assertEquals(await sizeOf(desk, `${key}/zeros`), 100_000);
    const output = await desk.artifacts.open(`${key}/sub/größe`);
    assertEquals(await new Response(output?.stream).text(), "result\n");
    assertEquals(fixture.left(), []);
  });

  Deno.test(
    `a stop ends the whole session, in the end with SIGKILL (${shell})`,
    { ignore },
    async () => {
      await using fixture = new AgentFixture();
      await using served = serveDesk(fixture.desk);
      const command = `
trap 'echo asked to end' TERM
set -m
sh -c 'trap "" TERM; echo $$ >"../outputs/pid"; while :; do sleep 0.2; done' &
while :; do sleep 0.1 || true; echo on; done`;
      const job = fixture.give(command);
      const agent = fixture.start({ url: localUrl(served), job, shell });
      await eventually(() => fixture.desk.stream(job.id, "stdout").includes("on") || undefined);
      fixture.desk.stop(job.id);
      assertEquals((await agent.ended()).code, 0);
      const { end } = fixture.desk.state(job.id);
      assertEquals([end?.cause, end?.exitCode], ["stopped", 137]);
      assertStringIncludes(fixture.desk.stream(job.id, "stdout"), "asked to end\n");
      const output = await fixture.desk.artifacts.open(`executions/${job.id}/outputs/pid`);
      const pid = (await new Response(output?.stream).text()).trim();
      assertMatch(pid, /^\d+$/);
      const { stdout } = await new Deno.Command("sh", {
        args: ["-c", 'kill -0 "$0" 2>/dev/null && cat "/proc/$0/stat"; echo over', pid],
      }).output();
      assertMatch(new TextDecoder().decode(stdout), /^(\S+ \S+ Z.*\n)?over\n$/);
    },
  );
}

Deno.test("limits of time and of silence end the command", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const url = localUrl(served);
  const cases = [
    {
      cause: "time_limit",
      limits: { timeLimitS: 2 },
      command: "while :; do echo on; sleep 0.1; done",
    },
    { cause: "no_output", limits: { noOutputTimeoutS: 2 }, command: "echo once; sleep 60" },
  ] as const;
  await Promise.all(cases.map(async ({ cause, limits, command }) => {
    const job = fixture.give(command, { limits });
    const agent = fixture.start({ url, job });
    assertEquals((await agent.ended()).code, 0);
    assertEquals(fixture.desk.state(job.id).end?.cause, cause);
  }));
});

Deno.test(
  "an agent that is asked to end by its machine ends the command and says so",
  { ignore },
  async () => {
    await using fixture = new AgentFixture();
    await using served = serveDesk(fixture.desk);
    const job = fixture.give(
      "trap 'echo saved; exit 3' TERM; echo on; while :; do sleep 0.1; done",
    );
    const agent = fixture.start({ url: localUrl(served), job });
    await eventually(() => fixture.desk.stream(job.id, "stdout") === "on\n" || undefined);
    agent.child.kill("SIGTERM");
    assertEquals((await agent.ended()).code, 0);
    const { end } = fixture.desk.state(job.id);
    assertEquals([end?.cause, end?.exitCode], ["terminated", 3]);
    assertEquals(fixture.desk.stream(job.id, "stdout"), "on\nsaved\n");
  },
);

Deno.test("of two agents with one token, one runs the command", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const mark = join(fixture.folder, "mark");
  const go = join(fixture.folder, "go");
  const job = fixture.give(`echo ran >>'${mark}'; until [ -e '${go}' ]; do sleep 0.1; done`);
  const agents = [1, 2, 3].map(() => fixture.start({ url: localUrl(served), job }));
  let over = 0;
  const ending = Promise.all(agents.map((agent) => agent.ended().finally(() => over++)));
  // It runs until the others have asked.
  await eventually(() => over === 2 || undefined);
  await Deno.writeTextFile(go, "");
  const ends = await ending;
  assertEquals(ends.map(({ code }) => code), [0, 0, 0]);
  assertEquals(ends.filter(({ printed }) => printed.includes("Another agent has")).length, 2);
  assertEquals(Deno.readTextFileSync(mark), "ran\n");
  assertEquals(fixture.left(), []);
});

Deno.test("an agent with a wrong token runs nothing", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const job = fixture.give("echo ran");
  const other = fixture.give("echo ran");
  for (const token of ["hlj_forged", other.token]) {
    const agent = fixture.start({ url: localUrl(served), job: { ...job, token } });
    const { code, printed } = await agent.ended();
    assertEquals(code, 3);
    assertStringIncludes(printed, "the service refuses this agent");
  }
  assertEquals(fixture.desk.state(job.id).claim, undefined);
  assertEquals(fixture.left(), []);
});

Deno.test("a long log comes byte by byte, long lines too", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const command = `
i=0
while [ $i -lt 20 ]; do
  head -c 150000 /dev/urandom | od -An -v -tx1 | head -c 200000
  printf '\\000line %d\\n' $i
  i=$((i + 1))
done | tee ../outputs/copy
seq 1 2000 >&2`;
  const limits = { streamBytesMax: 16 * 1024 * 1024, outputBytesMax: 16 * 1024 * 1024 };
  const job = fixture.give(command, { limits });
  assertEquals((await fixture.start({ url: localUrl(served), job }).ended()).code, 0);
  const copy = await fixture.desk.artifacts.open(`executions/${job.id}/outputs/copy`);
  const expected = await new Response(copy?.stream).text();
  assert(expected.length > 4_000_000);
  assert(fixture.desk.stream(job.id, "stdout") === expected);
  assertEquals(fixture.desk.stream(job.id, "stderr").split("\n").length, 2_001);
});

Deno.test("what is printed beyond the limit does not stop the command", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const job = fixture.give("seq 1 200000; exit 4", { limits: { streamBytesMax: 100 * 1024 } });
  assertEquals((await fixture.start({ url: localUrl(served), job }).ended()).code, 0);
  assertEquals(fixture.desk.state(job.id).end?.exitCode, 4);
  assertEquals(fixture.desk.stream(job.id, "stdout").length, 100 * 1024);
});

Deno.test("outputs over a limit are passed over and named", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const command = "cd ../outputs; head -c 2000000 /dev/zero >large; touch a b c d; mkfifo pipe";
  const job = fixture.give(command, { limits: { outputsMax: 4 } });
  assertEquals((await fixture.start({ url: localUrl(served), job }).ended()).code, 0);
  assertEquals(fixture.desk.state(job.id).end?.notUploaded, ["large"]);
  assertEquals(fixture.desk.state(job.id).end?.passedOver, ["pipe"]);
  assertEquals(await sizeOf(fixture.desk, `executions/${job.id}/outputs/d`), 0);
});

Deno.test(
  "a file that is not what the manifest says ends the job before its command",
  { ignore },
  async () => {
    await using fixture = new AgentFixture();
    await using served = serveDesk(fixture.desk);
    const job = fixture.give("echo ran", {
      files: [{ path: "inputs/x/y", content: bytes("right") }],
    });
    Deno.writeTextFileSync(`${fixture.deskFolder}/${job.id}/file2`, "wrong");
    assertEquals((await fixture.start({ url: localUrl(served), job }).ended()).code, 0);
    const { end } = fixture.desk.state(job.id);
    assertEquals(end?.exitCode, undefined);
    assertMatch(
      end?.reason ?? "",
      /^Cannot bring inputs\/x\/y: its SHA-256 is [0-9a-f]{64}, expected/,
    );
    assertEquals(fixture.desk.stream(job.id, "stdout"), "");
  },
);

Deno.test("what the command has left running ends with it", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const command = "sh -c 'trap \"echo ended; exit\" TERM; while :; do sleep 0.1; done' & echo over";
  const job = fixture.give(command);
  const began_ms = performance.now();
  assertEquals((await fixture.start({ url: localUrl(served), job }).ended()).code, 0);
  assert(performance.now() - began_ms < 20_000);
  assertEquals(fixture.desk.state(job.id).end?.exitCode, 0);
  assertStringIncludes(fixture.desk.stream(job.id, "stdout"), "over\n");
});
