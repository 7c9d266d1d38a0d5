/** The agent of a job while the service and the network between fail. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { has } from "../../needs.ts";
import { eventually } from "../../surroundings.ts";
import { AgentFixture, type Fate, proxyTo, SHELLS, spawnDesk } from "./fixture.ts";
import { serveDesk } from "./served_desk.ts";

const ignore = !has("curl");
const CA = Deno.readTextFileSync(new URL("../localhost_ca.pem", import.meta.url));

/** A job with every step there is. */
const COMMAND = `
echo start
for i in 1 2 3 4 5 6; do echo "line $i"; echo "error $i" >&2; sleep 0.15; done
echo one >../outputs/one
echo two >../outputs/two
exit 5`;

async function expectWhole(fixture: AgentFixture, id: string) {
  const { desk } = fixture;
  const lines = (name: string) => [1, 2, 3, 4, 5, 6].map((i) => `${name} ${i}\n`).join("");
  assertEquals(desk.stream(id, "stdout"), `start\n${lines("line")}`);
  assertEquals(desk.stream(id, "stderr"), lines("error"));
  assertEquals(desk.state(id).end?.exitCode, 5);
  for (const name of ["one", "two"]) {
    const output = await desk.artifacts.open(`executions/${id}/outputs/${name}`);
    assertEquals(await new Response(output?.stream).text(), `${name}\n`);
  }
  assertEquals(fixture.left(), []);
}

for (const shell of SHELLS.filter((shell) => shell !== "busybox sh" || has("busybox"))) {
  Deno.test(`each request is lost, and then its answer is cut (${shell})`, { ignore }, async () => {
    await using fixture = new AgentFixture();
    await using served = serveDesk(fixture.desk);
    const fates: Fate[] = ["drop", "cut", "pass"];
    await using proxy = proxyTo(() => served.port, (nth) => fates[nth % 3] ?? "pass");
    const job = fixture.give(COMMAND);
    const agent = fixture.start({ url: proxy.url, job, shell });
    assertEquals(await agent.ended(), { code: 0, printed: "" });
    await expectWhole(fixture, job.id);
    assert(proxy.count > 30);
  });
}

Deno.test("an end whose answer is lost is told again, though the job takes no messages any more", {
  ignore,
}, async () => {
  await using fixture = new AgentFixture();
  const { desk } = fixture;
  const job = fixture.give(COMMAND);
  let ends = 0;
  const end = desk.end.bind(desk);
  desk.end = async (...told) => {
    await end(...told);
    if (++ends === 1) throw new Error("The answer is lost");
  };
  await using served = serveDesk(desk);
  const url = `http://127.0.0.1:${served.port}`;
  // It sends a message each time that it waits.
  const agent = fixture.start({ url, job, env: { HOOKLAUNCH_SILENCE: "0" } });
  assertEquals(await agent.ended(), { code: 0, printed: "" });
  assertEquals(ends, 2);
  await expectWhole(fixture, job.id);
});

Deno.test("the service is killed at each step, before it answers and after, and started again", {
  ignore,
}, async () => {
  await using fixture = new AgentFixture();
  let desk = await spawnDesk(fixture.deskFolder);
  const { port } = desk;
  // Requests come at once: two services on one folder would not know of each other.
  let restarted = Promise.resolve();
  const restart = () => {
    return restarted = restarted.then(async () => {
      desk.child.kill("SIGKILL");
      await desk.child.status;
      desk = await spawnDesk(fixture.deskFolder, port);
    });
  };
  let kills = 0;
  try {
    await using proxy = proxyTo(() => port, async (nth) => {
      // Each request comes twice at least: it kills the service before it is passed on, then after.
      if (nth % 2 === 1) return "pass";
      kills++;
      await restart();
      return nth % 4 === 0 ? "drop" : "cut";
    });
    const job = fixture.give(COMMAND);
    const agent = fixture.start({ url: proxy.url, job });
    assertEquals((await agent.ended()).code, 0);
    await expectWhole(fixture, job.id);
    assert(kills > 8, `${kills} kills`);
  } finally {
    desk.child.kill("SIGKILL");
    await desk.child.status;
  }
});

Deno.test(
  "a command goes on while the service is away, and its lines keep their times",
  { ignore },
  async () => {
    await using fixture = new AgentFixture();
    const job = fixture.give(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.5; done; exit 9",
    );
    let port = 0;
    let isAway = false;
    await using proxy = proxyTo(() => port, () => isAway ? "drop" : "pass");
    await using served = serveDesk(fixture.desk);
    port = served.port;
    const agent = fixture.start({ url: proxy.url, job });
    await eventually(() => fixture.desk.stream(job.id, "stdout").includes("2\n") || undefined);
    isAway = true;
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    isAway = false;
    assertEquals((await agent.ended()).code, 0);
    assertEquals(fixture.desk.state(job.id).end?.exitCode, 9);
    assertEquals(
      fixture.desk.stream(job.id, "stdout"),
      Array.from({ length: 12 }, (_, index) => `${index + 1}\n`).join(""),
    );
    const ages = fixture.desk.ages(job.id);
    assert(ages.some((age) => age >= 4), `the ages of the lines: ${ages}`);
    assertEquals(ages[0], 0);
  },
);

