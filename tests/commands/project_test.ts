import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ADMIN_TOKEN, startService, temporaryFolder } from "../data.ts";
import { configFile, GitFixture } from "../projects/code/git_fixture.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch, run as runAlone } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };

Deno.test("project list and project show print what there is", async () => {
  await using service = await startService();
  const digits = {
    name: "digits",
    repository: "ssh://git@git.example.com/digits.git",
    deploy_key: "/etc/hooklaunch/digits",
  };
  await service.api("PUT", "projects/digits/", digits);
  const at = ["--url", service.url];

  const list = await run(["project", "list", ...at], TOKEN);
  assertEquals(list.code, 0, list.printed);
  assertMatch(list.printed, /^NAME +CODE +CONFIGURATION FILE +ENGINE\n/);
  assertMatch(list.printed, /\ndigits +ssh:\/\/git@\S+digits.git +valohai.yaml +local\n/);
  assertMatch(list.printed, /\nfiles +\/\S+\/project +valohai.yaml +local\n/);
  const json = await run(["project", "list", "--json", ...at], TOKEN);
  assertEquals(JSON.parse(json.printed).map(({ name }: { name: string }) => name), [
    "digits",
    "files",
  ]);

  const shown = await run(["project", "show", "digits", ...at], TOKEN);
  assertEquals(shown.code, 0, shown.printed);
  assertMatch(shown.printed, /\nrepository +ssh:\/\/git@git.example.com\/digits.git\n/);
  assertMatch(shown.printed, /\ndeploy_key +\/etc\/hooklaunch\/digits\n/);
  assertMatch(shown.printed, /\nengine +local\nengine.runner +process\n/);
  const record = await run(["project", "show", "digits", "--json", ...at], TOKEN);
  assertEquals(
    JSON.parse(record.printed),
    (await service.api("GET", "projects/digits/")).body,
  );

  for (const name of ["nowhere", "../triggers", "..", ".", ""]) {
    const missing = await run(["project", "show", name, ...at], TOKEN);
    assertEquals(missing.code, 1);
    assertStringIncludes(missing.printed, `There is no project "${name}"`);
  }
});

Deno.test("project fetch prints the branches and their commits", async () => {
  await using service = await startService();
  const remote = await GitFixture.make(join(service.folder, "remote"), {
    "valohai.yaml": configFile("first"),
  });
  await remote.git("branch", "feature/one");
  await service.api("PUT", "projects/digits/", { name: "digits", repository: remote.path });
  const newer = await remote.commit({ "a.txt": "a" });
  const older = await remote.git("rev-parse", "feature/one");
  const fetch = (...more: string[]) =>
    run(["project", "fetch", ...more, "--url", service.url], TOKEN);

  const fetched = await fetch("digits");
  assertEquals(fetched.code, 0, fetched.printed);
  assertMatch(fetched.printed, /^BRANCH +COMMIT\n/);
  assertMatch(fetched.printed, new RegExp(`\nfeature/one +${older}\nmain +${newer}\n$`));
  const json = await fetch("digits", "--json");
  assertEquals(JSON.parse(json.printed), { branches: { "feature/one": older, main: newer } });
  assertStringIncludes((await fetch("files")).printed, "There are no branches");

  await Deno.remove(remote.path, { recursive: true });
  const failed = await fetch("digits");
  assertEquals(failed.code, 1);
  assertMatch(failed.printed, /^hooklaunch: The service answered 502: Cannot fetch the repository/);
});

Deno.test("what the server of a repository says moves no cursor, in an error and in the service's log", async () => {
  await using folder = await temporaryFolder();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const headers = { "content-type": "text/plain" };
    return new Response("\x1b]0;title\x07 \x1b[2J \u009b2J refused", { status: 403, headers });
  });
  const id = "01900000-0000-7000-8000-000000000001";
  const trigger = { id, name: "t", project: "p", actions: [{ type: "fetch_repository" }] };
  const repository = `http://127.0.0.1:${server.addr.port}/p.git`;
  const config = `${folder.path}/hooklaunch.yaml`;
  const text = JSON.stringify({ projects: [{ name: "p", repository }], triggers: [trigger] });
  await Deno.writeTextFile(config, text);
  const flags = ["--config", config, "--data", `${folder.path}/data`, "--log-format", "text"];
  await using service = hooklaunch(["serve", "--port", "0", "--dev", ...flags], TOKEN);
  const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  const answer = await fetch(`${url}/api/v0/launch/${id}/`, { method: "POST" });
  assertEquals([answer.status, await answer.text()], [200, '{"status":"accepted"}']);
  await service.expect(/fetch_repository failed: .*refused/);
  const fetched = await run(["project", "fetch", "p", "--url", url], TOKEN);
  assertMatch(fetched.printed, /remote: .*refused/);
  for (const printed of [service.printed(), fetched.printed]) {
    // deno-lint-ignore no-control-regex
    assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(printed), JSON.stringify(printed));
  }
});

