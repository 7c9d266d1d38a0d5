/**
 * Trees and snapshots that a power cut has damaged: their names are on disk, and some of their files are
 * empty, short or gone. The next service makes them anew.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { ActionError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { has } from "../../needs.ts";
import { configFile, setUp, TemporaryFolder, textsIn } from "./git_fixture.ts";

/** Does something to a tree that holds `valohai.yaml`, `src/run.sh` and `link`. */
type Damage = (tree: string) => Promise<void>;

const cases: Record<string, Damage> = {
  "with an empty project configuration file": (tree) => Deno.truncate(join(tree, "valohai.yaml")),
  "with a file that is cut off": (tree) => Deno.truncate(join(tree, "src/run.sh"), 3),
  "with other bytes in a file": (tree) => overwrite(join(tree, "src/run.sh"), "\0\0\0\0\0\0\0\n"),
  "with a file that is not executable": (tree) => Deno.chmod(join(tree, "src/run.sh"), 0o644),
  "without a file": (tree) => Deno.remove(join(tree, "src/run.sh")),
  "without a folder": (tree) => Deno.remove(join(tree, "src"), { recursive: true }),
  "without a link": (tree) => Deno.remove(join(tree, "link")),
};

/** Writes other bytes of the same number, and leaves the times as they were. */
async function overwrite(path: string, text: string): Promise<void> {
  const { size, atime, mtime } = await Deno.stat(path);
  assertEquals(size, text.length);
  await Deno.writeTextFile(path, text);
  await Deno.utime(path, atime ?? 0, mtime ?? 0);
}

async function assertWhole(copy: string): Promise<void> {
  assertEquals(await Deno.readTextFile(join(copy, "valohai.yaml")), configFile("first"));
  assertEquals(await Deno.readTextFile(join(copy, "src/run.sh")), "echo hi\n");
  assert(((await Deno.stat(join(copy, "src/run.sh"))).mode ?? 0) & 0o100);
  assertEquals(await Deno.readLink(join(copy, "link")), "src/run.sh");
}

/** A project of a plain folder with the files of the repository's fixture. */
async function setUpFolder(folder: TemporaryFolder) {
  const directory = join(folder.path, "digits");
  const dataFolder = join(folder.path, "data");
  await Deno.mkdir(join(directory, "src"), { recursive: true });
  await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("first"));
  await Deno.writeTextFile(join(directory, "src/run.sh"), "echo hi\n", { mode: 0o755 });
  await Deno.symlink("src/run.sh", join(directory, "link"));
  const engine = { type: "local", runner: "process" } as const;
  const project: Project = { name: "digits", directory, config_file: "valohai.yaml", engine };
  const restarted = () => new Projects({ dataFolder, clock: systemClock });
  const treeOf = (commit: string) => join(dataFolder, "projects/digits/trees", commit);
  return { directory, project, restarted, treeOf };
}

for (const [name, damage] of Object.entries(cases)) {
  Deno.test(`a tree ${name} is made anew after a restart`, async () => {
    await using folder = new TemporaryFolder();
    const { hash, dataFolder, projects, restarted, project } = await setUp(folder);
    const copy = () => join(folder.path, crypto.randomUUID());
    await projects.resolve(project, "main");
    await projects.checkout("digits", hash, copy());
    await damage(join(dataFolder, "projects/digits/trees", hash));
    const copies = [copy(), copy()];
    const service = restarted();
    await Promise.all(copies.map((path) => service.checkout("digits", hash, path)));
    for (const path of copies) await assertWhole(path);
  });

  Deno.test(`a snapshot ${name} is taken anew after a restart`, async () => {
    await using folder = new TemporaryFolder();
    const { project, restarted, treeOf } = await setUpFolder(folder);
    const { commit } = await restarted().resolve(project, "HEAD");
    await damage(treeOf(commit));
    const service = restarted();
    const now = await service.resolve(project, "HEAD");
    assertEquals(now.commit, commit);
    assertEquals([...now.config.steps.keys()], ["first"]);
    const copy = join(folder.path, "copy");
    await service.checkout("digits", commit, copy);
    await assertWhole(copy);
  });
}

