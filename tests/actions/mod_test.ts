/**
 * The actions of a run, as a whole.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ActionServices, performActions } from "../../src/actions/mod.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Deadlines } from "../../src/platform/waiting/deadlines.ts";
import type { Engine } from "../../src/engines/engine.ts";
import type { Engines } from "../../src/engines/mod.ts";
import { derivedId } from "../../src/platform/ids.ts";
import { readConfigFile } from "../../src/projects/mod.ts";
import type { Write } from "../../src/store/commit/change.ts";
import { getExecution, listExecutions, saveExecution } from "../../src/store/records/executions.ts";
import { getPipeline, listPipelines } from "../../src/store/records/pipelines.ts";
import { deleteProject, type Project, putProject } from "../../src/store/records/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { pendingOf } from "../runs/fixture.ts";
import { contents, openTestStore, standIn } from "../store/fixture.ts";

const config = readConfigFile(
  `
- step: { name: s, image: i, command: c }
- step:
    name: t
    image: i
    command: c
    inputs: [{ name: labels, default: "https://example.com/old" }]
    parameters: [{ name: epochs, type: integer, default: 1 }]
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
  /** The project, where it is another than that of the other runs. */
  project?: Project;
  /** Whether the project was deleted. */
  isGone?: boolean;
  /** What happens before the end of the run is stored. */
  meanwhile?(): Promise<void>;
  /** How many times the project cannot be read at first. */
  unreadable?: number;
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
    const { project: at = project } = options;
    let { unreadable = 0 } = options;
    await putProject(store, at);
    if (options.isGone) await deleteProject(store, at.name);
    using deadlines = new Deadlines(options.time_ms ?? 60_000);
    const { outcomes, unstored } = await performActions(
      { ...waiting, run: { ...waiting.run, project: at.name }, actions, repeated },
      {
        store,
        clock: systemClock,
        deadlines,
        valuesOf: () => () => Promise.resolve({ values: [] }),
        engines,
        pipelines: { begin: (id) => void launched.push(id) },
        httpRequests: { begin: (id) => void launched.push(id) },
        baseUrl: () => "http://127.0.0.1",
        projects: {
          resolve: (_project, reference) =>
            unreadable-- > 0
              ? Promise.reject(new Error("it cannot be read"))
              : Promise.resolve({ commit: `${reference}~${++resolved}`, config }),
          fetch: options.fetch ?? (() => Promise.resolve({ branches: {} })),
        },
      },
      signal,
    );
    assertEquals(deadlines.size, 0);
    begunBeforeEnd.push(...submitted, ...launched);
    await options.meanwhile?.();
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

Deno.test("a folder that could not be read for one action is read for the next", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, directory: "/p" });
  const outcomes = await perform([step, step], { unreadable: 1 });
  assertEquals(outcomes.map(({ error }) => error), ["it cannot be read", undefined]);
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

Deno.test("an execution has the title, the parameters and the payload that its action says", async () => {
  await using store = await openTestStore();
  const { perform, runId } = runsOf(store.store, { ...project, repository: "/p.git" });
  const own = { title: "Nightly", parameters: { epochs: 3 }, payload_input_name: "labels" };
  const asItIs = { ...step, step: "t" };
  const changed = { ...asItIs, ...own };
  const outcomes = await perform([asItIs, changed]);
  const made = await Promise.all(
    outcomes.map(({ created }) => getExecution(store.store, Object(created).execution_id)),
  );
  assertEquals(made.map((each) => each?.title), ["t", "Nightly"]);
  assertEquals(made.map((each) => each?.parameters.epochs), [1, 3]);
  const [asDeclared, replaced] = made.map((each) => each?.inputs.labels);
  assertEquals(asDeclared, [{ name: "old", url: "https://example.com/old" }]);
  assertEquals(replaced, [{ name: "payload", payload_of: runId, size: 0, sha256: "" }]);
});

