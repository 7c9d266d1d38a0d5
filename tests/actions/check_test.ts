/** Checks of actions and projects when they are saved: what their project does not have is told then. */
import { assertEquals } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { actionSchema, checkActions } from "../../src/actions/mod.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Problem } from "../../src/platform/errors.ts";
import { newId } from "../../src/platform/ids.ts";
import { parseWith } from "../../src/platform/schema/schema.ts";
import { Projects } from "../../src/projects/projects.ts";
import type { Project } from "../../src/store/records/projects.ts";
import { GitFixture, projectOf, TemporaryFolder } from "../projects/code/git_fixture.ts";
import { openTestStore } from "../store/fixture.ts";

const CONFIG = `
- step:
    name: train
    image: i
    command: c
    inputs: [{ name: labels, optional: true }]
    parameters: [{ name: epochs, type: integer, default: 1 }, { name: rate, optional: true }]
- step: { name: needy, image: i, command: c, inputs: [{ name: data }] }
- pipeline:
    name: Words
    nodes: [{ name: n, type: execution, step: train }]
    edges: []
    parameters: [{ name: epochs, targets: [n.parameter.epochs] }]
- pipeline:
    name: Broken
    nodes: [{ name: n, type: execution, step: needy }]
    edges: []
`;

/** What is written of an action, and what is told of it. */
const cases: [settings: Record<string, unknown>, told: [pointer: string, detail: string][]][] = [
  [{ type: "run_execution", step: "train", payload_input_name: "labels" }, []],
  [{ type: "run_execution", step: "trian" }, [
    ["/step", 'Cannot run step "trian": there is none of this name; found "train", "needy"'],
  ]],
  [{ type: "run_execution", step: "train", payload_input_name: "lables" }, [
    [
      "/payload_input_name",
      'Cannot run step "train": it has no input "lables"; its inputs are "labels"',
    ],
  ]],
  [{ type: "run_execution", step: "train", parameters: { epoch: 2, epochs: "many" } }, [
    [
      "/parameters/epoch",
      'Cannot run step "train": it has no parameter "epoch"; its parameters are "epochs", "rate"',
    ],
    [
      "/parameters/epochs",
      'Cannot run step "train": its parameter "epochs" cannot take this value: "many" is not an integer',
    ],
  ]],
  [{ type: "run_execution", step: "needy" }, [
    ["/step", 'Cannot run step "needy": its input "data" has no file'],
  ]],
  [{ type: "run_pipeline", pipeline: "Words", payload_input_name: "n.labels" }, []],
  [{ type: "run_pipeline", pipeline: "words" }, [
    [
      "/pipeline",
      'Cannot run pipeline "words": there is none of this name; found "Words", "Broken"',
    ],
  ]],
  [{ type: "run_pipeline", pipeline: "Words", parameters: { rate: 1 } }, [
    [
      "/parameters/rate",
      'Cannot run pipeline "Words": it has no parameter "rate"; its parameters are "epochs"; ' +
      'those of its nodes are "n.epochs", "n.rate"',
    ],
  ]],
  [{ type: "run_pipeline", pipeline: "Words", payload_input_name: "n.lables" }, [
    [
      "/payload_input_name",
      'Cannot run pipeline "Words": node "n" has no input "lables"; its inputs are "labels"',
    ],
  ]],
  [{ type: "run_pipeline", pipeline: "Broken" }, [
    [
      "/pipeline",
      'Cannot run pipeline "Broken": node "n": Cannot run step "needy": its input "data" has no file',
    ],
  ]],
  [{ type: "fetch_repository" }, []],
];

async function check(
  project: Project,
  projects: Projects,
  settings: Record<string, unknown>,
): Promise<Problem[]> {
  await using store = await openTestStore();
  const action = parseWith(actionSchema, settings, "the action");
  return await checkActions([{ type: "fetch_repository" }, action], {
    project,
    projects,
    store: store.store,
  });
}

