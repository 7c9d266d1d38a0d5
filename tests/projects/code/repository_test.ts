/**
 * Projects that are git repositories: real ones in temporary folders, fetched over the file system.
 *
 * @module
 */
import { CONFIG_FLAGS } from "../../surroundings.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { ActionError, ConflictError, InvalidInputError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { TreeLimits } from "../../../src/projects/code/tree.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { configFile, GitFixture, projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";

Deno.test("repository: a branch, a tag, a hash and HEAD are found", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  await remote.git("tag", "light");
  await remote.git("tag", "--annotate", "--message=x", "heavy");
  await remote.git("branch", "feature/one");
  for (
    const reference of [
      "main",
      "refs/heads/main",
      "feature/one",
      "light",
      "heavy",
      "refs/tags/heavy",
      "HEAD",
      hash,
      hash.slice(0, 8),
    ]
  ) {
    const { commit, config } = await projects.resolve(project, reference);
    assertEquals(commit, hash, reference);
    assertEquals([...config.steps.keys()], ["first"]);
  }
});

Deno.test("repository: a full hash is that commit, whatever branch or tag has it as its name", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  await remote.commit({ "valohai.yaml": configFile("pushed") });
  const missing = "ab".repeat(20);
  for (const name of [hash, missing]) {
    await remote.git("update-ref", `refs/heads/${name}`, "HEAD");
    await remote.git("update-ref", `refs/tags/${name}`, "HEAD");
  }
  const { commit, config } = await projects.resolve(project, hash);
  assertEquals(commit, hash);
  assertEquals([...config.steps.keys()], ["first"]);
  await assertRejects(() => projects.resolve(project, missing), ActionError, "Cannot find");
});

Deno.test("repository: new commits are seen after a fetch and not before", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  assertEquals((await projects.resolve(project, "main")).commit, hash);
  const newer = await remote.commit({ "valohai.yaml": configFile("second") });
  assertEquals((await projects.resolve(project, "main")).commit, hash);
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  const { commit, config } = await projects.resolve(project, "main");
  assertEquals(commit, newer);
  assertEquals([...config.steps.keys()], ["second"]);
});

Deno.test("repository: what is deleted or rewritten at the remote is so after a fetch", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  await remote.git("branch", "gone");
  await projects.resolve(project, "gone");
  await remote.git("branch", "-D", "gone");
  await remote.git("commit", "--quiet", "--amend", "--message=other");
  await projects.fetch(project);
  await assertRejects(() => projects.resolve(project, "gone"), ActionError, 'branches are "main"');
  const hash = await remote.git("rev-parse", "HEAD");
  assertEquals((await projects.resolve(project, "main")).commit, hash);
});

Deno.test("repository: an unchanged one is resolved without its mirror being read", async () => {
  await using folder = new TemporaryFolder();
  const { hash, dataFolder, projects, project } = await setUp(folder);
  for (const reference of ["main", hash.slice(0, 7)]) await projects.resolve(project, reference);
  await Deno.remove(join(dataFolder, "projects/digits/mirror.git"), { recursive: true });
  for (const reference of ["main", hash.slice(0, 7)]) {
    assertEquals((await projects.resolve(project, reference)).commit, hash);
  }
});

Deno.test("repository: fetches asked for while one runs see what arrived after it began", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const underWay = projects.fetch(project);
  const newer = await remote.commit({ "a.txt": "a" });
  const later = await Promise.all([projects.fetch(project), projects.fetch(project)]);
  assertEquals(later.map(({ branches }) => branches["main"]), [newer, newer]);
  await underWay;
});

