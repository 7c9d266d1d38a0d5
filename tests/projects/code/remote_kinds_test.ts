/**
 * Remotes that are not what most are: without all of their history, or with longer hashes.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { configFile, GitFixture, projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";

Deno.test("remotes: one without all of its history is fetched", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects } = await setUp(folder);
  const path = join(folder.path, "shallow");
  await remote.git("clone", "--quiet", "--depth=1", `file://${remote.path}`, path);
  assertEquals((await projects.resolve(projectOf(path), "HEAD")).commit, hash);
  await projects.checkout("digits", hash, join(folder.path, "copy"));
  assertEquals(await Deno.readTextFile(join(folder.path, "copy/src/run.sh")), "echo hi\n");
});

Deno.test("remotes: one that is without its history from now on is fetched, old commits stay", async () => {
  await using folder = new TemporaryFolder();
  const { remote: origin, hash, projects } = await setUp(folder);
  const remote = new GitFixture(join(folder.path, "clone"));
  await origin.git("clone", "--quiet", origin.path, remote.path);
  const project = projectOf(remote.path);
  assertEquals((await projects.resolve(project, "HEAD")).commit, hash);
  const newer = await origin.commit({ "valohai.yaml": configFile("second") });
  await remote.git("fetch", "--quiet", "--depth=1", `file://${origin.path}`, "main");
  await remote.git("reset", "--quiet", "--hard", "FETCH_HEAD");
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  const { commit, config } = await projects.resolve(project, "HEAD");
  assertEquals(commit, newer);
  assertEquals([...config.steps.keys()], ["second"]);
  assertEquals((await projects.resolve(project, hash)).commit, hash);
});

Deno.test("remotes: one with hashes of SHA-256 is fetched, also in place of one of SHA-1", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  await projects.resolve(project, "HEAD");
  await Deno.remove(join(remote.path, ".git"), { recursive: true });
  await remote.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256");
  const hash = await remote.commit({});
  assertEquals(hash.length, 64);
  assertEquals(await projects.fetch(project), { branches: { main: hash } });
  const newer = await remote.commit({ "valohai.yaml": configFile("second") });
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  for (const reference of ["HEAD", "main", newer.slice(0, 10)]) {
    const { commit, config } = await projects.resolve(project, reference);
    assertEquals(commit, newer, reference);
    assertEquals([...config.steps.keys()], ["second"]);
  }
  await projects.checkout("digits", newer, join(folder.path, "copy"));
  assertEquals(await Deno.readTextFile(join(folder.path, "copy/src/run.sh")), "echo hi\n");
});
