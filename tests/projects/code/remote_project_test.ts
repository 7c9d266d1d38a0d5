/**
 * The addresses and keys of projects: what is accepted when a project is saved, and that nothing of a
 * password is kept or shown.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { parseProject } from "../../../src/config/project.ts";
import { hooklaunch, run } from "../../commands/process.ts";
import { eventually, startService } from "../../data.ts";
import { setUp, TemporaryFolder, textsIn } from "./git_fixture.ts";
import { basic, GitServer } from "./http_server.ts";

Deno.test("project: addresses that git can fetch are saved as they are written", () => {
  for (
    const repository of [
      "https://git.example.com/digits.git",
      "HTTPS://git.example.com:8443/a/b?x=y",
      "https://robot:{env:GIT_TOKEN}@git.example.com/x.git",
      "https://{env:USER_1}:{env:_TOKEN}@git.example.com/x.git",
      "https://{env:GIT_TOKEN}@git.example.com/x.git",
      "https://{env:GIT_TOKEN}:@git.example.com/x.git",
      "http://git.example.com/~me/x@y.git",
      "ssh://git@git.example.com:2222/x.git",
      "git+ssh://git@git.example.com/x.git",
      "git@git.example.com:x.git",
      "git.example.com:x.git",
      "file:///srv/digits.git",
      "/srv/digits.git",
      "git://git.example.com/x.git",
    ]
  ) {
    assertEquals(parseProject({ name: "p", repository }).repository, repository);
  }
});

Deno.test("project: addresses that hold a password or are none are refused, and not shown", () => {
  const variable = /the name of an environment variable.*"https:\/\/user:\{env:GIT_TOKEN\}@/;
  const cases: [repository: string, says: RegExp][] = [
    ["https://robot:s3cr3t@git.example.com/x.git", variable],
    ["https://s3cr3t@git.example.com/x.git", variable],
    ["https://s3cr3t:@git.example.com/x.git", variable],
    ["https://robot:s3cr3t{env:A}@git.example.com/x.git", variable],
    ["https://{env:A}:s3cr3t@git.example.com/x.git", variable],
    ["https://robot:{env:1s3cr3t}@git.example.com/x.git", variable],
    ["https://robot:{env:A}@s3cr3t@git.example.com/x.git", /./],
    ["https://robot:s3cr3t with blanks@git.example.com/x.git", variable],
    ["https://robot:s3cr3t/slash@git.example.com/x.git", /Expected a URL/],
    ["https://robot:s3cr3t#@git.example.com/x.git", /Expected a URL/],
    ["https://git.example.com/{env:A}.git", variable],
    ["https://", /Expected a URL/],
    ["ssh://git:s3cr3t@git.example.com/x.git", /no password/],
    ["ssh://{env:A}@git.example.com/x.git", /no password/],
    ["git@git.example.com:{env:A}.git", variable],
    ["ftp://robot:s3cr3t@git.example.com/x.git", /one of https, http, ssh/],
    ["ext::sh -c true", /a URL, host:path or a path/],
    ["--upload-pack=x", /a URL, host:path or a path/],
    ...[
      "ssh://-oProxyCommand=x/y",
      "ssh://-oProxyCommand=x@h/y",
      "ssh://git@-oProxyCommand=x/y",
      "ssh://%2doProxyCommand=x/y",
      "git+ssh://git@%2DoProxyCommand=x/y",
      "git@-oProxyCommand=x:y",
      "[git@-oProxyCommand=x:22]:y",
      "git@git.example.com:-y",
    ].map((address): [string, RegExp] => [address, /begin with "-", which ssh takes/]),
    ["a\nb", /a URL, host:path or a path/],
    ["", /a URL, host:path or a path/],
    [`https://robot:s3cr3t@git.example.com/${"x".repeat(2_048)}`, /at most 2048 characters/],
  ];
  for (const [repository, says] of cases) {
    const error = assertThrows(() => parseProject({ name: "p", repository }), InvalidInputError);
    assertEquals(error.problems.map(({ pointer }) => pointer), ["/repository"]);
    assertMatch(error.message, says);
    assert(!error.message.includes("s3cr3t"), error.message);
  }
});

Deno.test("project: a deploy key is an absolute path, of a repository that ssh opens", () => {
  const deploy_key = "/etc/hooklaunch/deploy key";
  for (
    const repository of [
      "git@git.example.com:x.git",
      "ssh://git.example.com/x",
      "h:x",
      "git@h-x:y-/-",
    ]
  ) {
    const project = parseProject({ name: "p", repository, deploy_key });
    assertEquals(project, {
      name: "p",
      repository,
      deploy_key,
      config_file: "valohai.yaml",
      engine: { type: "local", runner: "process" },
    });
  }
  const repository = "git@git.example.com:x.git";
  const pasted = "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3t";
  for (
    const project of [
      { repository, deploy_key: "keys/digits" },
      { repository, deploy_key: pasted },
      { repository, deploy_key: `/${pasted}` },
      { repository, deploy_key: "" },
      { repository: "https://git.example.com/x.git", deploy_key },
      { repository: "/srv/x:y.git", deploy_key },
      { directory: "/srv/x", deploy_key },
    ]
  ) {
    const refused = () => parseProject({ name: "p", ...project });
    const error = assertThrows(refused, InvalidInputError);
    assertEquals(error.problems[0]?.pointer, "/deploy_key");
    assert(!error.message.includes("s3cr3t"), error.message);
  }
});

Deno.test("project: a deploy key beside what ssh does not open is refused with what is there instead", () => {
  const cases: [place: { repository: string } | { directory: string }, found: string][] = [
    [{ repository: "https://robot:{env:T}@example.com/x.git" }, '"https://***@example.com/x.git"'],
    [{ directory: "/srv/x" }, "a directory"],
  ];
  for (const [place, found] of cases) {
    const refused = () => parseProject({ name: "p", ...place, deploy_key: "/k" });
    const [problem] = assertThrows(refused, InvalidInputError).problems;
    assert(problem?.detail.endsWith(`such as "git@host:x.git", found ${found}`), problem?.detail);
  }
});

Deno.test("project: the API keeps a deploy key, refuses a password and describes both", async () => {
  await using service = await startService();
  const settings = { name: "p", repository: "git@git.example.com:x.git", deploy_key: "/k" };
  const { status, body } = await service.api("PUT", "projects/p/", settings);
  assertEquals(status, 201);
  assertEquals(body.deploy_key, "/k");
  const { warnings: [warning], ...saved } = body;
  assertEquals(warning.pointer, "/deploy_key");
  assertEquals((await service.api("GET", "projects/p/")).body, saved);
  const literal = { name: "p", repository: "https://robot:s3cr3t@git.example.com/x.git" };
  const refused = await service.api("PUT", "projects/p/", literal);
  assertEquals(refused.status, 422);
  assertEquals(refused.body.errors[0].pointer, "/repository");
  assertStringIncludes(refused.body.errors[0].detail, 'found "https://***@git.example.com/x.git"');
  assert(!JSON.stringify(refused.body).includes("s3cr3t"));
  assertEquals((await service.api("GET", "projects/p/")).body, saved);
  const { body: { components } } = await service.api("GET", "openapi.json");
  const { repository, deploy_key } = components.schemas.Project.properties;
  assertMatch(repository.description, /\{env:GIT_TOKEN\}/);
  assertEquals([repository.type, repository.maxLength], ["string", 2_048]);
  assertMatch(deploy_key.description, /private key file/);
});

Deno.test("project: a token of the environment is in no log, no answer and no file", async () => {
  await using folder = new TemporaryFolder();
  await setUp(folder);
  const token = `${crypto.randomUUID()}-token`;
  const admin = "an-operators-token-for-tests";
  await using git = new GitServer(folder.path, { authorization: basic("robot", token) });
  const config = {
    projects: ["GOOD", "BAD"].map((name) => ({
      name,
      repository: `http://robot:{env:${name}}@${git.host}/remote/.git`,
    })),
    triggers: ["GOOD", "BAD"].map((name) => ({
      name,
      project: name,
      actions: [{ type: "fetch_repository" }, { type: "run_execution", step: "first" }],
    })),
  };
  await Deno.writeTextFile(`${folder.path}/hooklaunch.yaml`, JSON.stringify(config));
  const env = { GOOD: token, BAD: `${token}-wrong`, HOOKLAUNCH_ADMIN_TOKEN: admin };
  const flags = ["--config", `${folder.path}/hooklaunch.yaml`, "--data", `${folder.path}/data`];
  const seen: [where: string, text: string][] = [];
  {
    await using service = hooklaunch(
      ["serve", "--port", "0", "--dev", "--log-level", "debug", ...flags],
      env,
    );
    const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
    const api = async (path: string) => {
      const headers = { authorization: `Bearer ${admin}` };
      const text = await (await fetch(`${url}/api/v0/${path}`, { headers })).text();
      seen.push([path, text]);
      return JSON.parse(text);
    };
    for (const { id, name, url } of (await api("triggers/")).results) {
      await (await fetch(url, { method: "POST" })).body?.cancel();
      const ended = await eventually(async () => {
        const { results: [launched] } = await api(`triggers/${id}/runs/`);
        return launched?.status === "pending" ? undefined : launched;
      });
      const error = ended.actions[0].error ?? "none";
      assertMatch(error, name === "GOOD" ? /^none$/ : /^Cannot fetch/);
      const log = await run(["trigger", "log", name, "--url", url.replace(/\/api.*/, "")], env);
      seen.push([`the log of ${name}`, log.printed]);
    }
    await api("projects/");
    service.child.kill("SIGTERM");
    await service.end();
    seen.push(["the service's log", service.printed()]);
  }
  for await (const found of textsIn(`${folder.path}/data`)) seen.push(found);
  const telling = seen.filter(([, text]) => text.includes(token) || text.includes(btoa(token)));
  assertEquals(telling.map(([where]) => where), []);
  assert(seen.some(([, text]) => text.includes("{env:GOOD}")) && seen.length > 20);
});
