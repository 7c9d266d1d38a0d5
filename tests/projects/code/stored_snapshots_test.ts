/** Snapshots in a store that two machines share, each with a data folder of its own. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import { ActionError, isShortage, UnavailableError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { snapshotRecords } from "../../../src/store/records/stored_snapshots.ts";
import { openTestStore } from "../../store/fixture.ts";
import { TestClock } from "../../surroundings.ts";
import { configFile, TemporaryFolder } from "./git_fixture.ts";

const HOUR_MS = 60 * 60_000;

/** A store that breaks off what is put into it, while it is told to. */
class BreakingStore extends FolderStore {
  isBroken = false;

  override async add(...[key, content]: Parameters<FolderStore["add"]>) {
    if (!this.isBroken) return await super.add(key, content);
    await content.cancel();
    throw new UnavailableError("The store is away", 1);
  }
}

async function setUp(folder: TemporaryFolder) {
  const directory = join(folder.path, "digits");
  await Deno.mkdir(join(directory, "empty"), { recursive: true });
  await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("first"));
  await Deno.writeTextFile(join(directory, "run.sh"), "echo hi\n", { mode: 0o755 });
  await Deno.symlink("run.sh", join(directory, "link"));
  const shared = join(folder.path, "shared");
  const artifacts = new BreakingStore(shared, { isShared: true });
  const database = await openTestStore();
  const clock = new TestClock();
  const sharedSnapshots = { artifacts, records: snapshotRecords(database.store) };
  const machine = (name: string) =>
    new Projects({ dataFolder: join(folder.path, name), clock, sharedSnapshots });
  const engine = { type: "local", runner: "process" } as const;
  const project: Project = { name: "digits", directory, config_file: "valohai.yaml", engine };
  const stored = () => Array.fromAsync(Deno.readDir(join(shared, "snapshots")));
  const [first, second] = [machine("first"), machine("second")];
  return {
    ...{ directory, project, artifacts, clock, stored, first, second, shared },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

Deno.test("stored snapshot: another machine has the files as they were", async () => {
  await using folder = new TemporaryFolder();
  await using all = await setUp(folder);
  const { commit } = await all.first.resolve(all.project, "HEAD");
  await Deno.writeTextFile(join(all.directory, "run.sh"), "echo changed\n");
  const copy = join(folder.path, "copy");
  await all.second.checkout("digits", commit, copy);
  assertEquals(await Deno.readTextFile(join(copy, "run.sh")), "echo hi\n");
  assertEquals(((await Deno.stat(join(copy, "run.sh"))).mode ?? 0) & 0o777, 0o755);
  assertEquals(await Deno.readLink(join(copy, "link")), "run.sh");
  assert((await Deno.stat(join(copy, "empty"))).isDirectory);
  await all.first.resolve(all.project, "HEAD");
  await all.first.resolve(all.project, "HEAD");
  assertEquals((await all.stored()).length, 2, "one for each content");
});

Deno.test("stored snapshot: one that is damaged or gone is told", async () => {
  await using folder = new TemporaryFolder();
  await using all = await setUp(folder);
  const { commit } = await all.first.resolve(all.project, "HEAD");
  const [file] = await all.stored();
  const path = join(all.shared, "snapshots", String(file?.name));
  const bytes = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, bytes.replace("echo hi", "echo ho"));
  const checkout = () => all.second.checkout("digits", commit, join(folder.path, "copy"));
  await assertRejects(checkout, ActionError, `the snapshot in ${all.shared} is damaged`);
  await Deno.truncate(path, 700);
  await assertRejects(checkout, ActionError, `the snapshot in ${all.shared} is damaged`);
  await Deno.remove(path);
  await assertRejects(checkout, ActionError, "the snapshot is not kept any more; launch it again");
});

Deno.test("stored snapshot: nothing is launched before the store has it", async () => {
  await using folder = new TemporaryFolder();
  await using all = await setUp(folder);
  all.artifacts.isBroken = true;
  const error = await assertRejects(() => all.first.resolve(all.project, "HEAD"));
  assert(isShortage(error), "the run's actions are performed again");
  all.artifacts.isBroken = false;
  const { commit } = await all.first.resolve(all.project, "HEAD");
  await all.second.checkout("digits", commit, join(folder.path, "copy"));
});

Deno.test("stored snapshot: cleanup removes what nothing has needed for a day", async () => {
  await using folder = new TemporaryFolder();
  await using all = await setUp(folder);
  const { clock, first, second } = all;
  const names = async () => (await all.stored()).length;
  const { commit } = await first.resolve(all.project, "HEAD");
  await Deno.writeTextFile(join(all.directory, "run.sh"), "echo changed\n");
  await first.resolve(all.project, "HEAD");
  clock.time_ms += 23 * HOUR_MS;
  await first.resolve(all.project, "HEAD");
  clock.time_ms += 2 * HOUR_MS;
  const olderThan_ms = 24 * HOUR_MS;
  // A machine beside the leader removes its own copies alone, and makes them again.
  const copy = join(folder.path, "second", "projects", "digits", "trees", commit);
  const isCopied = () => Deno.stat(copy).then(() => true, () => false);
  await second.checkout("digits", commit, join(folder.path, "one"));
  await second.pruneCopies(olderThan_ms);
  assertEquals(await isCopied(), true);
  clock.time_ms += 25 * HOUR_MS;
  await second.pruneCopies(olderThan_ms);
  assertEquals([await isCopied(), await names()], [false, 2]);
  await second.checkout("digits", commit, join(folder.path, "other"));
  clock.time_ms -= 25 * HOUR_MS;
  await second.pruneTrees(new Set([`digits/${commit}`]), olderThan_ms);
  assertEquals(await names(), 2, "one is in use, one was needed two hours ago");
  await second.pruneTrees(new Set(), olderThan_ms);
  assertEquals(await names(), 1);
  clock.time_ms += 24 * HOUR_MS;
  await second.pruneTrees(new Set(), olderThan_ms);
  assertEquals(await names(), 0);
  // It is stored again when it is needed again.
  await first.resolve(all.project, "HEAD");
  assertEquals(await names(), 1);
});