Deno.test("limits hold while the service is away", { ignore }, async () => {
  await using fixture = new AgentFixture();
  const mark = join(fixture.folder, "mark");
  const limits = { timeLimitS: 2, graceS: 1 };
  const job = fixture.give(
    `trap 'echo told >"${mark}"' TERM; while :; do sleep 0.1 || true; done`,
    { limits },
  );
  await using served = serveDesk(fixture.desk);
  const control = (file: string) =>
    fixture.left().some((name) => existing(join(fixture.folder, "work", name, "control", file)));
  // From the begin of the command on.
  let isAway = true;
  await using proxy = proxyTo(
    () => served.port,
    () => isAway && (control("session") || control("exit_code")) ? "drop" : "pass",
  );
  const agent = fixture.start({ url: proxy.url, job });
  await eventually(() => existing(mark));
  await eventually(() => control("exit_code") || undefined);
  isAway = false;
  assertEquals((await agent.ended()).code, 0);
  const { end } = fixture.desk.state(job.id);
  assertEquals([end?.cause, end?.exitCode], ["time_limit", 137]);
});

Deno.test(
  "an agent without an answer gives up in the end, and leaves what there is",
  { ignore },
  async () => {
    await using fixture = new AgentFixture();
    const go = join(fixture.folder, "go");
    const job = fixture.give(
      `echo a line; echo result >../outputs/file; until [ -e ${go} ]; do sleep 0.1; done; exit 6`,
    );
    await using served = serveDesk(fixture.desk);
    let isAway = false;
    await using proxy = proxyTo(() => served.port, () => isAway ? "drop" : "pass");
    const agent = fixture.start({ url: proxy.url, job, env: { HOOKLAUNCH_PATIENCE: "3" } });
    await eventually(() => fixture.desk.stream(job.id, "stdout") === "a line\n" || undefined);
    isAway = true;
    await Deno.writeTextFile(go, "");
    const { code, printed } = await agent.ended();
    assertEquals(code, 1);
    assertStringIncludes(printed, "the service has not answered for 3 s");
    const [name = ""] = fixture.left();
    const folder = join(fixture.folder, "work", name);
    assertEquals(Deno.readTextFileSync(join(folder, "control/exit_code")), "6\n");
    assertEquals(Deno.readTextFileSync(join(folder, "outputs/file")), "result\n");
  },
);

Deno.test("a proxy that answers for the service ends nothing", { ignore }, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const job = fixture.give(COMMAND);
  const counts: Record<string, number> = {};
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const nth = counts[pathname] = (counts[pathname] ?? -1) + 1;
    const wrong = [403, 502, undefined, 409, 200][nth];
    if (wrong !== undefined) return new Response("<h1>proxy</h1>", { status: wrong });
    const url = new URL(request.url);
    url.port = String(served.port);
    return await fetch(new Request(url, request));
  });
  const agent = fixture.start({ url: `http://127.0.0.1:${server.addr.port}`, job });
  assertEquals(await agent.ended(), { code: 0, printed: "" });
  await server.shutdown();
  await expectWhole(fixture, job.id);
});

Deno.test("files by URL come without the token, and by the service where the URL leads nowhere", {
  ignore,
}, async () => {
  await using fixture = new AgentFixture();
  await using served = serveDesk(fixture.desk);
  const seen: (string | null)[] = [];
  const other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    seen.push(request.headers.get("authorization") ?? request.headers.get("hooklaunch-claim"));
    const index = Number(/file(\d+)$/.exec(request.url)?.[1]);
    if (index === 2) return new Response("no such object", { status: 404 });
    return new Response(Deno.readFileSync(`${fixture.deskFolder}/${job.id}/file${index}`));
  });
  const content = new TextEncoder().encode("input\n");
  const files = [{ path: "inputs/a", content }, { path: "inputs/b", content }];
  const job = fixture.give("cat ../inputs/a ../inputs/b", { files });
  fixture.desk.redirectTo = `http://127.0.0.1:${other.addr.port}`;
  const agent = fixture.start({ url: `http://127.0.0.1:${served.port}`, job });
  assertEquals(await agent.ended(), { code: 0, printed: "" });
  await other.shutdown();
  assertEquals(fixture.desk.stream(job.id, "stdout"), "input\ninput\n");
  assertEquals(seen, [null, null, null, null]);
});

Deno.test("a private certificate is trusted where its authority is given, and nowhere else", {
  ignore,
}, async () => {
  await using fixture = new AgentFixture();
  const cert = Deno.readTextFileSync(new URL("../localhost_cert.pem", import.meta.url));
  const key = Deno.readTextFileSync(new URL("../localhost_key.pem", import.meta.url));
  await using served = serveDesk(fixture.desk, { cert, key });
  const url = `https://localhost:${served.port}`;
  const job = fixture.give("echo secure");
  const env = { HOOKLAUNCH_PATIENCE: "1" };
  const distrusting = await fixture.start({ url, job, env }).ended();
  assertEquals(distrusting.code, 1);
  assertStringIncludes(distrusting.printed, "certificate");
  assertEquals((await fixture.start({ url, job, ca: CA }).ended()).code, 0);
  assertEquals(fixture.desk.stream(job.id, "stdout"), "secure\n");
});

function existing(path: string): true | undefined {
  try {
    return Deno.statSync(path) && true;
  } catch {
    return undefined;
  }
}
