/** A power cut right after code was used: what the next service finds on the disk is whole, or made anew. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { PowerDisk } from "../../faults/power_disk.ts";
import { has } from "../../needs.ts";
import { configFile, GitFixture, TemporaryFolder } from "./git_fixture.ts";

Deno.test({
  name: "power: code that was used before a cut is used after it, whatever became of its source",
  ignore: !has("xfs_io"),
  async fn() {
    await using folder = new TemporaryFolder();
    const files = { "valohai.yaml": configFile("first"), "src/run.sh": "echo hi\n" };
    const remote = await GitFixture.make(join(folder.path, "remote"), files);
    const directory = join(folder.path, "plain");
    await Deno.mkdir(directory);
    await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("first"));
    const base = { config_file: "valohai.yaml", engine: { type: "local" } };
    const all: Project[] = [
      { ...base, name: "repository", repository: remote.path },
      { ...base, name: "plain", directory },
    ];
    await using disk = await PowerDisk.make(folder.path);
    const service = () => new Projects({ dataFolder: join(disk.path, "data"), clock: systemClock });
    const before = service();
    const commits = new Map<string, string>();
    for (const project of all) {
      const { commit } = await before.resolve(project, "HEAD");
      commits.set(project.name, commit);
      await before.checkout(project.name, commit, join(folder.path, `before-${project.name}`));
    }
    await disk.cut();
    await disk.bringBack();
    // Nothing can be fetched or copied again.
    await Deno.rename(remote.path, `${remote.path}-gone`);
    await Deno.writeTextFile(join(directory, "valohai.yaml"), configFile("second"));
    const after = service();
    for (const [name, commit] of commits) {
      const copy = join(folder.path, `after-${name}`);
      await after.checkout(name, commit, copy);
      assertEquals(await Deno.readTextFile(join(copy, "valohai.yaml")), configFile("first"), name);
    }

    const { config } = await after.resolve(
      { ...base, name: "repository", repository: remote.path },
      "HEAD",
    );
    assertEquals([...config.steps.keys()], ["first"]);
  },
});