Deno.test("repository: where git could not be started once, it is the next time", async () => {
  await using folder = new TemporaryFolder();
  const { hash, projects, restarted, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const again = restarted();
  const { Command } = Deno;
  Deno.Command = class extends Command {
    override spawn(): never {
      throw new Error("Too many open files (os error 24)");
    }
  };
  await assertRejects(() => again.resolve(project, "main"), Error, "Too many open files")
    .finally(() => Deno.Command = Command);
  assertEquals((await again.resolve(project, "main")).commit, hash);
});

Deno.test("repository: after a restart it is read from the mirror, not fetched", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, dataFolder, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  await Deno.rename(remote.path, `${remote.path}-away`);
  const restarted = new Projects({ dataFolder, clock: systemClock });
  assertEquals((await restarted.resolve(project, "main")).commit, hash);
});

Deno.test("repository: another address is cloned, also after a restart", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder, projects, project } = await setUp(folder);
  const other = await GitFixture.make(join(folder.path, "other"), {
    "valohai.yaml": configFile("other"),
  });
  await projects.resolve(project, "main");
  const restarted = new Projects({ dataFolder, clock: systemClock });
  for (const each of [restarted, projects]) {
    const { config } = await each.resolve(projectOf(other.path), "main");
    assertEquals([...config.steps.keys()], ["other"]);
  }
});

Deno.test("repository: a checkout is a private copy with modes and links", async () => {
  await using folder = new TemporaryFolder();
  const { hash, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const copies = ["one", "two"].map((name) => join(folder.path, name));
  await Promise.all(copies.map((copy) => projects.checkout("digits", hash, copy)));
  const [one = "", two = ""] = copies;
  await Deno.writeTextFile(join(one, "src/run.sh"), "changed");
  assertEquals(await Deno.readTextFile(join(two, "src/run.sh")), "echo hi\n");
  assertEquals(((await Deno.stat(join(two, "src/run.sh"))).mode ?? 0) & 0o777, 0o755);
  assertEquals(await Deno.readLink(join(two, "link")), "src/run.sh");
  const names = (await Array.fromAsync(Deno.readDir(two))).map(({ name }) => name);
  assertEquals(names.sort(), ["link", "src", "valohai.yaml"]);
});

Deno.test({
  name: "repository: a checkout has what has names that are not UTF-8",
  ignore: Deno.build.os === "darwin",
  async fn() {
    await using folder = new TemporaryFolder();
    const { remote, projects, project } = await setUp(folder);
    const make = 'd=$(printf "d\\377"); mkdir "$d" && echo x > "$d/in" && ln -s "$d" to-it';
    await new Deno.Command("sh", { args: ["-c", make], cwd: remote.path }).output();
    const hash = await remote.commit({});
    await projects.resolve(project, "main");
    const copy = join(folder.path, "copy");
    for (const _ of ["first", "again"]) {
      await projects.checkout("digits", hash, copy);
      assertEquals(await Deno.readTextFile(join(copy, "to-it/in")), "x\n");
      assertEquals(((await Deno.stat(join(copy, "src/run.sh"))).mode ?? 0) & 0o777, 0o755);
      assertEquals(await Deno.readLink(join(copy, "link")), "src/run.sh");
      await Deno.remove(copy, { recursive: true });
    }
  },
});

Deno.test("repository: a checkout runs no filter of the configuration of the service's user", async () => {
  await using folder = new TemporaryFolder();
  const { remote, dataFolder, project } = await setUp(folder);
  const commit = await remote.commit({
    ".gitattributes": "*.bin filter=x\n",
    "a.bin": "as it is\n",
  });
  const ran = join(folder.path, "ran");
  const configuration = `[filter "x"]\n\tsmudge = "tee '${ran}' | tr a-z A-Z"\n`;
  await Deno.writeTextFile(join(folder.path, ".gitconfig"), configuration);
  const copy = join(folder.path, "copy");
  assertEquals(await withHome(folder.path, { dataFolder, project, copy }), commit);
  assertEquals(await Deno.readTextFile(join(copy, "a.bin")), "as it is\n");
  await assertRejects(() => Deno.lstat(ran), Deno.errors.NotFound);
});

Deno.test("repository: a fetch goes by the configuration of the service's user", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, dataFolder } = await setUp(folder);
  const printed = join(folder.path, "printed");
  const configuration = `[url "file://${remote.path}"]\n\tinsteadOf = https://git.example.com/x\n` +
    `[uploadpack]\n\tpackObjectsHook = "env >'${printed}'; exec"\n`;
  await Deno.writeTextFile(join(folder.path, ".gitconfig"), configuration);
  const project = projectOf("https://git.example.com/x");
  assertEquals(await withHome(folder.path, { dataFolder, project }), hash);
  // Nothing of the service's environment but what git needs comes to git, and to what it runs.
  const names = (await Deno.readTextFile(printed)).matchAll(/^(\w+)=/gm).map(([, name]) => name);
  const needed = /^(HOME|PATH|PWD|OLDPWD|SHLVL|_|LC_ALL|(GIT|SSH|SSL)_\w+|(https?|all|no)_proxy)$/i;
  assertEquals([...names].filter((name = "") => !needed.test(name)), []);
});