Deno.test("saving: what a step, a pipeline and their inputs and parameters are not is told", async (t) => {
  await using folder = new TemporaryFolder();
  const remote = await GitFixture.make(join(folder.path, "remote"), { "valohai.yaml": CONFIG });
  const project = projectOf(remote.path);
  const projects = new Projects({ dataFolder: join(folder.path, "data"), clock: systemClock });
  await projects.fetch(project);
  for (const [settings, told] of cases) {
    await t.step(JSON.stringify(settings), async () => {
      const problems = told.map(([at, detail]) => ({ pointer: `/1${at}`, detail }));
      assertEquals(await check(project, projects, settings), problems);
    });
  }
  await t.step("a commit that there is not", async () => {
    const settings = { type: "run_execution", step: "train", commit: "v2" };
    const [problem, ...others] = await check(project, projects, settings);
    assertEquals([problem?.pointer, others], ["/1/commit", []]);
    assertEquals(
      problem?.detail.split(": ")[0],
      'Cannot find "v2" in the repository of project "digits" as last fetched',
    );
  });
  await t.step("a pipeline to copy that there is not", async () => {
    const id = newId(Date.now());
    assertEquals(await check(project, projects, { type: "copy_pipeline", source_pipeline: id }), [{
      pointer: "/1/source_pipeline",
      detail: `Cannot copy pipeline ${id}: project "digits" has none of this id`,
    }]);
  });
});

Deno.test("saving: a repository that was never fetched is not fetched, and nothing is told of it", async () => {
  await using folder = new TemporaryFolder();
  const remote = await GitFixture.make(join(folder.path, "remote"), { "valohai.yaml": CONFIG });
  const project = projectOf(remote.path);
  const projects = new Projects({ dataFolder: join(folder.path, "data"), clock: systemClock });
  assertEquals(await check(project, projects, { type: "run_execution", step: "trian" }), []);
  assertEquals(await projects.check(project), []);
  assertEquals(existsSync(join(folder.path, "data/projects/digits/mirror.git")), false);
});

Deno.test("saving: a project's folder, variables, key and file that are not there are told", async () => {
  await using folder = new TemporaryFolder();
  const projects = new Projects({
    dataFolder: join(folder.path, "data"),
    clock: systemClock,
    env: (name) => name === "SET" ? "secret" : undefined,
  });
  const { repository: _, ...base } = projectOf("");
  const directory = join(folder.path, "plain");
  const told = async (project: Partial<Project>) => {
    return (await projects.check({ ...base, ...project })).map((
      { pointer, detail },
    ) => [pointer, detail]);
  };
  assertEquals(await told({ directory }), [
    ["/directory", `Cannot use the folder ${directory}: it does not exist or is no folder`],
  ]);
  await Deno.mkdir(directory);
  assertEquals((await told({ directory })).map(([pointer]) => pointer), ["/config_file"]);
  await Deno.writeTextFile(join(directory, "valohai.yaml"), "- step: {}\n");
  assertEquals((await told({ directory })).map(([pointer]) => pointer), ["/config_file"]);
  await Deno.writeTextFile(join(directory, "valohai.yaml"), CONFIG);
  assertEquals(await told({ directory }), []);
  const url = (variable: string) => `https://{env:${variable}}@git.example.com/x.git`;
  assertEquals(await told({ repository: url("SET") }), []);
  assertEquals(await told({ repository: url("UNSET") }), [
    ["/repository", "Cannot be fetched: the environment variable UNSET is not set"],
  ]);
  const repository = join(folder.path, "no repository");
  const absent = [[
    "/repository",
    `Cannot be fetched: ${repository} does not exist, or cannot be read`,
  ]];
  assertEquals(await told({ repository }), absent);
  assertEquals(await told({ repository: pathToFileURL(repository).href }), absent);
  await Deno.mkdir(`${repository}.git`);
  assertEquals(await told({ repository }), []);
  assertEquals(await told({ repository: pathToFileURL(repository).href }), []);
  const key = join(folder.path, "key");
  assertEquals(await told({ repository: "git@git.example.com:x.git", deploy_key: key }), [[
    "/deploy_key",
    `Cannot be fetched: its deploy_key ${
      JSON.stringify(key)
    } does not exist, is no file or cannot be read`,
  ]]);
});
