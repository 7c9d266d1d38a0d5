/** Which earlier execution is taken in place of a new one. */
import { assertEquals } from "@std/assert";
import { newId } from "../../src/platform/ids.ts";
import { reconcile } from "../../src/pipelines/reconcile.ts";
import { cleanUp } from "../../src/runs/cleanup.ts";
import { type Execution, saveExecution } from "../../src/store/records/executions.ts";
import {
  type Deciding,
  findReusable,
  reusableWrite,
  watchReusable,
  withdrawReusable,
} from "../../src/store/records/reusable_executions.ts";
import type { Store } from "../../src/store/store.ts";
import { executionOf } from "../store/execution.ts";
import { openTestStore, standIn } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";
import { PipelineFixture, plan } from "./fixture.ts";

const file = { name: "a.csv", url: "https://x.example/a.csv" };
const brought = { name: "b", output_of: newId(1), path: "b", size: 1, sha256: "its bytes" };
const payload = { name: "payload.json", payload_of: newId(1), size: 1, sha256: "its payload" };
const deciding = {
  commit: "c1",
  step: "train",
  image: "python:3.13",
  command: "python train.py",
  inputs: { data: [file], model: [brought], labels: [payload] },
  parameters: { epochs: 3 },
  environment_variables: { MODE: "quick", SEED: "1" },
  mounts: [{ source: "/data/a", destination: "/data" }],
};

/** A complete execution of a pipeline, which is to be found again. */
async function made(store: Store): Promise<Execution> {
  const execution = executionOf({ ...deciding, pipeline_id: newId(0), status: "complete" });
  await store.committer.commit(saveExecution(execution));
  await store.committer.write([reusableWrite(execution)]);
  return execution;
}

const others: [what: string, change: Partial<Deciding>][] = [
  ["commit", { commit: "c2" }],
  ["step", { step: "test" }],
  ["image", { image: "python:3.14" }],
  ["command", { command: "python train.py --fast" }],
  ["parameter", { parameters: { epochs: 4 } }],
  ["variable", { environment_variables: { MODE: "slow", SEED: "1" } }],
  ["URL", { inputs: { ...deciding.inputs, data: [{ ...file, url: "https://x.example/b.csv" }] } }],
  ["file's name", { inputs: { ...deciding.inputs, data: [{ ...file, name: "b.csv" }] } }],
  ["bytes", { inputs: { ...deciding.inputs, model: [{ ...brought, sha256: "others" }] } }],
  ["mount", { mounts: [{ source: "/data/b", destination: "/data" }] }],
  ["payload", { inputs: { ...deciding.inputs, labels: [{ ...payload, sha256: "others" }] } }],
];

Deno.test("an earlier execution is taken only when all that decides what it does is the same", async (t) => {
  await using test = await openTestStore();
  const { project, id } = await made(test.store);
  const found = async (change: Partial<Deciding>, of = project) =>
    (await findReusable(test.store, of, { ...deciding, ...change }))?.id;
  // Neither the order of variables nor where the same bytes come from matters.
  const same = {
    environment_variables: { SEED: "1", MODE: "quick" },
    inputs: {
      ...deciding.inputs,
      model: [{ ...brought, output_of: newId(2) }],
      labels: [{ ...payload, payload_of: newId(2) }],
    },
  };
  assertEquals(await found(same), id);
  assertEquals(await found({}, "another-project"), undefined);
  for (const [what, change] of others) {
    await t.step(`another ${what}`, async () => assertEquals(await found(change), undefined));
  }
});

Deno.test("an execution that is forgotten leaves the later one that did the same", async () => {
  await using test = await openTestStore();
  const [first, second] = [await made(test.store), await made(test.store)];
  const found = async () => (await findReusable(test.store, first.project, deciding))?.id;
  using written = watchReusable(test.store);
  assertEquals(await withdrawReusable(test.store, first, written), true);
  assertEquals(await found(), second.id);
  assertEquals(await withdrawReusable(test.store, second, written), true);
  assertEquals(await found(), undefined);
});

const CONFIG = `
- step: { name: s, image: i, command: c }
- pipeline:
    name: p
    reuse-executions: true
    nodes: [{ name: a, type: execution, step: s }]
    edges: []
`;