Deno.test("repository: pruned trees are made again, those in use stay", async () => {
  await using folder = new TemporaryFolder();
  const { hash, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  await projects.checkout("digits", hash, join(folder.path, "one"));
  assertEquals(await projects.pruneTrees(new Set([`digits/${hash}`]), 0), 0);
  assertEquals(await projects.pruneTrees(new Set(), 60_000), 0);
  assertEquals(await projects.pruneTrees(new Set(), 0), 1);
  await projects.checkout("digits", hash, join(folder.path, "two"));
  await Deno.stat(join(folder.path, "two/valohai.yaml"));
});

Deno.test("repository: a missing one, a missing file and a wrong file are told", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  const missing = projectOf(join(folder.path, "nowhere"));
  await assertRejects(() => projects.resolve(missing, "main"), ActionError, "Cannot fetch");
  const other = { ...project, config_file: "other.yaml" };
  await assertRejects(() => projects.resolve(other, "main"), ActionError, "has no such file");
  for (const config_file of ["../other.yaml", "src/../../x.yaml", join(remote.path, "x.yaml")]) {
    const outside = { ...project, config_file };
    await assertRejects(() => projects.resolve(outside, "main"), ActionError, "outside");
  }
  await remote.commit({ "valohai.yaml": "- step:\n    name: x\n" });
  await projects.fetch(project);
  const error = await assertRejects(() => projects.resolve(project, "main"), InvalidInputError);
  assertStringIncludes(error.message, "/0/step/image: line 1, column 3");
});

Deno.test("repository: a project configuration file that is a link is told of as one", async () => {
  await using folder = new TemporaryFolder();
  const { remote, projects, project } = await setUp(folder);
  await Deno.symlink("valohai.yaml", join(remote.path, "link.yaml"));
  await remote.commit({});
  const linked = { ...project, config_file: "link.yaml" };
  await assertRejects(
    () => projects.resolve(linked, "main"),
    ActionError,
    "expected a regular file, found a symbolic link (mode 120000)",
  );
});

Deno.test("repository: a tree that would be written out of its folder, or as a repository, is refused", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  const makeTree = `
    inner=$(printf '100644 blob %s\tconfig\n' "$(git rev-parse "$2:src/run.sh")" | git mktree)
    printf '040000 tree %s\t%s\n100644 blob %s\tvalohai.yaml\n' \\
      "$inner" "$1" "$(git rev-parse "$2:valohai.yaml")" | git mktree`;
  for (const name of ["..", ".git", ".GIT"]) {
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", makeTree, "sh", name, hash],
      cwd: remote.path,
    }).output();
    const tree = new TextDecoder().decode(stdout).trim();
    const commit = await remote.git("commit-tree", "-m", "x", "-p", hash, tree);
    await remote.git("update-ref", "refs/heads/main", commit);
    await projects.fetch(project);
    assertEquals((await projects.resolve(project, "main")).commit, commit);
    const checkout = () => projects.checkout("digits", commit, join(folder.path, "copy"));
    await assertRejects(checkout, ActionError, `invalid path '${name}/config'`);
  }
});

