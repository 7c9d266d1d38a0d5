/** Jobs that fetch their code themselves: at the exact commit, and with a token that nothing shows. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { formsOf, hosted, KINDS } from "../../projects/code/hosts/fixture.ts";
import { RemoteService } from "./fixture.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("jobs that fetch their code");

/** Shows the files, that the link of a submodule is empty, and that nothing is left of the credentials. */
const SHOW =
  "cat valohai.yaml | head -2 | tail -1; cat src/run.sh; ls -a . ../control; env | grep -c TOKEN || :; " +
  'git rev-parse HEAD 2>/dev/null || echo "no repository"';

/**
 * Makes a folder of this machine's programs, of which some note their arguments, and some are missing. Agents
 * find no others.
 */
async function programs(folder: string, missing: readonly string[]): Promise<string> {
  const path = join(folder, "programs");
  const noted = ["git", "curl"].filter((name) => !missing.includes(name));
  const script = [
    'mkdir -p "$1" && cd "$1" && ln -s /usr/bin/* . && rm -f ' +
    ["git", "curl", ...missing].join(" "),
    ...noted.map((name) =>
      `printf '#!/bin/sh\\necho "${name} $*" >>"%s"\\nexec /usr/bin/${name} "$@"\\n' "$2" >${name}; chmod +x ${name}`
    ),
  ].join("\n");
  const args = ["-c", script, "sh", path, join(folder, "arguments")];
  const { success, stderr } = await new Deno.Command("sh", { args }).output();
  assert(success, new TextDecoder().decode(stderr));
  return path;
}

/** Lists the files of a folder with one of two texts. Files may come and go meanwhile. */
async function filesWith(folder: string, texts: readonly string[]): Promise<string> {
  const args = ["-c", 'grep -rlsF -e "$1" -e "$2" "$3"; true', "sh", ...texts, folder];
  return new TextDecoder().decode((await new Deno.Command("sh", { args }).output()).stdout);
}

for (const kind of KINDS) {
  test(`a job fetches its code itself: ${kind}, with git and from an archive`, async () => {
    await using host = await hosted(kind);
    const first = await host.remote.git("rev-parse", "v1^{commit}");
    const projects = host.projects({ projectOf: () => Promise.resolve(host.project()) });
    await using service = await RemoteService.make();
    service.host.jobCode = (...code) => projects.jobCode(...code);
    for (const missing of [[], ["git"]]) {
      const folder = join(host.folder, `without-${missing.join("")}`);
      service.cluster.path = await programs(folder, missing);
      const record = await service.run(SHOW, { project: "digits", commit: first });
      const log = (await service.printed(record.id, "stdout")).join("\n");
      const events = (await service.printed(record.id, "event")).join("\n");
      assertEquals([record.status, events], ["complete", ""]);
      assertEquals(log.split("\n").slice(0, 2), ["    name: first", "echo hi"]);
      assert(!/^(?:code|\.git)$/m.test(log), log);
      assertMatch(log, /no repository/);

      const shown = await Deno.readTextFile(join(folder, "arguments"));
      const fetched = missing.length === 0
        ? /git .*fetch .*--depth=1/
        : /curl -q -K control\/code\/archive/;
      assertMatch(shown, fetched);
      for (const text of [shown, JSON.stringify(record), log]) {
        for (const secret of formsOf(host.token)) assert(!text.includes(secret), text);
      }
      assertEquals(await filesWith(service.folder, formsOf(host.token)), "");
    }
    await projects.close();
  });
}

test("code that a job cannot fetch ends its execution, with what to do", async () => {
  await using host = await hosted("gitlab");
  const { server } = host;
  assert(server);
  const commit = await host.remote.git("rev-parse", "HEAD");
  const settings = { env: (name: string) => name === "TOKEN" ? "wr0ng" : undefined };
  const cases: [
    missing: string[],
    code: Partial<ReturnType<typeof host.project>>,
    commit: string,
    says: RegExp,
  ][] = [
    [[], {}, "1".repeat(40), /Cannot fetch commit 1{40}: .*no branch or tag leads to it/],
    [["git"], {}, "1".repeat(40), /Cannot fetch commit 1{40}: .*404/],
    [["git"], { source: "https" }, commit, /this machine has no git: install it/],
  ];
  for (const [at, [missing, fields, asked, says]] of cases.entries()) {
    const project = { ...host.project(), ...fields };
    const projects = host.projects({ projectOf: () => Promise.resolve(project) });
    await using service = await RemoteService.make();
    service.cluster.path = await programs(join(host.folder, String(at)), missing);
    service.host.jobCode = (...code) => projects.jobCode(...code);
    const { id, status } = await service.run("echo never", { project: "digits", commit: asked });
    const events = (await service.printed(id, "event")).join("\n");
    assertEquals([status, await service.printed(id, "stdout")], ["error", []]);
    assertMatch(events, says);
    await projects.close();
  }
  const wrong = host.projects({ ...settings, projectOf: () => Promise.resolve(host.project()) });
  await using service = await RemoteService.make();
  service.host.jobCode = (...code) => wrong.jobCode(...code);
  const { id } = await service.run("echo never", { project: "digits", commit });
  assertMatch((await service.printed(id, "event")).join("\n"), /Authentication failed/);
  await wrong.close();
});

test("a job that is stopped while it fetches its code ends, with its git", async () => {
  await using host = await hosted("github");
  const commit = await host.remote.git("rev-parse", "HEAD");
  const { promise: asked, resolve: begin } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  assert(host.server);
  host.server.before = async (request) => {
    if (new URL(request.url).search !== "?service=git-upload-pack") return;
    // The service looks for redirects first.
    if (!request.headers.get("user-agent")?.startsWith("git/")) return;
    begin();
    await released;
  };
  const projects = host.projects({ projectOf: () => Promise.resolve(host.project()) });
  await using service = await RemoteService.make();
  service.host.jobCode = (...code) => projects.jobCode(...code);
  const id = await service.submit("echo never", { project: "digits", commit });
  await asked;
  await service.engine.stop(id);
  const { status } = await service.ended(id);
  assertEquals([status, await service.printed(id, "stdout")], ["stopped", []]);
  release();
  await projects.close();
});
