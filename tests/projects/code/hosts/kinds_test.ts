/** The choice of a project's source, the addresses of APIs, and projects without code. */
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { join } from "node:path";
import { parseProject } from "../../../../src/config/project.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { ActionError, InvalidInputError } from "../../../../src/platform/errors.ts";
import { hostPlace } from "../../../../src/projects/code/host/hosts.ts";
import type { HostKind } from "../../../../src/projects/code/host/kinds.ts";
import { sourceKind } from "../../../../src/projects/code/source_kind.ts";
import { HostedProjects } from "../../../../src/projects/hosted/projects.ts";
import { configFile, setUp, TemporaryFolder } from "../git_fixture.ts";

Deno.test("the place of a repository follows from its address, or from api_url", () => {
  const cases: [kind: HostKind, address: string, place: string | undefined, apiUrl?: string][] = [
    ["github", "https://github.com/acme/digits.git", "https://api.github.com/repos/acme/digits"],
    ["github", "https://github.com/acme/digits/", "https://api.github.com/repos/acme/digits"],
    ["github", "https://acme.ghe.com/a/b", "https://api.acme.ghe.com/repos/a/b"],
    ["github", "https://git.example.com:8443/a/b", "https://git.example.com:8443/api/v3/repos/a/b"],
    ["github", "https://git.example.com/a", undefined],
    ["github", "https://git.example.com/a/..%2fb", undefined],
    [
      "gitlab",
      "https://gitlab.com/a/b/c.git",
      "https://gitlab.com/api/v4/projects/a%2Fb%2Fc/repository",
    ],
    [
      "gitlab",
      "https://example.com/git/a/b.git",
      "https://example.com/git/api/v4/projects/a%2Fb/repository",
      "https://example.com/git/api/v4",
    ],
    ["gitea", "https://codeberg.org/a/b.c.git", "https://codeberg.org/api/v1/repos/a/b.c"],
    ["gitea", "https://example.com/git/a/b.git", "https://example.com/git/api/v1/repos/a/b"],
    [
      "gitea",
      "https://example.com/a/b",
      "https://api.example.com/v1/repos/a/b",
      "https://api.example.com/v1/",
    ],
  ];
  for (const [kind, address, expected, apiUrl] of cases) {
    const place = hostPlace(kind, new URL(address), apiUrl);
    assertEquals([address, place && place.base + place.repository], [address, expected]);
  }
});

Deno.test("the source of a project is its owner's choice, or what the machine can do", () => {
  const engine = { type: "local", runner: "process" };
  const base = { name: "p", config_file: "valohai.yaml", engine };
  const at = (repository: string) => ({ ...base, repository });
  assertEquals(sourceKind({ ...base, directory: "/srv" }, true), "folder");
  assertEquals(sourceKind({ ...base, config: "x" }, true), "none");
  assertEquals(sourceKind(at("https://github.com/a/b"), true), "mirror");
  assertEquals(sourceKind({ ...at("https://github.com/a/b"), source: "github" }, true), "github");
  for (
    const [address, kind] of [
      ["https://x:{env:T}@github.com/a/b", "github"],
      ["https://{env:T}@gitlab.com/a/b", "gitlab"],
      ["https://codeberg.org/a/b", "gitea"],
      ["https://git.example.com/a/b", "https"],
      ["git@github.com:a/b.git", "https"],
    ] as const
  ) assertEquals([address, sourceKind(at(address), false)], [address, kind]);
});

Deno.test("a source that does not fit to its project is refused when it is saved", () => {
  const repository = "https://x:{env:T}@git.example.com/a/b.git";
  const good = [
    { repository, source: "gitea" },
    { repository, source: "gitlab", api_url: "https://git.example.com/base/api/v4" },
    { repository, source: "https" },
    { repository: "git@git.example.com:x.git", source: "mirror" },
    { config: configFile("one") },
    { repository, config: configFile("one") },
  ];
  for (const project of good) parseProject({ name: "p", ...project });
  const cases: [project: Record<string, unknown>, says: RegExp][] = [
    [{ repository, source: "bitbucket" }, /source: .*"mirror".*"https"/],
    [
      { repository: "git@git.example.com:x.git", source: "github" },
      /source: Expected mirror, as only https/,
    ],
    [{ directory: "/srv", source: "github" }, /source: Expected it together with a repository/],
    [
      { repository, api_url: "https://x.test" },
      /api_url: Expected it together with source: github, gitlab, gitea/,
    ],
    [
      { repository, source: "gitea", api_url: "https://a:b@x.test" },
      /api_url: Expected a URL such as/,
    ],
    [{ directory: "/srv", config: "x" }, /Expected config alone or with a repository/],
    [{ config: "" }, /config/],
    [{ config: "x".repeat(50_000) }, /config/],
    [{}, /neither \(a project without code has config\)/],
  ];
  for (const [project, says] of cases) {
    const error = assertThrows(() => parseProject({ name: "p", ...project }), InvalidInputError);
    assertMatch(error.message, says);
  }
});

Deno.test("a configuration in the project needs no file, and no code", async () => {
  await using folder = new TemporaryFolder();
  const { projects, project, hash } = await setUp(folder);
  const { repository: _, ...bare } = { ...project, config: configFile("inline") };
  const { commit, config } = await projects.resolve(bare, "HEAD");
  assertMatch(commit, /^=[0-9a-f]{64}$/);
  assertEquals([...config.steps.keys()], ["inline"]);
  assertEquals((await projects.resolve(bare, commit)).commit, commit);
  await assertRejects(() => projects.resolve(bare, "main"), ActionError, 'expected "HEAD"');
  assertEquals(await projects.fetch(bare), { branches: {} });
  await projects.checkout("digits", commit, join(folder.path, "empty"));
  assertEquals(await Array.fromAsync(Deno.readDir(join(folder.path, "empty"))), []);

  // Beside a repository it stands in for the file.
  const both = { ...project, config: configFile("inline") };
  const found = await projects.resolve(both, "main");
  assertEquals([found.commit, [...found.config.steps.keys()]], [hash, ["inline"]]);
  const wrong = { ...bare, config: "- step:\n    name: x\n" };
  const error = await assertRejects(() => projects.resolve(wrong, "HEAD"), InvalidInputError);
  assertMatch(error.message, /config/);
  assertEquals((await projects.check(wrong)).map(({ pointer }) => pointer), ["/config"]);
  await projects.close();
});

Deno.test("where there is no disk, folders, mirrors and ssh are refused with what to use instead", async () => {
  const projects = new HostedProjects({ dataFolder: "/nowhere", clock: systemClock });
  const base = { name: "p", config_file: "valohai.yaml", engine: { type: "slurm" } };
  const folder = { ...base, directory: "/srv" };
  const mirror = { ...base, repository: "https://git.example.com/a/b", source: "mirror" as const };
  const detail =
    "Expected a repository with an https address, or config: nothing is kept on a disk here";
  assertEquals(await projects.check(folder), [{ pointer: "/directory", detail }]);
  assertEquals(await projects.check(mirror), [{ pointer: "/source", detail }]);
  for (const project of [folder, mirror]) {
    await assertRejects(() => projects.resolve(project, "HEAD"), ActionError, detail);
  }
  const ssh = { ...base, repository: "git@git.example.com:a/b.git" };
  await assertRejects(() => projects.resolve(ssh, "HEAD"), ActionError, "write its https address");
  const config = { ...base, config: configFile("inline") };
  assertEquals([...(await projects.resolve(config, "HEAD")).config.steps.keys()], ["inline"]);
  assertEquals(await projects.check(config), []);
  await projects.close();
});
