/** Projects whose repositories are read over https without git: from git's own server, and a real Gitea. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../../../src/platform/clock.ts";
import { ActionError } from "../../../../src/platform/errors.ts";
import { Projects, type ProjectsOptions } from "../../../../src/projects/projects.ts";
import type { Project } from "../../../../src/store/records/projects.ts";
import { configFile, GitFixture, projectOf, TemporaryFolder } from "../git_fixture.ts";
import { basic, GitServer } from "../http_server.ts";
import { hosted } from "./fixture.ts";
import { hasNoGitea } from "./gitea.ts";

const TOKEN = "s3cr3t-token";

/** Returns bytes that cannot be compressed. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}

/** A repository behind git's own server, and projects that read it without git. */
async function setUp(folder: TemporaryFolder) {
  const remote = await GitFixture.make(join(folder.path, "remote"), {
    "valohai.yaml": configFile("first"),
    "team a/b.yaml": configFile("inner"),
    "large.bin": "x".repeat(100_000),
  });
  const first = await remote.git("rev-parse", "HEAD");
  await remote.git("tag", "--annotate", "--message=v1", "v1");
  const second = await remote.commit({ "valohai.yaml": configFile("second") });
  const third = await remote.commit({ "valohai.yaml": configFile("third") });
  await remote.git("branch", "feature/x");
  const network = {
    resolve: () => Promise.resolve(["127.0.0.1"]),
    isPublic: () => false,
    caCerts: [],
  };
  const restarted = (options: Partial<ProjectsOptions> = {}) =>
    new Projects({
      dataFolder: join(folder.path, "data"),
      clock: systemClock,
      env: (name) => name === "TOKEN" ? TOKEN : undefined,
      network,
      ...options,
    });
  const projectAt = (host: string): Project => ({
    ...projectOf(`http://robot:{env:TOKEN}@${host}/remote/.git`),
    source: "https",
  });
  return { remote, first, second, third, projects: restarted(), restarted, projectAt };
}

Deno.test("https: references and files are read from git's own server, with credentials", async () => {
  await using folder = new TemporaryFolder();
  const { remote, first, second, third, projects, projectAt } = await setUp(folder);
  await using server = new GitServer(folder.path, { authorization: basic("robot", TOKEN) });
  const project = projectAt(server.host);
  assertEquals(await projects.isKept(project), false);
  assertEquals((await projects.fetch(project)).branches, { "feature/x": third, main: third });
  for (
    const [reference, commit, step] of [
      ["HEAD", third, "third"],
      ["main", third, "third"],
      ["feature/x", third, "third"],
      ["v1", first, "first"],
      [first, first, "first"],
      [third.slice(0, 7), third, "third"],
    ] as const
  ) {
    const { commit: found, config } = await projects.resolve(project, reference);
    assertEquals([reference, found, [...config.steps.keys()]], [reference, commit, [step]]);
  }
  const inner = { ...project, config_file: "team a/b.yaml" };
  assertEquals([...(await projects.resolve(inner, "HEAD")).config.steps.keys()], ["inner"]);
  for (const path of ["nope.yaml", "team a"]) {
    const missing = { ...project, config_file: path };
    await assertRejects(() => projects.resolve(missing, "HEAD"), ActionError, "no such file");
  }
  await assertRejects(
    () => projects.resolve(project, "nope"),
    ActionError,
    'the branches are "feature/x", "main"',
  );

  assertEquals((await projects.resolve(project, second)).commit, second);
  const refused = await assertRejects(
    () => projects.resolve(project, "1".repeat(40)),
    ActionError,
  );
  assertMatch(refused.message, /Cannot read .*: its server does not give out this commit/);

  const newest = await remote.commit({ "valohai.yaml": configFile("fourth") });
  assertEquals((await projects.resolve(project, "main")).commit, third);
  await projects.fetch(project);
  assertEquals((await projects.resolve(project, "main")).commit, newest);
  await projects.close();
});

Deno.test("https: steps of several commits get their code at once", async () => {
  await using folder = new TemporaryFolder();
  const { first, second, third, restarted, projectAt } = await setUp(folder);
  await using server = new GitServer(folder.path, { authorization: basic("robot", TOKEN) });
  const projects = restarted({ projectOf: () => Promise.resolve(projectAt(server.host)) });
  const commits = [first, second, third];
  await Promise.all(
    commits.map((commit) => projects.checkout("digits", commit, join(folder.path, commit))),
  );
  for (const [index, step] of ["first", "second", "third"].entries()) {
    const path = join(folder.path, commits[index] ?? "", "valohai.yaml");
    assertEquals(await Deno.readTextFile(path), configFile(step));
  }
  await projects.close();
});