Deno.test("repository: one that is removed while it is fetched is fetched or refused, and fetched again", async () => {
  await using folder = new TemporaryFolder();
  const { projects, project } = await setUp(folder);
  for (let round = 0; round < 40; round++) {
    const [fetched] = await Promise.allSettled([
      projects.fetch(project),
      projects.forget(project.name).then((remove) => remove()),
    ]);
    if (fetched.status === "fulfilled") continue;
    const { reason } = fetched;
    assert(reason instanceof ActionError || reason instanceof ConflictError, String(reason));
  }
  await projects.fetch(project);
  assertEquals([...(await projects.resolve(project, "HEAD")).config.steps.keys()], ["first"]);
});

Deno.test("repository: a remote whose HEAD leads nowhere is fetched all the same", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, projects, project } = await setUp(folder);
  await projects.resolve(project, "HEAD");
  await remote.git("branch", "other");
  // What HEAD was before is not gone on with.
  const newer = await remote.commit({ "newer.txt": "" });
  await remote.git("symbolic-ref", "HEAD", "refs/heads/nowhere");
  await projects.fetch(project);
  assertEquals((await projects.resolve(project, "other")).commit, hash);
  assertEquals((await projects.resolve(project, "HEAD")).commit, newer);
});

/** What a service finds whose user has another home: the commit of `main`, also checked out. */
async function withHome(
  home: string,
  { dataFolder, project, copy }: { dataFolder: string; project: Project; copy?: string },
): Promise<string> {
  const script = import.meta.resolve("./with_home.ts");
  const args = [home, dataFolder, JSON.stringify(project), ...(copy === undefined ? [] : [copy])];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", ...CONFIG_FLAGS, "--allow-all", script, ...args],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

/** Makes a tree of what git lists so, and answers its hash. */
async function makeTree(remote: GitFixture, lines: string[]): Promise<string> {
  const git = new Deno.Command("git", {
    args: ["mktree"],
    cwd: remote.path,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = git.stdin.getWriter();
  await writer.write(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
  await writer.close();
  return new TextDecoder().decode((await git.output()).stdout).trim();
}

Deno.test("repository: a commit that holds more than it may is not checked out", async () => {
  await using folder = new TemporaryFolder();
  const { hash, dataFolder, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const checkOut = async (name: string, treeLimits: Partial<TreeLimits>) => {
    const limited = new Projects({ dataFolder, clock: systemClock, treeLimits });
    await limited.checkout("digits", hash, join(folder.path, name));
  };
  // Three files and a folder, of 85 bytes.
  for (const treeLimits of [{ filesMax: 3 }, { bytesMax: 84 }]) {
    await assertRejects(() => checkOut("more", treeLimits), ActionError, "it holds more than");
  }
  await checkOut("as-many", { filesMax: 4, bytesMax: 85 });
});

Deno.test("repository: few objects that stand for a hundred million files are not checked out", async () => {
  await using folder = new TemporaryFolder();
  const { remote, dataFolder, projects, project } = await setUp(folder);
  const ten = (what: string) => Array.from({ length: 10 }, (_, at) => `${what}\t${at}`);
  const file = await remote.git("rev-parse", "HEAD:src/run.sh");
  let tree = await makeTree(remote, ten(`100644 blob ${file}`));
  for (let level = 1; level < 8; level++) tree = await makeTree(remote, ten(`040000 tree ${tree}`));
  const hash = await remote.git("commit-tree", tree, "-m", "many");
  await remote.git("update-ref", "refs/heads/many", hash);
  await projects.fetch(project);
  const limited = new Projects({ dataFolder, clock: systemClock, treeLimits: { filesMax: 1_000 } });
  await assertRejects(
    () => limited.checkout("digits", hash, join(folder.path, "copy")),
    ActionError,
    `Cannot check out commit ${hash} of project "digits": it holds more than 1000 files`,
  );
});