Deno.test("a damaged snapshot of a folder that was edited is refused, not run", async () => {
  await using folder = new TemporaryFolder();
  const { project, restarted, directory, treeOf } = await setUpFolder(folder);
  const { commit } = await restarted().resolve(project, "HEAD");
  await Deno.truncate(join(treeOf(commit), "src/run.sh"));
  await Deno.writeTextFile(join(directory, "src/run.sh"), "echo edited\n");
  const copy = join(folder.path, "copy");
  await assertRejects(
    () => restarted().checkout("digits", commit, copy),
    ActionError,
    `Cannot check out ${commit} of project "digits": the snapshot is not kept any more`,
  );
});

Deno.test("whole trees and snapshots are used as they are after a restart", async () => {
  await using folder = new TemporaryFolder();
  const { hash, dataFolder, projects, restarted, project } = await setUp(folder);
  await projects.resolve(project, "main");
  await projects.checkout("digits", hash, join(folder.path, "first"));
  const tree = join(dataFolder, "projects/digits/trees", hash);
  const { ino } = await Deno.stat(tree);
  await restarted().checkout("digits", hash, join(folder.path, "second"));
  assertEquals((await Deno.stat(tree)).ino, ino);

  await using other = new TemporaryFolder();
  const plain = await setUpFolder(other);
  const { commit } = await plain.restarted().resolve(plain.project, "HEAD");
  const before = await Deno.stat(plain.treeOf(commit));
  const service = plain.restarted();
  await service.resolve(plain.project, "HEAD");
  await service.checkout("digits", commit, join(other.path, "copy"));
  assertEquals((await Deno.stat(plain.treeOf(commit))).ino, before.ino);
});

Deno.test({
  name: "a snapshot, and a mirror, are on disk before they have their names",
  ignore: !has("strace"),
  async fn() {
    await using folder = new TemporaryFolder();
    const { project } = await setUp(folder);
    const plain = await setUpFolder(folder);
    const trace = join(folder.path, "trace");
    const options = `{ dataFolder: ${
      JSON.stringify(join(folder.path, "traced"))
    }, clock: systemClock }`;
    const script = `import { Projects } from "./src/projects/projects.ts";
      import { systemClock } from "./src/platform/clock.ts";
      const projects = new Projects(${options});
      await projects.resolve(${JSON.stringify({ ...plain.project, name: "plain" })}, "HEAD");
      await projects.resolve(${JSON.stringify(project)}, "main");`;
    const { success, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        `exec strace -f -y -qq -o "$1" -e trace=fsync,fdatasync,rename,renameat,renameat2 "$2" eval "$3"`,
        ...["sh", trace, Deno.execPath(), script],
      ],
      cwd: new URL("../../../", import.meta.url),
      stdout: "null",
      stderr: "piped",
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const calls = (await Deno.readTextFile(trace)).split("\n");
    const placeOf = (what: RegExp) => calls.findIndex((call) => what.test(call));
    const renamed = placeOf(/rename\w*\(.*\/trees\/~[0-9a-f]{64}"/);
    for (const path of ["valohai.yaml", "src/run.sh", "src"]) {
      const synced = placeOf(new RegExp(`f(data)?sync\\(.*/trees/tmp-[^/]*/${path}>`));
      assert(
        synced !== -1 && synced < renamed,
        `${path} is synced at ${synced}, not before ${renamed}`,
      );
    }
    assert(calls.slice(renamed).some((call) => /fsync\(.*plain\/trees>/.test(call)));
    const mirrored = placeOf(/rename\w*\(.*digits\/mirror\.git"/);
    for (const path of ["HEAD", "config", "refs/heads", "objects/pack", "refs/heads/main.lock"]) {
      const synced = placeOf(new RegExp(`f(data)?sync\\(.*/tmp-mirror-[^/]*/${path}>`));
      assert(
        synced !== -1 && synced < mirrored,
        `${path} is synced at ${synced}, not before ${mirrored}`,
      );
    }
    assert(calls.slice(mirrored).some((call) => /fsync\(.*projects\/digits>/.test(call)));
    for await (const [path] of textsIn(join(folder.path, "traced"))) {
      assert(!path.includes("/tmp-"), path);
    }
  },
});