Deno.test("https: what earlier fetches of commits have left keeps no step from its code", async () => {
  await using folder = new TemporaryFolder();
  const { remote, first, second, third, restarted, projectAt } = await setUp(folder);
  await using server = new GitServer(folder.path, { authorization: basic("robot", TOKEN) });
  const engine = { type: "local", runner: "process", disk_mb: 1 } as const;
  const project = { ...projectAt(server.host), engine };
  const projectOf = () => Promise.resolve(project);
  const projects = restarted({ projectOf });
  const checkOut = async (commit: string) => {
    const copy = join(folder.path, `copy-${commit}`);
    await projects.checkout("digits", commit, copy);
    assertEquals(await Deno.readTextFile(join(copy, "large.bin")), "x".repeat(100_000));
  };
  const kept = join(folder.path, "data/projects/digits/commits.git");
  await checkOut(first);
  // A git that was killed leaves its lock.
  await Deno.writeTextFile(join(kept, "shallow.lock"), "");
  await checkOut(second);
  await Deno.writeTextFile(join(kept, "config"), "[damaged");
  await checkOut(third);
  // A power cut: git does not wait until small objects are on disk.
  await Deno.remove(join(folder.path, "data/projects/digits/trees"), { recursive: true });
  const object = await remote.git("rev-parse", `${third}:large.bin`);
  const path = join(kept, "objects", object.slice(0, 2), object.slice(2));
  await Deno.chmod(path, 0o600);
  await Deno.truncate(path);
  await restarted({ projectOf }).checkout("digits", third, join(folder.path, "again"));
  for (let commits = 0; commits < 3; commits++) {
    // Two of them are more than the project may take on disk.
    await Deno.writeFile(join(remote.path, "noise"), noise(600_000));
    await checkOut(await remote.commit({}));
  }
  await projects.close();
});

Deno.test("https: a commit that the server does not have takes no others away", async () => {
  await using folder = new TemporaryFolder();
  const { first, restarted, projectAt } = await setUp(folder);
  const projects: Projects[] = [];
  const checkOut = async (host: string, commit: string) => {
    const options = { projectOf: () => Promise.resolve(projectAt(host)) };
    projects.push(restarted(options));
    await projects.at(-1)?.checkout("digits", commit, join(folder.path, crypto.randomUUID()));
  };
  let host = "";
  {
    await using server = new GitServer(folder.path, { authorization: basic("robot", TOKEN) });
    host = server.host;
    await checkOut(host, first);
    const missing = () => checkOut(host, "1".repeat(40));
    await assertRejects(missing, ActionError, "Cannot fetch commit");
  }
  // Its tree is verified by what was fetched. Without the server it cannot be made again.
  await checkOut(host, first);
  for (const each of projects) await each.close();
});

Deno.test("https: what the server refuses is told with what to do", async () => {
  await using folder = new TemporaryFolder();
  const { projects, projectAt } = await setUp(folder);
  let answer: () => Response | undefined = () => undefined;
  const options = {
    authorization: basic("other", "pass"),
    before: () => Promise.resolve(answer()),
  };
  await using server = new GitServer(folder.path, options);
  const project = projectAt(server.host);
  const gone = { ...project, repository: `http://${server.host}/none/.git` };
  const retry = { "retry-after": "7" };
  const cases: [asked: typeof project, answer: () => Response | undefined, says: RegExp][] = [
    [project, () => undefined, /refuses the credentials \(401\): set their variable/],
    [gone, () => undefined, /asks for credentials \(401\): write them as/],
    [gone, () => new Response(null, { status: 404 }), /no repository there \(404\)/],
    [gone, () => new Response(null, { status: 429, headers: retry }), /try again in 7 s/],
    [gone, () => new Response(null, { status: 503 }), /fails with status 503/],
    [gone, () => new Response("<html>"), /gives no answer that git understands/],
    [gone, () => Response.redirect("http://elsewhere.test/x"), /no public address/],
  ];
  for (const [asked, answered, says] of cases) {
    answer = answered;
    const error = await assertRejects(() => projects.fetch(asked), ActionError);
    assertMatch(error.message, says);
    assertEquals(error.message.includes(TOKEN), false);
  }
  for (const repository of ["git@git.example.com:x.git", "ssh://git@git.example.com/x.git"]) {
    const error = await assertRejects(
      () => projects.fetch({ ...project, repository }),
      ActionError,
    );
    assertStringIncludes(error.message, "write its https address");
  }
  await projects.close();
});

Deno.test("https: a commit that is too large for memory is refused", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, projectAt } = await setUp(folder);
  await Deno.writeFile(join(remote.path, "noise"), noise(34 * 1024 ** 2));
  // To try in vain takes a second.
  await remote.git("config", "core.compression", "0");
  await remote.commit({});
  await using server = new GitServer(folder.path, { authorization: basic("robot", TOKEN) });
  const project = projectAt(server.host);
  const error = await assertRejects(() => projects.resolve(project, "HEAD"), ActionError);
  assertMatch(error.message, /more than 32 MiB.*set source to github, gitlab or gitea/);
  await projects.close();
});

Deno.test({
  name: "https: references and files are read from a real Gitea",
  ignore: hasNoGitea,
  async fn() {
    await using host = await hosted("gitea");
    const projects = host.projects();
    const project = { ...host.project(), source: "https" as const };
    for (const [reference, step] of [["HEAD", "second"], ["v1", "first"], ["light", "first"]]) {
      const { config } = await projects.resolve(project, reference ?? "");
      assertEquals([...config.steps.keys()], [step]);
    }
    assert(await projects.isKept(project));
    const wrong = host.projects({ env: () => "wr0ng" });
    await assertRejects(() => wrong.fetch(project), ActionError, "refuses the credentials (401)");
    await projects.close();
    await wrong.close();
  },
});
