/**
 * Mirrors that are damaged, as a full disk, a lost machine or a person may leave them: each is made
 * anew when it is used next, whatever that use is.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { ActionError } from "../../../src/platform/errors.ts";
import { shell, unmount } from "../../faults/served.ts";
import { has } from "../../needs.ts";
import { collectLog } from "../../log_records.ts";
import { eventually } from "../../surroundings.ts";
import { projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";
import { GitServer } from "./http_server.ts";

/** Does something to the folder of a mirror. */
type Damage = (mirror: string) => Promise<void>;

const cases: Record<string, Damage> = {
  "that is gone": (mirror) => Deno.remove(mirror, { recursive: true }),
  "that is an empty folder": async (mirror) => {
    await Deno.remove(mirror, { recursive: true });
    await Deno.mkdir(mirror);
  },
  "that is a file": async (mirror) => {
    await Deno.remove(mirror, { recursive: true });
    await Deno.writeTextFile(mirror, "");
  },
  "that was half replaced": async (mirror) => {
    const fresh = await Deno.makeTempDir({ dir: join(mirror, ".."), prefix: "tmp-mirror-" });
    await Deno.rename(mirror, `${fresh}.old`);
  },
  "without HEAD": (mirror) => Deno.remove(join(mirror, "HEAD")),
  "with garbage as HEAD": (mirror) => Deno.writeTextFile(join(mirror, "HEAD"), "garbage"),
  "with garbage as its settings": (mirror) => Deno.writeTextFile(join(mirror, "config"), "[x"),
  "with an empty branch": (mirror) => Deno.truncate(join(mirror, "refs/heads/main")),
  "with unreadable packed branches": (mirror) =>
    Deno.writeTextFile(join(mirror, "packed-refs"), "# pack-refs with: sorted\nnonsense\n"),
  "without objects": (mirror) => Deno.remove(join(mirror, "objects"), { recursive: true }),
  "with empty packs": (mirror) => eachPack(mirror, (path) => Deno.truncate(path)),
  "with packs that are cut off": (mirror) =>
    eachPack(mirror, async (path) => await Deno.truncate(path, (await Deno.stat(path)).size / 2)),
  "with packs of garbage": (mirror) =>
    eachPack(mirror, async (path) => {
      const bytes = await Deno.readFile(path);
      bytes.fill(0x55, 12);
      await Deno.chmod(path, 0o600);
      await Deno.writeFile(path, bytes);
    }),
  "without one file": (mirror) => loseObject(mirror, "main:src/run.sh"),
  "without its project configuration file": (mirror) => loseObject(mirror, "main:valohai.yaml"),
  "without one folder": (mirror) => loseObject(mirror, "main:src"),
  "without its newest commit": (mirror) => loseObject(mirror, "main"),
};

for (const [place, [name, damage]] of Object.entries(cases).entries()) {
  Deno.test(`repository: a mirror ${name} is made anew`, async (t) => {
    await using folder = new TemporaryFolder();
    const { remote, hash, mirror, projects, restarted, project } = await setUp(folder);
    await projects.resolve(project, "main");
    const copy = () => join(folder.path, crypto.randomUUID());

    await t.step("to find a commit and to use it", async () => {
      await damage(mirror);
      const service = restarted();
      const { commit, config } = await service.resolve(project, "main");
      assertEquals(commit, hash);
      assertEquals([...config.steps.keys()], ["first"]);
      const to = copy();
      await service.checkout("digits", commit, to);
      assertEquals(await Deno.readTextFile(join(to, "src/run.sh")), "echo hi\n");
    });

    const waiting = async () => {
      await projects.pruneTrees(new Set(), 0);
      await damage(mirror);
      const to = [copy(), copy(), copy()];
      const service = restarted();
      await Promise.all(to.map((path) => service.checkout("digits", hash, path)));
      assertEquals(await Deno.readTextFile(join(to[2] ?? "", "src/run.sh")), "echo hi\n");
    };

    const abbreviated = async () => {
      await damage(mirror);
      assertEquals((await restarted().resolve(project, hash.slice(0, 9))).commit, hash);
    };

    const fetching = async () => {
      await damage(mirror);
      const newer = await remote.commit({ "b.txt": "b" });
      const service = restarted();
      assertEquals((await service.fetch(project)).branches, { main: newer });
      await service.resolve(project, "main");
      const to = copy();
      await service.checkout("digits", newer, to);
      assertEquals(await Deno.readTextFile(join(to, "b.txt")), "b");
    };

    // Each other use after a third of the damages: all of them begin by the same look at the mirror.
    const others: [string, () => Promise<void>][] = [
      ["for executions that waited for a restart", waiting],
      ["to find what an abbreviated hash stands for", abbreviated],
      ["to fetch", fetching],
    ];
    const [what, use] = others[place % others.length] ?? ["to fetch", fetching];
    await t.step(what, use);
  });
}

