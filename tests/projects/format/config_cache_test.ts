/** Project configuration files that take long to read: each is read once, also where it is wrong. */
import { assertEquals, assertLess, assertRejects } from "@std/assert";
import { join } from "node:path";
import process from "node:process";
import { systemClock } from "../../../src/platform/clock.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { configFile, TemporaryFolder } from "../code/git_fixture.ts";

/** As many items as a file may have, of which none is what it must be. */
const WRONG = "- 1\n".repeat(60_000);
const LAUNCHES = 20;

Deno.test("project: a wrong project configuration file is not read again at each launch", async () => {
  await using folder = new TemporaryFolder();
  const directory = join(folder.path, "digits");
  await Deno.mkdir(directory);
  const config = join(directory, "valohai.yaml");
  await Deno.writeTextFile(config, WRONG);
  const engine = { type: "local", runner: "process" } as const;
  const project: Project = { name: "digits", directory, config_file: "valohai.yaml", engine };
  const projects = new Projects({ dataFolder: join(folder.path, "data"), clock: systemClock });
  const fail = () => assertRejects(() => projects.resolve(project, "HEAD"), InvalidInputError);
  const cpu_ms = async (work: () => Promise<unknown>) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const first_ms = await cpu_ms(fail);
  const again_ms = await cpu_ms(async () => {
    for (let launch = 0; launch < LAUNCHES; launch++) {
      // Each launch is of another commit, with the same file.
      await Deno.writeTextFile(join(directory, "data"), String(launch));
      await fail();
    }
  });
  assertLess(again_ms / LAUNCHES, first_ms / 4);
  await Deno.writeTextFile(config, configFile("first"));
  assertEquals([...(await projects.resolve(project, "HEAD")).config.steps.keys()], ["first"]);
});