Deno.test("an action that is performed again finds its execution as it is by now", async () => {
  await using store = await openTestStore();
  const { perform, submitted } = runsOf(store.store, { ...project, repository: "/p.git" });
  const first = await perform([step]);
  const id = Object(first[0]?.created).execution_id ?? "";
  const made = await getExecution(store.store, id);
  assert(made?.status === "queued");
  const complete = { ...made, status: "complete" as const, exit_code: 0 };
  // It ends after the action has looked, and before the end of the run is stored.
  let before: unknown;
  const meanwhile = async () => {
    await store.store.committer.commit(saveExecution(complete));
    before = await contents(store.store);
  };
  assertEquals(await perform([step], { repeated: true, meanwhile }), first);
  assertEquals(await contents(store.store), before);
  assertEquals(await perform([step], { repeated: true }), first);
  assertEquals(await contents(store.store), before);
  assertEquals(submitted, ["queued", "queued", "complete"]);
});

Deno.test("actions that are performed again find what they made though their project is gone", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  const pipeline = { type: "run_pipeline", pipeline: "Words", commit: "HEAD", parameters: {} };
  const [made, begun] = await perform([step, pipeline]);
  const isGone = true;
  const again = await perform([step, pipeline, step], { repeated: true, isGone });
  const error = 'Cannot perform run_execution: there is no project "p"';
  assertEquals(again, [made, begun, { action: "run_execution", error }]);
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

Deno.test("a pipeline is copied as it was, for its own project, with the payload at an input that it has", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  const run = { type: "run_pipeline", pipeline: "Words", commit: "HEAD", parameters: {} };
  const [source] = await perform([run]);
  const source_pipeline = Object(source?.created).pipeline_id;
  const copy = { type: "copy_pipeline", source_pipeline };
  // The place of the first is the source's own.
  const [, copied] = await perform([fetch, copy]);
  const made = await getPipeline(store.store, Object(copied?.created).pipeline_id);
  assertEquals([made?.commit, made?.copy_of], ["HEAD~1", source_pipeline]);
  const nowhere = { ...copy, payload_input_name: "n.labels" };
  const [, unknown] = await perform([fetch, nowhere]);
  assertMatch(unknown?.error ?? "", /^Cannot copy pipeline .*labels/);
  const [, foreign] = await perform([fetch, copy], { project: { ...project, name: "q" } });
  assertEquals(
    foreign?.error,
    `Cannot copy pipeline ${source_pipeline}: project "q" has none of this id`,
  );
});

Deno.test("work that does not end when its time is up, or the service stops, fails its action", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  const signals: AbortSignal[] = [];
  const deaf = {
    fetch: (_project: Project, signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    },
  };
  const late = await perform([fetch, step], { ...deaf, time_ms: 50 });
  assertEquals(late.map(({ error }) => error), ["Not done after 0.05 s", undefined]);
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(), 50);
  const stopped = await perform([fetch], { ...deaf, time_ms: 5_000, signal: stopping.signal });
  assertEquals(stopped.map(({ error }) => error), ["The service stopped"]);
  assertEquals(signals.map(({ aborted }) => aborted), [true, true]);
});

Deno.test("an action whose time ends while what it made is being stored has made it", async () => {
  await using test = await openTestStore();
  const late = Promise.withResolvers<void>();
  const committer = standIn(test.store.committer, {
    async write(writes: readonly Write[]) {
      if (writes.some(({ key }) => key[0] === "execution")) await late.promise;
      await test.store.committer.write(writes);
    },
  });
  const { perform } = runsOf(standIn(test.store, { committer }), project);
  setTimeout(late.resolve, 200);
  const [stored] = await perform([step, fetch], { time_ms: 50 });
  const { records } = await listExecutions(test.store, { limit: 9 });
  assertEquals(records.map(({ id }) => id), [Object(stored?.created).execution_id]);
  assertEquals(stored?.error, undefined);
});

Deno.test("an action that has ended listens no more for the service's stop", async () => {
  await using store = await openTestStore();
  const { perform } = runsOf(store.store, { ...project, repository: "/p.git" });
  let listeners = 0;
  const signal = standIn(new AbortController().signal, {
    addEventListener: () => void listeners++,
    removeEventListener: () => void listeners--,
  });
  await perform([fetch, step], { signal });
  assertEquals(listeners, 0);
});
