/**
 * References that are not what they seem: branches of the names of other things, tags of what is no
 * commit, and names with characters that few use.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { ActionError } from "../../../src/platform/errors.ts";
import { setUp, TemporaryFolder } from "../code/git_fixture.ts";

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

Deno.test("references: a tag of a tag is the commit behind both", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  await remote.git("tag", "--annotate", "--message=x", "inner");
  await remote.git("tag", "--annotate", "--message=x", "middle", "inner");
  await remote.git("tag", "--annotate", "--message=x", "outer", "middle");
  for (const reference of ["inner", "middle", "outer", "refs/tags/outer"]) {
    assertEquals((await projects.resolve(project, reference)).commit, hash, reference);
  }
});

Deno.test("references: a tag of what is no commit is told, and no mirror is made anew for it", async () => {
  await using folder = new TemporaryFolder();
  const { remote, mirror, projects, project } = await setUp(folder);
  await remote.git("tag", "file", "HEAD:valohai.yaml");
  await remote.git("tag", "--annotate", "--message=x", "folder", "HEAD^{tree}");
  await projects.fetch(project);
  const { ino } = await Deno.stat(mirror);
  for (const reference of ["file", "folder"]) {
    await assertRejects(
      () => projects.resolve(project, reference),
      ActionError,
      "it is no branch, tag or commit",
    );
  }
  assertEquals((await Deno.stat(mirror)).ino, ino);
});
