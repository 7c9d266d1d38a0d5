/**
 * References that are not what they seem: branches of the names of other things, tags of what is no
 * commit, and names with characters that few use.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { setUp, TemporaryFolder } from "./git_fixture.ts";

Deno.test("references: HEAD is the remote's, whatever branch and tag have its name", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash: older, projects, project } = await setUp(folder);
  // As `git push origin HEAD:refs/heads/HEAD` makes it.
  await remote.git("update-ref", "refs/heads/HEAD", older);
  await remote.git("update-ref", "refs/tags/HEAD", older);
  const newer = await remote.commit({});
  assertEquals((await projects.resolve(project, "HEAD")).commit, newer);
  assertEquals((await projects.resolve(project, "refs/heads/HEAD")).commit, older);
});

Deno.test("references: a branch may have spaces in its name that are no ASCII", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  for (const name of ["a\u00a0b", "\u3000", "a\u2028b"]) {
    await remote.git("branch", name);
    await projects.fetch(project);
    assertEquals((await projects.resolve(project, name)).commit, hash);
  }
});
