/**
 * The actions of a run, as a whole.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ActionServices, performActions } from "../../src/actions/mod.ts";
import { systemClock } from "../../src/clock.ts";
import { Deadlines } from "../../src/deadlines.ts";
import type { Engine } from "../../src/engines/engine.ts";
import type { Engines } from "../../src/engines/mod.ts";
import { derivedId } from "../../src/ids.ts";
import { readConfigFile } from "../../src/projects/mod.ts";
import { getExecution, listExecutions, saveExecution } from "../../src/store/executions.ts";
import { listPipelines } from "../../src/store/pipelines.ts";
import { type Project, putProject } from "../../src/store/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { pendingOf } from "../runs/fixture.ts";
import { openTestStore } from "../store/fixture.ts";

const config = readConfigFile(
  `
- step: { name: s, image: i, command: c }
- pipeline: { name: Words, nodes: [{ name: n, type: execution, step: s }], edges: [] }
`,
  "valohai.yaml",
);
const step = { type: "run_execution", step: "s", commit: "HEAD", parameters: {} };
const fetch = { type: "fetch_repository" };

/** How the actions of a run are performed. */
interface Options {
  signal?: AbortSignal;
  /** How long an action may take. */
  time_ms?: number;
  repeated?: boolean;
  fetch?: ActionServices["projects"]["fetch"];
}

/** Runs whose project changes all the time. */
function runsOf(store: Store, project: Project) {
  const waiting = pendingOf();
  let resolved = 0;
  const submitted: string[] = [];
  const launched: string[] = [];
  /** What had begun before the run's end was stored. */
  const begunBeforeEnd: string[] = [];
  const engine: Pick<Engine, "submit"> = { submit: ({ status }) => void submitted.push(status) };
  // Actions use nothing else of the engines.
  const engines = { of: () => engine } as unknown as Engines;
  async function perform(actions: { type: string }[], options: Options = {}) {
    const { signal = new AbortController().signal, repeated = false } = options;
    await putProject(store, project);
    using deadlines = new Deadlines(options.time_ms ?? 60_000);
    const { outcomes, unstored } = await performActions(
      { ...waiting, run: { ...waiting.run, project: project.name }, actions, repeated },
      {
        store,
        clock: systemClock,
        deadlines,
        engines,
        pipelines: { begin: (id) => void launched.push(id) },
        projects: {
          resolve: (_project, reference) =>
            Promise.resolve({ commit: `${reference}~${++resolved}`, config }),
          fetch: options.fetch ?? (() => Promise.resolve({ branches: {} })),
        },
      },
      signal,
    );
    begunBeforeEnd.push(...submitted, ...launched);
    if (unstored) {
      await store.committer.write(unstored.writes);
      unstored.begin();
    }
    return outcomes;
  }
  return { perform, submitted, launched, begunBeforeEnd, runId: waiting.run.id };
}

/** The commits that the executions of some actions have. */
async function commitsOf(project: Project, actions: { type: string }[]): Promise<string[]> {
  await using store = await openTestStore();
  const outcomes = await runsOf(store.store, project).perform(actions);
  assertEquals(outcomes.filter(({ error }) => error !== undefined), []);
  const ids = outcomes.map(({ created }) => Object(created).execution_id);
  const { records: executions } = await listExecutions(store.store, { limit: 10 });
  return ids.flatMap((id) => executions.find((each) => each.id === id)?.commit ?? []);
}

const project = { name: "p", config_file: "valohai.yaml", engine: { type: "local" } };

Deno.test("the actions of a run share one snapshot of a folder, until one fetches", async () => {
  const folder = { ...project, directory: "/p" };
  assertEquals(await commitsOf(folder, [step, step, fetch, step]), [
    "HEAD~1",
    "HEAD~1",
    "HEAD~2",
  ]);
});

Deno.test("an action that names another commit of a folder is not given the run's snapshot", async () => {
  const folder = { ...project, directory: "/p" };
  const other = { ...step, commit: "main" };
  assertEquals(await commitsOf(folder, [step, other, step]), ["HEAD~1", "main~2", "HEAD~1"]);
});

Deno.test("each action finds the newest commit of a repository", async () => {
  const repository = { ...project, repository: "/p.git" };
  assertEquals(await commitsOf(repository, [step, step]), ["HEAD~1", "HEAD~2"]);
});

Deno.test("an action that is performed again finds its execution as it is by now", async () => {
  await using store = await openTestStore();
  const { perform, submitted } = runsOf(store.store, { ...project, repository: "/p.git" });
  const first = await perform([step]);
  const id = Object(first[0]?.created).execution_id ?? "";
  const made = await getExecution(store.store, id);
  assert(made?.status === "queued");
  const complete = { ...made, status: "complete" as const, exit_code: 0 };
  await store.store.committer.commit(saveExecution(complete));
  assertEquals(await perform([step], { repeated: true }), first);
  assertEquals(await getExecution(store.store, id), complete);
  assertEquals(submitted, ["queued", "complete"]);
});

Deno.test("actions that are performed again find their pipelines", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  const pipelines = async () => (await listPipelines(store.store, { limit: 9 })).records;
  const run = { type: "run_pipeline", pipeline: "Words", commit: "HEAD", parameters: {} };
  const [source] = await perform([run]);
  const copy = { type: "copy_pipeline", source_pipeline: Object(source?.created).pipeline_id };
  const first = await perform([run, copy], { repeated: true });
  const made = await pipelines();
  assertEquals(
    first.map(({ created }) => Object(created).pipeline_id).toSorted(),
    made.map(({ id }) => id).toSorted(),
  );
  assertEquals(await perform([run, copy], { repeated: true }), first);
  assertEquals(await pipelines(), made);
});

Deno.test("an action finds what those before it made; what the last one makes is stored with the run's end", async () => {
  await using store = await openTestStore();
  const { perform, launched, begunBeforeEnd, runId } = runsOf(store.store, project);
  const run = { type: "run_pipeline", pipeline: "Words", commit: "HEAD", parameters: {} };
  const source_pipeline = derivedId(runId, 0, "pipeline");
  const copy = { type: "copy_pipeline", source_pipeline };
  const outcomes = await perform([run, copy]);
  const made = outcomes.map(({ created }) => Object(created).pipeline_id);
  assertEquals(made, [source_pipeline, derivedId(runId, 1, "pipeline")]);
  assertEquals(launched, made);
  assertEquals(begunBeforeEnd, [source_pipeline]);
});

Deno.test("work that does not end when its time is up, or the service stops, fails its action", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  const deaf = { fetch: () => new Promise<never>(() => {}) };
  const late = await perform([fetch, step], { ...deaf, time_ms: 50 });
  assertEquals(late.map(({ error }) => error), ["Not done after 0.05 s", undefined]);
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(), 50);
  const stopped = await perform([fetch], { ...deaf, time_ms: 5_000, signal: stopping.signal });
  assertEquals(stopped.map(({ error }) => error), ["The service stopped"]);
});
