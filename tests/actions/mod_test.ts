/**
 * The actions of a run, as a whole.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { performActions } from "../../src/actions/mod.ts";
import { systemClock } from "../../src/clock.ts";
import { Deadlines } from "../../src/deadlines.ts";
import type { Engine } from "../../src/engines/engine.ts";
import type { Engines } from "../../src/engines/mod.ts";
import { readConfigFile } from "../../src/projects/mod.ts";
import { listExecutions } from "../../src/store/executions.ts";
import { type Project, putProject } from "../../src/store/projects.ts";
import { pendingOf } from "../runs/fixture.ts";
import { openTestStore } from "../store/fixture.ts";

const config = readConfigFile("- step: { name: s, image: i, command: c }", "valohai.yaml");
const step = { type: "run_execution", step: "s", commit: "HEAD", parameters: {} };
const fetch = { type: "fetch_repository" };

/** The commits that the executions of some actions have, when the project changes all the time. */
async function commitsOf(project: Project, actions: { type: string }[]): Promise<string[]> {
  await using store = await openTestStore();
  await putProject(store.store, project);
  using deadlines = new Deadlines(60_000);
  const waiting = pendingOf();
  let resolved = 0;
  const engine: Pick<Engine, "submit"> = { submit: () => {} };
  // Actions use nothing else of the engines.
  const engines = { of: () => engine } as unknown as Engines;
  const outcomes = await performActions(
    { ...waiting, run: { ...waiting.run, project: project.name }, actions, repeated: false },
    {
      store: store.store,
      clock: systemClock,
      deadlines,
      engines,
      pipelines: { launch: () => Promise.resolve() },
      projects: {
        resolve: () => Promise.resolve({ commit: `~${++resolved}`, config }),
        fetch: () => Promise.resolve({ branches: {} }),
      },
    },
    new AbortController().signal,
  );
  assertEquals(outcomes.filter(({ error }) => error !== undefined), []);
  const ids = outcomes.map(({ created }) => created?.execution_id);
  const { records: executions } = await listExecutions(store.store, { limit: 10 });
  return ids.flatMap((id) => executions.find((each) => each.id === id)?.commit ?? []);
}

const project = { name: "p", config_file: "valohai.yaml", engine: { type: "local" } };

Deno.test("the actions of a run share one snapshot of a folder, until one fetches", async () => {
  const folder = { ...project, directory: "/p" };
  assertEquals(await commitsOf(folder, [step, step, fetch, step]), ["~1", "~1", "~2"]);
});

Deno.test("each action finds the newest commit of a repository", async () => {
  const repository = { ...project, repository: "/p.git" };
  assertEquals(await commitsOf(repository, [step, step]), ["~1", "~2"]);
});