Deno.test("repository: a mirror whose damage is found while a fetch goes on is made anew behind it", async () => {
  await using folder = new TemporaryFolder();
  const { hash, mirror, projects } = await setUp(folder);
  const goOn = Promise.withResolvers<void>();
  let isSlow = false;
  const before = async () => {
    if (isSlow) await goOn.promise;
  };
  await using server = new GitServer(folder.path, { before });
  using stack = new DisposableStack();
  stack.defer(() => goOn.resolve());
  const project = projectOf(`http://${server.host}/remote/.git`);
  await projects.resolve(project, "main");
  isSlow = true;
  const asked = server.requests.length;
  const fetching = projects.fetch(project);
  await eventually(() => server.requests.length > asked || undefined);
  await loseObject(mirror, "main:src/run.sh");
  await using log = await collectLog("warning");
  const copy = join(folder.path, "copy");
  const checkout = projects.checkout("digits", hash, copy);
  await eventually(() => log.lines().some((line) => line.includes("is damaged")) || undefined);
  goOn.resolve();
  await checkout;
  assertEquals(await Deno.readTextFile(join(copy, "src/run.sh")), "echo hi\n");
  assertEquals((await fetching).branches, { main: hash });
});

Deno.test("repository: what a killed git leaves behind does not keep from fetching", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, mirror, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  const { ino } = await Deno.stat(mirror);
  const left = ["refs/heads/main.lock", "packed-refs.lock", "HEAD.lock", "config.lock"];
  const pack = "objects/pack/tmp_pack_AbCdEf";
  for (const path of [...left, pack]) await Deno.writeTextFile(join(mirror, path), "");
  await remote.git("commit", "--quiet", "--amend", "--message=other");
  const newer = await remote.git("rev-parse", "HEAD");
  assertEquals(await projects.fetch(project), { branches: { main: newer } });
  for (const path of [...left, pack]) {
    await assertRejects(() => Deno.lstat(join(mirror, path)), Deno.errors.NotFound);
  }
  // It is the same mirror still, with what the remote has forgotten.
  assertEquals((await Deno.stat(mirror)).ino, ino);
  assertEquals((await projects.resolve(project, hash)).commit, hash);
});

Deno.test("repository: a reference follows a mirror that was made anew", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, mirror, projects, project } = await setUp(folder);
  await projects.resolve(project, "main");
  await remote.git("commit", "--quiet", "--amend", "--message=other");
  const newer = await remote.git("rev-parse", "HEAD");
  await Deno.remove(mirror, { recursive: true });
  // Another name of the file, so that it has to be read again.
  const other = { ...project, config_file: "./valohai.yaml" };
  assertEquals((await projects.resolve(other, "main")).commit, newer);
  await assertRejects(
    () => projects.checkout("digits", hash, join(folder.path, "copy")),
    ActionError,
    "even after its mirror was made again",
  );
});

Deno.test("repository: a mirror that cannot be made anew is told, and is when it can be", async () => {
  await using folder = new TemporaryFolder();
  const { remote, hash, mirror, projects, restarted, project } = await setUp(folder);
  await projects.resolve(project, "main");
  await Deno.remove(mirror, { recursive: true });
  await Deno.rename(remote.path, `${remote.path}-away`);
  const service = restarted();
  const to = join(folder.path, "copy");
  await assertRejects(() => service.checkout("digits", hash, to), ActionError, "Cannot fetch");
  await assertRejects(() => service.resolve(project, "main"), ActionError, "Cannot fetch");
  await Deno.rename(`${remote.path}-away`, remote.path);
  await service.checkout("digits", hash, to);
});

Deno.test({
  name: "repository: what a fetch has taken of a full disk is free again when it has failed",
  ignore: !has("mount"),
  async fn() {
    await using folder = new TemporaryFolder();
    const { remote, hash, mirror, dataFolder, projects, project } = await setUp(folder);
    await Deno.mkdir(dataFolder);
    await shell(`mount -t tmpfs -o size=2m tmpfs '${dataFolder}'`);
    try {
      await projects.fetch(project);
      const noise = () => crypto.getRandomValues(new Uint8Array(64 * 1024)).toHex();
      const newer = await remote.commit({ large: Array.from({ length: 40 }, noise).join("") });
      await assertRejects(() => projects.fetch(project), ActionError, "No space left");
      const packs = await Array.fromAsync(
        Deno.readDir(join(mirror, "objects/pack")),
        ({ name }) => name,
      );
      assertEquals(packs.filter((name) => !name.startsWith("pack-")), []);
      assertEquals((await projects.resolve(project, "main")).commit, hash);
      await shell(`mount -o remount,size=64m '${dataFolder}'`);
      assertEquals(await projects.fetch(project), { branches: { main: newer } });
    } finally {
      await unmount(dataFolder);
    }
  },
});

async function eachPack(mirror: string, damage: Damage): Promise<void> {
  const folder = join(mirror, "objects/pack");
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".pack")) await damage(join(folder, name));
  }
}

/** Takes one object out of a mirror, so that all others can be read. */
async function loseObject(mirror: string, name: string): Promise<void> {
  const script = `
    cd "$1" && hash=$(git rev-parse "$2") && mkdir away && mv objects/pack/* away
    for pack in away/*.pack; do git unpack-objects -q < "$pack"; done
    rm -rf away && rm -f "objects/$(echo "$hash" | cut -c1-2)/$(echo "$hash" | cut -c3-)"`;
  const args = ["-c", script, "sh", mirror, name];
  const { success } = await new Deno.Command("sh", { args, stderr: "null" }).output();
  if (!success) throw new Error(`Could not take ${name} out of ${mirror}`);
}
