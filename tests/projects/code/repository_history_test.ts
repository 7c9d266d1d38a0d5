/**
 * Repositories whose history changes: a commit that was fetched once can be had whatever becomes of
 * its branch, for an execution may wait with it.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { ActionError } from "../../../src/platform/errors.ts";
import { type GitFixture, setUp, TemporaryFolder } from "./git_fixture.ts";

/** Rewrites the newest commit, and has the repository forget the one that it was. */
async function forcePush(remote: GitFixture): Promise<string> {
  await remote.git("commit", "--quiet", "--amend", `--message=${crypto.randomUUID()}`);
  await remote.git("reflog", "expire", "--expire=now", "--all");
  await remote.git("gc", "--quiet", "--prune=now");
  return await remote.git("rev-parse", "HEAD");
}

Deno.test("history: a commit that was replaced at the remote is still checked out", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, restarted, project } = await setUp(folder);
  assertEquals((await projects.resolve(project, "main")).commit, hash);
  const newer = await forcePush(remote);
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  await assertRejects(() => remote.git("cat-file", "-e", hash));
  const service = restarted();
  await service.checkout("digits", hash, join(folder.path, "copy"));
  assertEquals((await service.resolve(project, hash)).commit, hash);
  assertEquals((await service.resolve(project, "main")).commit, newer);
});

Deno.test("history: packs are combined, and no commit is lost by that", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, mirror, projects, restarted, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const hashes = [hash];
  const packs = async () =>
    (await Array.fromAsync(Deno.readDir(join(mirror, "objects/pack"))))
      .filter(({ name }) => name.endsWith(".pack")).length;
  let packsMax = 0;
  for (let count = 0; count < 53; count++) {
    await remote.git("commit", "--quiet", "--amend", `--message=${count}`);
    hashes.push(await remote.head());
    await projects.fetch(project);
    packsMax = Math.max(packsMax, await packs());
  }
  assert(packsMax > 40 && await packs() < 20, `${packsMax} packs became ${await packs()}`);
  const service = restarted();
  for (const each of hashes) assertEquals((await service.resolve(project, each)).commit, each);
  await service.checkout("digits", hash, join(folder.path, "copy"));
});

Deno.test("history: a tag that was moved is at its new commit after a fetch", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  await remote.git("tag", "release");
  assertEquals((await projects.resolve(project, "release")).commit, hash);
  const newer = await remote.commit({ "a.txt": "a" });
  await remote.git("tag", "--force", "release");
  assertEquals((await projects.resolve(project, "release")).commit, hash);
  await projects.fetch(project);
  assertEquals((await projects.resolve(project, "release")).commit, newer);
});

Deno.test("history: a branch may take the place of a folder of branches, and back", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, mirror, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const { ino } = await Deno.stat(mirror);
  for (const [gone, made] of [["none", "a"], ["a", "a/b"], ["a/b", "a"]] as const) {
    if (gone !== "none") await remote.git("branch", "-D", gone);
    await remote.git("branch", made);
    assertEquals((await projects.fetch(project)).branches, { main: hash, [made]: hash });
  }
  assertEquals((await Deno.stat(mirror)).ino, ino);
});

Deno.test("history: a hash that is on no branch is unknown, as is one not fetched yet", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const newer = await remote.commit({ "a.txt": "a" });
  const unknown = () => projects.resolve(project, newer);
  await assertRejects(unknown, ActionError, "no branch, tag or commit");
  await remote.git("update-ref", "refs/pull/1/head", newer);
  await remote.git("reset", "--quiet", "--hard", "HEAD~1");
  await projects.fetch(project);
  await assertRejects(unknown, ActionError, 'the branches are "main"');
  await remote.git("branch", "kept", newer);
  await projects.fetch(project);
  assertEquals((await projects.resolve(project, newer)).commit, newer);
});

Deno.test("history: fetching again what has not changed changes nothing", async () => {
  await using folder = new TemporaryFolder();
  const { hash, mirror, projects, project } = await setUp(folder);
  const files = async () =>
    (await Array.fromAsync(Deno.readDir(join(mirror, "objects/pack")))).map(({ name }) => name);
  const first = await projects.fetch(project);
  const before = await files();
  assertEquals(first, { branches: { main: hash } });
  for (let count = 0; count < 3; count++) assertEquals(await projects.fetch(project), first);
  assertEquals(await files(), before);
});