/** A pipeline that has ended, another that is to begin, and a way to come between a look and what follows. */
async function rivals(fixture: PipelineFixture, how: "reuse" | "retry" = "reuse") {
  const planned = { ...await plan(CONFIG, "p"), reuse_executions: how === "reuse" };
  const first = await fixture.launch(planned);
  const { id: earlier } = await fixture.end(first, "a");
  await fixture.ended(first);
  const clock = new TestClock();
  clock.time_ms = Date.now() + 60_000;
  const forgotten: string[] = [];
  const { store } = fixture;
  const cleanUpIn = (store: Store) =>
    cleanUp({
      store,
      clock,
      retention_days: 0,
      signal: new AbortController().signal,
      triggers: { between: (act) => act() },
      engines: {
        forget: ({ id }) => Promise.resolve(void forgotten.push(id)),
        tidy: () => Promise.resolve(),
      },
      projects: {
        kept: () => Promise.resolve([]),
        forget: () => Promise.resolve(() => Promise.resolve()),
        pruneTrees: () => Promise.resolve(0),
      },
    });
  const begin = async (store: Store) => {
    const pipeline = fixture.pipelineOf(newId(Date.now()), planned);
    const kept = how === "retry" ? [{ node: "a", execution_id: earlier }] : [];
    await reconcile(pipeline, { ...planned, kept }, {
      store,
      clock,
      engine: { type: "local" },
      onLaunch() {},
      hasOutputs: () => Promise.resolve(true),
    });
    return pipeline.nodes[0];
  };
  /** The store as one sees it who is overtaken after the first look at something of a kind. */
  const overtaken = (kind: string, work: () => Promise<unknown>): Store => {
    let isDone = false;
    const looking = <T>(look: (key: Deno.KvKey) => Promise<T>) => async (key: Deno.KvKey) => {
      const found = await look(key);
      if (key[0] !== kind || isDone) return found;
      isDone = true;
      await work();
      return found;
    };
    async function* list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
      yield* store.kv.list(selector, options);
      const [first] = "prefix" in selector ? selector.prefix : selector.start;
      if (first !== kind || isDone) return;
      isDone = true;
      await work();
    }
    const kv = standIn(store.kv, { list, get: looking((key) => store.kv.get(key)) });
    const reads = standIn(store.reads, { read: looking((key) => store.reads.read(key)) });
    return standIn(store, { kv, reads });
  };
  return { store, earlier, forgotten, cleanUpIn, begin, overtaken };
}

Deno.test("an execution that a pipeline takes while cleanup looks at it stays", async () => {
  await using fixture = await PipelineFixture.make();
  const { store, earlier, forgotten, cleanUpIn, begin, overtaken } = await rivals(fixture);
  let node: Awaited<ReturnType<typeof begin>>;
  const { executions } = await cleanUpIn(
    overtaken("reusable", async () => node = await begin(store)),
  );
  assertEquals([node?.execution_id, node?.status, node?.reused], [earlier, "complete", true]);
  assertEquals([executions, forgotten], [0, []]);
  assertEquals((await cleanUpIn(store)).executions, 1, "the pipeline has ended meanwhile");
});

Deno.test("an execution that a pipeline takes while cleanup finds out what is needed stays", async () => {
  await using fixture = await PipelineFixture.make();
  const { store, earlier, forgotten, cleanUpIn, begin, overtaken } = await rivals(fixture);
  let node: Awaited<ReturnType<typeof begin>>;
  await cleanUpIn(overtaken("pipeline_open", async () => node = await begin(store)));
  assertEquals([node?.execution_id, node?.reused], [earlier, true]);
  assertEquals(forgotten, []);
});

for (const how of ["reuse", "retry"] as const) {
  Deno.test(`an execution that cleanup removes while a pipeline looks at it is made anew: ${how}`, async () => {
    await using fixture = await PipelineFixture.make();
    const { store, earlier, forgotten, cleanUpIn, begin, overtaken } = await rivals(fixture, how);
    const node = await begin(overtaken("execution", () => cleanUpIn(store)));
    assertEquals(forgotten, [earlier]);
    assertEquals([node?.status, node?.attempts, node?.reused], ["started", 1, undefined]);
  });
}
