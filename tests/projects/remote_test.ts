/**
 * Remotes of projects: what git is told of them, what it is not told, and what it may take.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { ActionError } from "../../src/errors.ts";
import { Projects } from "../../src/projects/mod.ts";
import { projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";

Deno.test("remote: references that git could take for something else are refused", async () => {
  await using folder = new TemporaryFolder();
  const { projects, project } = await setUp(folder);
  for (
    const reference of [
      "--upload-pack=touch x",
      "-x",
      "main^",
      "main~1",
      "main:valohai.yaml",
      "a..b",
      "main@{0}",
      "@",
      "two\nlines",
      "",
      "zzzz",
    ]
  ) {
    await assertRejects(() => projects.resolve(project, reference), ActionError, "Cannot find");
  }
});

Deno.test("remote: addresses that git could take for something else are refused", async () => {
  await using folder = new TemporaryFolder();
  const { projects } = await setUp(folder);
  for (const address of ["--upload-pack=x", "ext::sh -c true", "a\nb"]) {
    await assertRejects(
      () => projects.fetch(projectOf(address)),
      ActionError,
      "repository address",
    );
  }
});

Deno.test("remote: a fetch ends when its time is up", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder } = await setUp(folder);
  // A server that accepts and never answers.
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept();
  const projects = new Projects({ dataFolder, clock: systemClock, fetchTimeout_ms: 300 });
  const project = projectOf(`http://127.0.0.1:${listener.addr.port}/x.git`);
  await assertRejects(() => projects.fetch(project), ActionError, "given up after 0.3 s");
  (await accepted).close();
});

Deno.test("remote: credentials reach the server and no message", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, dataFolder, projects } = await setUp(folder);
  await remote.git("update-server-info");
  const served = join(remote.path, ".git");
  let commandLines = "";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const args = ["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null || ps -A -o args"];
      const { stdout } = await new Deno.Command("sh", { args }).output();
      commandLines += new TextDecoder().decode(stdout);
      const expected = `Basic ${btoa("me:s3cr3t/pass")}`;
      if (request.headers.get("authorization") !== expected) {
        const headers = { "www-authenticate": 'Basic realm="x"' };
        return new Response(null, { status: 401, headers });
      }
      const { pathname } = new URL(request.url);
      try {
        return new Response(await Deno.readFile(join(served, pathname)));
      } catch {
        return new Response(null, { status: 404 });
      }
    },
  );
  const at = `127.0.0.1:${server.addr.port}/`;
  const good = projectOf(`http://me:s3cr3t%2Fpass@${at}`);
  assertEquals((await projects.resolve(good, "main")).commit, hash);
  const bad = projectOf(`http://me:wr0ng-one@${at}`);
  const error = await assertRejects(() => projects.fetch(bad), ActionError, "Cannot fetch");
  assert(!/wr0ng|s3cr3t/.test(error.message), error.message);
  assert(commandLines.includes("git") && !/wr0ng|s3cr3t/.test(commandLines));
  for await (
    const { name, isFile } of Deno.readDir(join(dataFolder, "projects/digits/mirror.git"))
  ) {
    if (!isFile) continue;
    const text = await Deno.readTextFile(join(dataFolder, "projects/digits/mirror.git", name));
    assert(!/wr0ng|s3cr3t/.test(text), name);
  }
});
