/**
 * Projects that are plain folders: each resolve takes a snapshot, which later edits leave alone.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { ActionError, InvalidInputError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { configFile, TemporaryFolder, textsIn } from "./git_fixture.ts";

async function setUp(folder: TemporaryFolder) {
  const directory = join(folder.path, "digits");
  const dataFolder = join(directory, "data");
  await Deno.mkdir(join(directory, "src"), { recursive: true });
  await Deno.mkdir(join(directory, ".git"));
  await Deno.mkdir(dataFolder);
  await Deno.writeTextFile(join(dataFolder, "private"), "x");
  await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("first"));
  await Deno.writeTextFile(join(directory, "src/run.sh"), "echo hi\n", { mode: 0o755 });
  await Deno.symlink("../valohai.yaml", join(directory, "src/link"));
  const engine = { type: "local", runner: "process" } as const;
  const project: Project = { name: "digits", directory, config_file: "valohai.yaml", engine };
  const projects = new Projects({ dataFolder, clock: systemClock });
  return { directory, dataFolder, project, projects };
}

async function pathsIn(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const inner = isDirectory ? await pathsIn(join(folder, name)) : [];
    paths.push(name, ...inner.map((path) => `${name}/${path}`));
  }
  return paths.sort();
}

Deno.test("snapshot: the same content has the same commit, other content another", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const { commit, config } = await projects.resolve(project, "HEAD");
  assert(/^~[0-9a-f]{64}$/.test(commit), commit);
  assertEquals([...config.steps.keys()], ["first"]);
  assertEquals((await projects.resolve(project, "HEAD")).commit, commit);
  await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("second"));
  const second = await projects.resolve(project, "HEAD");
  assertNotEquals(second.commit, commit);
  assertEquals([...second.config.steps.keys()], ["second"]);
  await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("first"));
  assertEquals((await projects.resolve(project, "HEAD")).commit, commit);
  await Deno.chmod(join(directory, "src/run.sh"), 0o700);
  assertNotEquals((await projects.resolve(project, "HEAD")).commit, commit);
});

Deno.test("snapshot: a folder has no other commit than HEAD", async () => {
  await using folder = new TemporaryFolder();
  const { project, projects } = await setUp(folder);
  const { commit } = await projects.resolve(project, "HEAD");
  for (const reference of ["main", "", commit]) {
    await assertRejects(
      () => projects.resolve(project, reference),
      ActionError,
      `Cannot find the commit "${reference}" of project "digits": it is a plain folder`,
    );
  }
});

Deno.test("snapshot: later edits do not change it", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const { commit } = await projects.resolve(project, "HEAD");
  await Deno.writeTextFile(join(directory, "src/run.sh"), "changed");
  await Deno.remove(join(directory, "valohai.yaml"));
  const copy = join(folder.path, "copy");
  await projects.checkout("digits", commit, copy);
  assertEquals(await Deno.readTextFile(join(copy, "src/run.sh")), "echo hi\n");
  assertEquals(((await Deno.stat(join(copy, "src/run.sh"))).mode ?? 0) & 0o777, 0o755);
  assertEquals(await Deno.readLink(join(copy, "src/link")), "../valohai.yaml");
});

Deno.test("snapshot: an edit is seen however soon it comes and whatever time it claims", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const path = join(directory, "src/run.sh");
  const { mtime } = await Deno.stat(path);
  const commits = new Set<string>();
  for (let count = 0; count < 10; count++) {
    // Always as long, and always as old.
    await Deno.writeTextFile(path, `echo ${count}\n`);
    await Deno.utime(path, mtime ?? 0, mtime ?? 0);
    const { commit } = await projects.resolve(project, "HEAD");
    commits.add(commit);
    const copy = join(folder.path, `copy-${count}`);
    await projects.checkout("digits", commit, copy);
    assertEquals(await Deno.readTextFile(join(copy, "src/run.sh")), `echo ${count}\n`);
  }
  assertEquals(commits.size, 10);
});

Deno.test("snapshot: an edit of a file that is known for long is seen", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const path = join(directory, "src/run.sh");
  const { mtime } = await Deno.stat(path);
  // Long enough for its content to be believed by the file's times alone.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const { commit } = await projects.resolve(project, "HEAD");
  assertEquals((await projects.resolve(project, "HEAD")).commit, commit);
  await Deno.writeTextFile(path, "echo ho\n");
  await Deno.utime(path, mtime ?? 0, mtime ?? 0);
  assertNotEquals((await projects.resolve(project, "HEAD")).commit, commit);
});

Deno.test("snapshot: what is removed while the folder is looked through is not in it", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const { commit } = await projects.resolve(project, "HEAD");
  const gone = join(directory, "src/gone");
  const { readDir } = Deno;
  for (const replace of [() => {}, () => Deno.writeTextFileSync(gone, "x")]) {
    Deno.mkdirSync(gone);
    // Between the listing of the folder that it is in and its own.
    Deno.readDir = (path) => {
      if (path === gone) {
        Deno.removeSync(gone);
        replace();
      }
      return readDir(path);
    };
    try {
      const found = (await projects.resolve(project, "HEAD")).commit;
      assertEquals(found === commit, !(await pathsIn(directory)).includes("src/gone"));
    } finally {
      Deno.readDir = readDir;
    }
  }
});

Deno.test("snapshot: a file that takes the place of a link while the folder is looked through is in it", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const link = join(directory, "src/swapped");
  await Deno.symlink("run.sh", link);
  const { readLink } = Deno;
  Deno.readLink = (path) => {
    if (path === link && Deno.lstatSync(link).isSymlink) {
      Deno.removeSync(link);
      Deno.writeTextFileSync(link, "no link\n");
    }
    return readLink(path);
  };
  try {
    const { commit } = await projects.resolve(project, "HEAD");
    const copy = join(folder.path, "copy");
    await projects.checkout("digits", commit, copy);
    assertEquals(await Deno.readTextFile(join(copy, "src/swapped")), "no link\n");
  } finally {
    Deno.readLink = readLink;
  }
});

Deno.test("snapshot: nothing of a folder is read any more when one that failed is told of", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const { open } = Deno;
  let [opening, opened] = [0, 0];
  Deno.open = async (path, options) => {
    if (!String(path).startsWith(directory)) return await open(path, options);
    if (String(path).endsWith("run.sh")) {
      throw new Deno.errors.PermissionDenied("Permission denied");
    }
    opening++;
    // The others come late.
    await delay(100);
    return await open(path, options).finally(() => opened++);
  };
  try {
    await assertRejects(() => projects.resolve(project, "HEAD"), ActionError, "Permission denied");
    assert(opening > 0);
    assertEquals(opened, opening);
  } finally {
    Deno.open = open;
  }
});

for (const what of ["run.sh", "."]) {
  const name = what === "." ? "a folder" : "a file";
  Deno.test(`snapshot: a link that is in the place of ${name} for a moment leads nobody out`, async () => {
    await using folder = new TemporaryFolder();
    const { directory, dataFolder, project, projects } = await setUp(folder);
    const source = join(directory, "src");
    const file = join(source, "run.sh");
    const replaced = join(source, what);
    const outside = join(folder.path, "outside");
    const away = join(folder.path, "away");
    await Deno.mkdir(outside);
    await Deno.writeTextFile(join(outside, "run.sh"), "secret\n");
    const replace = () => {
      if (existsSync(away)) return;
      Deno.renameSync(replaced, away);
      Deno.symlinkSync(join(outside, what), replaced);
    };
    const putBack = () => {
      Deno.removeSync(replaced);
      Deno.renameSync(away, replaced);
    };
    const { open, copyFile, readDir } = Deno;
    Deno.readDir = (path) => {
      if (path === replaced) replace();
      return readDir(path);
    };
    Deno.open = async (path, options) => {
      if (path !== file) return await open(path, options);
      replace();
      return await open(path, options).finally(putBack);
    };
    Deno.copyFile = async (from, to) => {
      if (from === file) replace();
      await copyFile(from, to);
      if (from === file) putBack();
    };
    try {
      await assertRejects(() => projects.resolve(project, "HEAD"), ActionError, "keep changing");
    } finally {
      Object.assign(Deno, { open, copyFile, readDir });
    }
    for await (const [path, text] of textsIn(dataFolder)) assert(!text.includes("secret"), path);
  });
}

Deno.test({
  name: "snapshot: a name, and a link's target, that is not UTF-8 is told",
  ignore: Deno.build.os === "darwin",
  async fn() {
    await using folder = new TemporaryFolder();
    const { directory, project, projects } = await setUp(folder);
    for (
      const [script, message] of [
        ['mkdir "$(printf "x\\377")"', "the name of src/x\ufffd is not UTF-8"],
        ['ln -s "$(printf "x\\377")" bad', "the target of src/bad is not UTF-8"],
      ] as const
    ) {
      const cwd = join(directory, "src");
      await new Deno.Command("sh", { args: ["-c", script], cwd }).output();
      await assertRejects(() => projects.resolve(project, "HEAD"), ActionError, message);
      await Deno.remove(cwd, { recursive: true });
      await Deno.mkdir(cwd);
    }
  },
});

Deno.test("snapshot: .git, the service's own data and what is no file are left out", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  // To read it would wait for who writes it.
  await new Deno.Command("sh", { args: ["-c", "mkfifo pipe"], cwd: join(directory, "src") })
    .output();
  const { commit } = await projects.resolve(project, "HEAD");
  const copy = join(folder.path, "copy");
  await projects.checkout("digits", commit, copy);
  assertEquals(await pathsIn(copy), ["src", "src/link", "src/run.sh", "valohai.yaml"]);
});

Deno.test("snapshot: one that was pruned cannot be checked out, and says so", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const { commit } = await projects.resolve(project, "HEAD");
  assertEquals(await projects.pruneTrees(new Set(), 0), 1);
  const checkout = () => projects.checkout("digits", commit, join(folder.path, "copy"));
  await assertRejects(checkout, ActionError, "not kept any more");
  await Deno.writeTextFile(join(directory, "new"), "x");
  await projects.resolve(project, "HEAD");
});

for (
  const { name, damage } of [
    { name: "up and out", damage: (at: string) => Deno.symlink("../../x", join(at, "src/bad")) },
    { name: "an absolute path", damage: (at: string) => Deno.symlink("/etc", join(at, "bad")) },
    {
      name: "out of its copy to the folder as it is now",
      damage: (at: string) => Deno.symlink(join(at, "src"), join(at, "bad")),
    },
    {
      name: "out by way of another link",
      damage: async (at: string) => {
        await Deno.mkdir(join(at, "deep/er"), { recursive: true });
        await Deno.symlink("../../src", join(at, "deep/er/link"));
        await Deno.mkdir(join(at, "../outside"));
        await Deno.symlink("deep/er/link/../../outside", join(at, "bad"));
      },
    },
    {
      // Beside the folder there is no such file; above the copy of it in the data folder there is.
      name: "out of its copy to the service's key",
      damage: async (at: string) => {
        await Deno.mkdir(join(at, "a/b/c/d"), { recursive: true });
        await Deno.symlink("../../../..", join(at, "a/b/c/d/up"));
        await Deno.symlink("a/b/c/d/up/../../../../secret.key", join(at, "bad"));
      },
    },
  ]
) {
  Deno.test(`snapshot: a link that leads ${name} is refused`, async () => {
    await using folder = new TemporaryFolder();
    const { directory, project, projects } = await setUp(folder);
    await damage(directory);
    await assertRejects(() => projects.resolve(project, "HEAD"), ActionError, "bad leads outside");
  });
}

Deno.test("snapshot: links that lead nowhere or in circles, and inside of it by any way, are copied", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const targets = {
    a: "nowhere",
    b: "nowhere/../x",
    c: "c",
    d: "./",
    e: "d/../src",
    f: "up/../f",
  };
  for (const [name, target] of Object.entries(targets)) {
    await Deno.symlink(target, join(directory, "src", name));
  }
  const { commit } = await projects.resolve(project, "HEAD");
  const copy = join(folder.path, "copy");
  await projects.checkout("digits", commit, copy);
  for (const [name, target] of Object.entries(targets)) {
    assertEquals(await Deno.readLink(join(copy, "src", name)), target);
  }
});

Deno.test("snapshot: a folder that is missing, relative or too large is refused", async () => {
  await using folder = new TemporaryFolder();
  const { directory, dataFolder, project, projects } = await setUp(folder);
  const cases: [Project, string][] = [
    [{ ...project, directory: join(directory, "nowhere") }, "does not exist"],
    [{ ...project, directory: join(directory, "valohai.yaml") }, "is no folder"],
    [{ ...project, directory: "digits" }, "an absolute path"],
    [{ ...project, config_file: "other.yaml" }, "has no such file"],
    [{ ...project, config_file: "src" }, "has no such file"],
    [{ ...project, config_file: "large.yaml" }, "expected at most 1048576 bytes"],
    [{ ...project, config_file: "../outside.yaml" }, "it is outside of it"],
    [{ ...project, config_file: "src/../../outside.yaml" }, "it is outside of it"],
    [{ ...project, config_file: join(directory, "valohai.yaml") }, "it is outside of it"],
  ];
  await Deno.copyFile(join(directory, "valohai.yaml"), join(directory, "../outside.yaml"));
  await Deno.writeTextFile(join(directory, "large.yaml"), "");
  await Deno.truncate(join(directory, "large.yaml"), 1024 ** 2 + 1);
  // Another file of the same commit is not taken for this one.
  await projects.resolve(project, "HEAD");
  for (const [wrong, message] of cases) {
    await assertRejects(() => projects.resolve(wrong, "HEAD"), ActionError, message);
  }
  for (const treeLimits of [{ filesMax: 3 }, { bytesMax: 20 }]) {
    const limited = new Projects({ dataFolder, clock: systemClock, treeLimits });
    await assertRejects(() => limited.resolve(project, "HEAD"), ActionError, "holds more than");
  }
});

Deno.test("snapshot: a project configuration file that is no UTF-8 is refused, not read as other text", async () => {
  await using folder = new TemporaryFolder();
  const { directory, project, projects } = await setUp(folder);
  const step = "- step: { name: caf\u00e9, image: x, command: echo }\n";
  await Deno.writeFile(
    join(directory, "valohai.yaml"),
    Uint8Array.from(step, (char) => char.charCodeAt(0)),
  );
  const message = "valohai.yaml: line 1, column 20: Expected text in UTF-8";
  await assertRejects(() => projects.resolve(project, "HEAD"), InvalidInputError, message);
});

Deno.test("snapshot: what keeps one from being taken is told", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder, project, projects } = await setUp(folder);
  await Deno.mkdir(join(dataFolder, "projects/digits"), { recursive: true });
  await Deno.writeTextFile(join(dataFolder, "projects/digits/trees"), "");
  for (const ask of [() => projects.fetch(project), () => projects.resolve(project, "HEAD")]) {
    await assertRejects(ask, ActionError, `Cannot take a snapshot of ${project.directory}: `);
  }
});

Deno.test("snapshot: a project that is forgotten leaves nothing behind", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder, project, projects } = await setUp(folder);
  const { commit } = await projects.resolve(project, "HEAD");
  await projects.checkout("digits", commit, join(folder.path, "copy"));
  const remove = await projects.forget("digits");
  await remove();
  assertEquals(await pathsIn(join(dataFolder, "projects")), []);
  // One of its name is made anew, with the same content.
  assertEquals((await projects.resolve(project, "HEAD")).commit, commit);
  await projects.checkout("digits", commit, join(folder.path, "another"));
});