Deno.test("project check says what is wrong with a file, where, and how much", async (t) => {
  await using folder = await temporaryFolder();
  const step = (name: string, more = "") =>
    `- step:\n    name: ${name}\n    image: busybox\n    command: echo\n${more}`;
  const pipeline = "- pipeline:\n    name: all\n    nodes:\n" +
    "      - { name: one, type: execution, step: a }\n    edges: []\n";
  const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  const cases: [name: string, text: string | Uint8Array, code: number, says: RegExp][] = [
    ["a mark of UTF-8", "\ufeff" + step("a"), 0, /^1 step: no errors, no warnings\n$/],
    [
      "no UTF-8",
      latin1(step("é")),
      1,
      /^\S+valohai.yaml:2:11: Expected text in UTF-8.*\n\S+: 1 error\n$/,
    ],
    ["one step", step("a"), 0, /^1 step: no errors, no warnings\n$/],
    ["nothing but an empty list", "[]", 0, /^no steps: no errors, no warnings\n$/],
    [
      "steps, a pipeline and warnings",
      "- wish: {}\n" + step("a") + step("b") + step("a") + pipeline,
      0,
      /^\S+:1:3: warning: \/0\/wish: Unknown item "wish".*\n\S+:11:5: warning: \/3\/step\/name: .+\n2 steps, 1 pipeline: no errors, 2 warnings\n$/,
    ],
    [
      "errors",
      "- step:\n    name: a\n    command: echo\n- step: 1\n",
      1,
      /^\S+valohai.yaml:1:3: \/0\/step\/image: Expected .+\n\S+:4:3: \/1\/step: Expected .+\n\S+valohai.yaml: 2 errors\n$/,
    ],
    ["no YAML", "- [\n", 1, /^\S+valohai.yaml:2:1: [^/].*\n\S+: 1 error\n$/],
    ["control characters", '- "\\e[2J": {}\n', 0, /warning: .*\[2J/],
  ];
  const file = join(folder.path, "valohai.yaml");
  for (const [name, text, code, says] of cases) {
    await t.step(name, async () => {
      await Deno.writeFile(file, typeof text === "string" ? new TextEncoder().encode(text) : text);
      const checked = await run(["project", "check", file]);
      assertMatch(checked.printed, says);
      assertEquals(checked.code, code);
      assert(!checked.printed.includes("\u001b"));
    });
  }

  await t.step("strictly", async () => {
    for (const [text, code] of [[step("a"), 0], [step("a") + "- wish: {}\n", 1]] as const) {
      await Deno.writeTextFile(file, text);
      assertEquals((await run(["project", "check", file, "--strict"])).code, code);
    }
  });

  await t.step("as JSON", async () => {
    await Deno.writeTextFile(file, step("a") + step("b") + pipeline + "- wish: {}\n");
    const good = await run(["project", "check", file, "--json"]);
    const { warnings: [warning], ...rest } = JSON.parse(good.printed);
    const found = { steps: ["a", "b"], pipelines: ["all"], endpoints: [], tasks: [] };
    assertEquals(rest, { file, ...found, errors: [] });
    const { message, ...place } = warning;
    assertEquals(place, { line: 14, column: 3, path: "/3/wish" });
    assertMatch(message, /^Unknown item "wish"/);

    await Deno.writeTextFile(file, "- step: 1\n");
    const bad = await run(["project", "check", file, "--json"]);
    assertEquals(bad.code, 1);
    assertEquals(JSON.parse(bad.printed).errors.length, 1);
  });

  await t.step("standard input", async () => {
    for (const path of ["-", "/dev/stdin"]) {
      const empty = await runAlone(["project", "check", path]);
      assertMatch(empty.printed, /^standard input:1:1: Expected a list of items.*found nothing\n/);
      assertEquals(empty.code, 1);
    }
  });

  await t.step("a path that Deno does not open", async () => {
    const { code, printed } = await run(["project", "check", "/dev/full"]);
    assertEquals(code, 1);
    assertMatch(printed, /Cannot read \/dev\/full: Deno does not allow it\n$/);
  });

  await t.step("a file without end", async () => {
    const { code, printed } = await run(["project", "check", "/dev/zero"]);
    assertEquals(code, 1);
    assertMatch(printed, /Cannot read \/dev\/zero: it has over 64 MiB\n$/);
  });

  await t.step("no file", async () => {
    const none = await run(["project", "check", join(folder.path, "nowhere.yaml")]);
    assertEquals(none.code, 1);
    assertMatch(none.printed, /nowhere\.yaml.*No such file/);
  });
});
