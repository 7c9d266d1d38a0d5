/** `hooklaunch execution` as a process of its own, on a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { downloadOutputs, targetOf } from "../../src/commands/api/download.ts";
import { ApiClient } from "../../src/commands/api/client.ts";
import { ADMIN_TOKEN, endOfExecution, startService, temporaryFolder } from "../data.ts";
import { launchCommand, serveRoutes, storeExecution } from "../http/api/fixture.ts";
import { runHosted as run } from "./hosted.ts";
import { HOOKLAUNCH, hooklaunch, HOOKLAUNCH_LINE } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const NONE = "01900000-0000-7000-8000-000000000000";

/** Runs a command and keeps its two streams apart. */
async function runApart(args: string[]) {
  const running = await new Deno.Command(Deno.execPath(), {
    args: [...HOOKLAUNCH, ...args],
    env: { ...TOKEN, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return {
    code: running.code,
    stdout: decoder.decode(running.stdout),
    stderr: decoder.decode(running.stderr),
  };
}

Deno.test("execution list and show print what there is, and nothing that moves the cursor", async () => {
  await using service = await startService();
  const id = await launchCommand(
    service,
    `printf '{"accuracy": 0.9, "note": "\\\\u001b[2J\\\\u0085"}\\n'`,
  );
  await endOfExecution(service, id);
  const url = ["--url", service.url];
  const list = await run(["execution", "list", ...url], TOKEN);
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /^ID +STATUS +TRIGGER +PROJECT +STEP +CREATED +DURATION +BY +REASON\n/);
  assertMatch(
    list.printed,
    new RegExp(`\n${id} +complete +trigger-1 +files +it +20\\S+Z +[\\d.]+ s +sender\n$`),
  );

  const none = await run(["execution", "list", "--project", "digits", ...url], TOKEN);
  assertMatch(none.printed, /^ID +STATUS[^\n]+\n$/);
  const json = await run(["execution", "list", "--status", "complete", "--json", ...url], TOKEN);
  assertEquals(JSON.parse(json.printed).map((each: { id: string }) => each.id), [id]);

  const show = await run(["execution", "show", id, ...url], TOKEN);
  assertEquals(show.code, 0, show.printed);
  assertMatch(show.printed, /\nstatus +complete\n/);
  assertMatch(show.printed, /\nmetadata accuracy +0\.9\n/);
  const shownAsJson = await run(["execution", "show", id, "--json", ...url], TOKEN);
  assertEquals(JSON.parse(shownAsJson.printed).metadata.note, "\u001b[2J\u0085");
  for (const { printed } of [list, show, shownAsJson]) {
    assert(!printed.includes("\u001b") && !printed.includes("\u0085"), printed);
  }
});

Deno.test("what cannot be asked for is an error that says what can", async (t) => {
  await using service = await startService();
  const url = ["--url", service.url];
  const cases: [args: string[], code: number, says: RegExp][] = [
    [["execution", "show", "0190", ...url], 1, /There is no execution whose id begins with 0190/],
    [["execution", "show", NONE, ...url], 1, /404: There is no execution of the id/],
    [["execution", "log", "-f", NONE, ...url], 1, /404: There is no execution of the id/],
    [
      ["execution", "log", "-f", NONE, "--url", "http://127.0.0.1:9"],
      1,
      /Cannot reach the service/,
    ],
    [["execution", "list", "--status", "done", ...url], 1, /Allowed choices are created, queued/],
    [["execution", "list", "--project", "..", ...url], 1, /\/project: .*found ".."/],
    [["execution", "list", "--limit", "0", ...url], 1, /Expected a whole number from 1/],
    [["execution", "log", "--help"], 0, /3 +the execution was stopped/],
  ];
  for (const [args, code, says] of cases) {
    await t.step(args.join(" "), async () => {
      const ended = await run(args, TOKEN);
      assertEquals(ended.code, code, ended.printed);
      assertMatch(ended.printed, says);
    });
  }
});

Deno.test("execution log keeps the streams apart, and gives all as it is to what is no terminal", async () => {
  await using service = await startService();
  const id = await launchCommand(service, `printf '\\033[31mred\\a\\n'; echo bad >&2; exit 4`);
  await endOfExecution(service, id);
  const args = ["execution", "log", id, "--url", service.url];
  const plain = await run(args, TOKEN);
  assertEquals(plain.code, 0);
  assertEquals(plain.stdout, "\x1b[31mred\x07\n");
  assertStringIncludes(plain.stderr, "bad\n");
  assertStringIncludes(plain.stderr, "hooklaunch: The command ended with exit code 4\n");

  const followed = await runApart([...args, "--follow"]);
  assertEquals(followed.code, 2, "it ended as an error");
  assertEquals([followed.stdout, followed.stderr], [plain.stdout, plain.stderr]);

  const json = await run([...args, "--json"], TOKEN);
  const lines = json.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.filter(({ stream }) => stream === "stderr").map(({ message }) => message), [
    "bad",
  ]);
  assertEquals(json.stderr, "");
});

Deno.test("execution log prints all lines, however many there are", async () => {
  await using routes = await serveRoutes();
  const id = await storeExecution(routes.store);
  const messages = Array.from({ length: 20_001 }, (_, index) => `line ${index}`);
  for (let at = 0; at < messages.length; at += 1_000) {
    routes.engine.print(...messages.slice(at, at + 1_000));
  }
  const { code, stdout } = await runApart(["execution", "log", id, "--url", routes.url]);
  assertEquals(code, 0);
  assertEquals(stdout.split("\n"), [...messages, ""]);
});

Deno.test("execution log -f goes on when the service has stopped and started again, and exits by the end", async () => {
  await using folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/project`);
  const gate = `${folder.path}/gate`;
  await Deno.writeTextFile(
    `${folder.path}/project/valohai.yaml`,
    `- step:\n    name: it\n    image: debian\n    command: ` +
      `for i in 1 2 3; do echo before $i; done; until [ -e ${gate} ]; do sleep 0.05; done; echo after\n`,
  );
  const config = `${folder.path}/hooklaunch.yaml`;
  await Deno.writeTextFile(
    config,
    `projects: [{ name: p, directory: ./project }]\n` +
      `triggers: [{ name: t, project: p, actions: [{ type: run_execution, step: it }] }]\n`,
  );
  const serve = (port: string) =>
    hooklaunch([
      ...["serve", "--dev", "--port", port, "--data", `${folder.path}/data`, "--config", config],
      ...["--log-format", "text", "--stop-timeout", "1"],
    ], TOKEN);
  const first = serve("0");
  const [, url = "", port = ""] = await first.expect(/reached as (http:\S+:(\d+)),/);
  const client = new ApiClient({ url, token: ADMIN_TOKEN });
  const [trigger] = await client.list<{ url: string }>("triggers/");
  await (await fetch(trigger?.url ?? "", { method: "POST" })).body?.cancel();
  let id = "";
  while (id === "") [{ id } = { id: "" }] = await client.list<{ id: string }>("executions/");
  await using log = hooklaunch(["execution", "log", "-f", id, "--url", url], TOKEN);
  await log.expect(/before 3\n/);

  first.child.kill("SIGTERM");
  assertEquals((await first.end()).code, 0, first.printed());
  await using second = serve(port);
  await second.expect(/reached as/);
  await Deno.writeTextFile(gate, "");
  assertEquals((await log.end()).code, 0, log.printed());
  const printed = log.printed().split("\n").filter((line) => /^(before|after)/.test(line));
  assertEquals(printed, ["before 1", "before 2", "before 3", "after"]);
  second.child.kill("SIGTERM");
  await second.end();
});

Deno.test("a follower whose reader has gone ends", async () => {
  await using service = await startService();
  const id = await launchCommand(service, "while :; do echo x; sleep 0.02; done");
  const line = `${HOOKLAUNCH_LINE} execution log -f ${id} --url ${service.url} | head -n 1`;
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", line],
    env: TOKEN,
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "x\n");
  await service.api("POST", `executions/${id}/stop/`);
  await endOfExecution(service, id);
});

Deno.test("an export and an answer whose reader has gone are no errors", async () => {
  await using service = await startService();
  await service.trigger({ name: "hello" });
  for (const args of ["export", "send hello"]) {
    const line =
      `set -o pipefail; ${HOOKLAUNCH_LINE} ${args} --url ${service.url} | sh -c "exec <&-"`;
    const { code, stderr } = await new Deno.Command("bash", {
      args: ["-c", line],
      env: TOKEN,
    }).output();
    assertEquals([args, code, new TextDecoder().decode(stderr)], [args, 0, ""]);
  }
});

Deno.test("what cannot be printed or put into a folder is told without a stack trace", async () => {
  await using service = await startService();
  const id = await launchCommand(service, `echo x; echo x > "$VH_OUTPUTS_DIR/x"`);
  await endOfExecution(service, id);
  for (const args of ["list", `log ${id}`]) {
    const line = `${HOOKLAUNCH_LINE} execution ${args} --url ${service.url} > /dev/full`;
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", line],
      env: TOKEN,
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [
      1,
      "hooklaunch: No space left on device (os error 28)\n",
    ]);
  }
  const file = `${service.folder}/project/valohai.yaml`;
  const args = ["execution", "outputs", id, "--url", service.url, "--download", file];
  const { code, printed } = await run(args, TOKEN);
  assertEquals(code, 1);
  assertMatch(printed, /^hooklaunch: Cannot create the folder ".*valohai.yaml": File exists .*\n$/);
});

Deno.test("outputs are listed, and downloaded into a folder where nothing is replaced", async () => {
  await using service = await startService();
  const id = await launchCommand(
    service,
    `cd "$VH_OUTPUTS_DIR" && mkdir 'a b' && printf one > 'a b/é%.txt' && printf two > two`,
  );
  await endOfExecution(service, id);
  const args = ["execution", "outputs", id, "--url", service.url];
  const list = await run(args, TOKEN);
  assertMatch(list.printed, /^PATH +SIZE +SHA256\na b\/é%\.txt +3 +[0-9a-f]{64}\ntwo +3 +/);

  const shown = await run(["execution", "show", id, "--url", service.url], TOKEN);
  assertMatch(shown.printed, /\noutputs +2\n/);

  const target = `${service.folder}/down`;
  const download = [...args, "--download", target];
  const done = await run(download, TOKEN);
  assertEquals(done.code, 0, done.printed);
  assertEquals(await Deno.readTextFile(`${target}/a b/é%.txt`), "one");
  assertEquals(await Deno.readTextFile(`${target}/two`), "two");

  await Deno.writeTextFile(`${target}/two`, "mine");
  await Deno.remove(`${target}/a b`, { recursive: true });
  const refused = await run(download, TOKEN);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.printed, "two: it exists; --force replaces it");
  assertEquals(await Deno.readTextFile(`${target}/two`), "mine");
  assertEquals([...Deno.readDirSync(target)].length, 1, "nothing else was downloaded");
  assertEquals((await run([...download, "--force"], TOKEN)).code, 0);
  assertEquals(await Deno.readTextFile(`${target}/two`), "two");
  assertEquals([...Deno.readDirSync(target)].length, 2, "nothing is left of a download");
});

/** A body that goes on for as long as somebody reads it. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
}

Deno.test("a download stays in its folder, and is what its checksum says", async (t) => {
  await using folder = await temporaryFolder();
  const root = `${folder.path}/down`;
  await Deno.mkdir(`${root}/sub`, { recursive: true });
  for (const path of ["../x", "/etc/x", "a/../../x", "a//b", "./a", "", ".", "..", "a/.."]) {
    await t.step(`path ${JSON.stringify(path)}`, () => {
      let said = "";
      try {
        targetOf(root, path);
      } catch (error) {
        said = String(error);
      }
      assertStringIncludes(said, "Expected a path inside the folder");
    });
  }
  assertEquals(targetOf("/", "a/b"), "/a/b");
  const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) => new Response(url.endsWith("endless") ? endless() : "hello"),
  );
  const api = new ApiClient({ url: `http://127.0.0.1:${server.addr.port}`, token: "x" });
  const download = async (output: { path: string; size: number; sha256: string }, force = true) => {
    try {
      await downloadOutputs(
        api,
        { id: NONE, outputs: [output] },
        { folder: root, force },
        () => {},
      );
      return "";
    } catch (error) {
      return String(error);
    }
  };
  const good = { path: "sub/file", size: 5, sha256 };
  await t.step("what is right", async () => {
    assertEquals(await download(good), "");
    assertEquals(await Deno.readTextFile(`${root}/sub/file`), "hello");
  });
  const incomplete = 'Cannot download the output "sub/file": its size or checksum is wrong';
  const wrong: [name: string, output: typeof good, says: string][] = [
    ["another checksum", { ...good, sha256: "0".repeat(64) }, incomplete],
    ["too long", { ...good, size: 4 }, incomplete],
    ["too short", { ...good, size: 6 }, incomplete],
    ["a folder in its place", { ...good, path: "sub" }, "it is a folder"],
    ["a file on its way", { ...good, path: "sub/file/x" }, "not a folder"],
    ["a file far up on its way", { ...good, path: "sub/file/x/y" }, "not a folder"],
    ["what does not end", { ...good, path: "sub/endless" }, "its size or checksum is wrong"],
  ];
  for (const [name, output, says] of wrong) {
    await t.step(name, async () => {
      assertStringIncludes(await download(output), says);
      assertEquals([...Deno.readDirSync(`${root}/sub`)].map((entry) => entry.name), ["file"]);
      assertEquals(await Deno.readTextFile(`${root}/sub/file`), "hello");
    });
  }
  await t.step("a link that leads out of the folder", async () => {
    await Deno.mkdir(`${folder.path}/outside`);
    await Deno.symlink(`${folder.path}/outside`, `${root}/link`);
    assertStringIncludes(await download({ ...good, path: "link/file" }), "not a folder");
    await Deno.writeTextFile(`${folder.path}/victim`, "mine");
    await Deno.symlink(`${folder.path}/victim`, `${root}/file`);
    assertStringIncludes(await download({ ...good, path: "file" }, false), "--force");
    assertEquals(await download({ ...good, path: "file" }), "");
    assertEquals(await Deno.readTextFile(`${folder.path}/victim`), "mine", "the link was replaced");
    assertEquals([...Deno.readDirSync(`${folder.path}/outside`)], []);
  });
});

Deno.test("execution stop stops it, and who follows it learns that by the exit code", async () => {
  await using service = await startService();
  const id = await launchCommand(service, "echo begun; sleep 30");
  const url = ["--url", service.url];
  await using log = hooklaunch(["execution", "log", "-f", id, ...url], TOKEN);
  await log.expect(/begun\n/);
  const stopped = await run(["execution", "stop", id, ...url], TOKEN);
  assertEquals(stopped.code, 0);
  assertMatch(stopped.printed, new RegExp(`^Execution ${id} is stopp(ing|ed)\n$`));
  assertEquals((await log.end()).code, 3, log.printed());
});
