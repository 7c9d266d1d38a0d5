/** Pipelines that are copied, and retried from what has failed. */
import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { ConflictError } from "../../src/platform/errors.ts";
import { findNeeded } from "../../src/pipelines/cleanup.ts";
import { copyPipeline, retryPipeline } from "../../src/pipelines/mod.ts";
import { getExecution } from "../../src/store/records/executions.ts";
import { deleteProject } from "../../src/store/records/projects.ts";
import { removedPartWrite } from "../../src/store/records/removed_parts.ts";
import { PipelineFixture, plan, states } from "./fixture.ts";

const CONFIG = `
- step: { name: make, image: i, command: c }
- step: { name: use, image: i, command: d, inputs: [{ name: in, optional: true }] }
- pipeline:
    name: p
    nodes:
      - { name: make, type: execution, step: make }
      - { name: fit, type: execution, step: use, on-error: continue }
      - { name: test, type: execution, step: use }
      - { name: ship, type: execution, step: use }
    edges:
      - [make.output.a, fit.input.in]
      - [fit.output.b, test.input.in]
      - [test.dependency.*, ship.dependency.*]
`;

/** A pipeline whose node \`fit\` failed, but let \`test\` go on, which failed as well. */
async function failed(fixture: PipelineFixture) {
  const id = await fixture.launch(await plan(CONFIG, "p"), { run_id: "the run" });
  const make = await fixture.end(id, "make", { outputs: ["a"] });
  await fixture.end(id, "fit", { status: "error", reason: "no room" });
  await fixture.end(id, "test", { status: "error", reason: "no model" });
  return { source: await fixture.ended(id), made: make.id };
}

function partsOf({ store, pipelines }: PipelineFixture) {
  const author = { name: "ops", id: "0123456789abcdef" };
  return { store, clock: systemClock, author, begin: (id: string) => pipelines.begin(id) };
}

/** The nodes that got an execution of an earlier pipeline. */
function reused({ nodes }: { nodes: { name: string; reused?: true }[] }): string[] {
  return nodes.filter(({ reused }) => reused).map(({ name }) => name);
}

Deno.test("a retry runs what has failed, and what gets something else from it", async () => {
  await using fixture = await PipelineFixture.make();
  const { source, made } = await failed(fixture);
  const first = await retryPipeline(source, partsOf(fixture));
  assertEquals([first.copy_of, first.run_id, first.commit], [source.id, "the run", source.commit]);
  const fit = await fixture.launched(first.id, "fit");
  const launched_by = { kind: "operator", name: "ops", id: "0123456789abcdef" } as const;
  assertEquals([first.launched_by, fit.launched_by], [launched_by, launched_by]);
  assertEquals(source.launched_by, undefined);
  assertEquals(fit.inputs.in?.map((file) => "output_of" in file && file.output_of), [made]);
  await fixture.finish(fit.id, { outputs: ["b"] });
  await fixture.end(first.id, "test", { status: "error" });
  const second = await fixture.ended(first.id);
  assertEquals([reused(second), second.nodes[0]?.execution_id], [["make"], made]);
  assertEquals(states(second), ["make complete", "fit complete", "test error", "ship skipped"]);

  // The first one's model is still what the third begins with.
  const third = await retryPipeline(second, partsOf(fixture));
  const test = await fixture.launched(third.id, "test");
  const needed = await findNeeded(fixture.store, new AbortController().signal);
  assertEquals([needed.executions.has(made), needed.executions.has(fit.id)], [true, true]);
  await fixture.finish(test.id);
  await fixture.end(third.id, "ship");
  const last = await fixture.ended(third.id);
  assertEquals([last.status, reused(last)], ["complete", ["make", "fit"]]);

  await assertRejects(
    () => retryPipeline(last, partsOf(fixture)),
    ConflictError,
    "all its nodes have completed",
  );
  // Where the pipeline does not ask for that, a retry takes nothing of others that did the same.
  const again = await retryPipeline(source, partsOf(fixture));
  await fixture.end(again.id, "fit", { outputs: ["b"] });
  const { inputs } = await fixture.launched(again.id, "test");
  assertEquals(inputs.in?.map(({ name }) => name), ["b"]);
});

Deno.test("a node that completed on what has changed by now is run again by a retry", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await fixture.launch(await plan(CONFIG, "p"));
  await fixture.end(id, "make", { outputs: ["a"] });
  await fixture.end(id, "fit", { status: "error" });
  await fixture.end(id, "test");
  await fixture.end(id, "ship");
  const source = await fixture.ended(id);
  assertEquals(source.status, "complete");
  const { id: retry } = await retryPipeline(source, partsOf(fixture));
  await fixture.end(retry, "fit", { outputs: ["b"] });
  await fixture.end(retry, "test");
  // `ship` waits for `test` alone, and gets nothing from it.
  assertEquals(reused(await fixture.ended(retry)), ["make", "ship"]);
});

Deno.test("a node whose outputs their retention has removed is run again by a retry", async () => {
  await using fixture = await PipelineFixture.make();
  const { source, made } = await failed(fixture);
  const make = await getExecution(fixture.store, made);
  if (make === undefined) throw new Error("its record is gone");
  await fixture.store.committer.write([removedPartWrite(make, "outputs", make.created_at)]);
  const { id: retry } = await retryPipeline(source, partsOf(fixture));
  const again = await fixture.end(retry, "make", { outputs: ["a"] });
  const fit = await fixture.launched(retry, "fit");
  assertEquals(fit.inputs.in?.map((file) => "output_of" in file && file.output_of), [again.id]);
});

Deno.test("what waits in a retry keeps the results that it will begin with", async () => {
  await using fixture = await PipelineFixture.make();
  const waits = CONFIG.replace(
    "step: make }",
    "step: make, actions: [{ when: node-starting, then: require-approval }] }",
  );
  const id = await fixture.launch(await plan(waits, "p"));
  await fixture.until(id, (pipeline) => states(pipeline).includes("make awaiting_approval"));
  await fixture.pipelines.approve(id);
  const { id: made } = await fixture.end(id, "make");
  await fixture.end(id, "fit");
  await fixture.end(id, "test", { status: "error" });
  const { id: retry } = await retryPipeline(await fixture.ended(id), partsOf(fixture));
  await fixture.until(retry, (pipeline) => states(pipeline).includes("make awaiting_approval"));
  const needed = await findNeeded(fixture.store, new AbortController().signal);
  assertEquals(needed.executions.has(made), true);
});

Deno.test("a copy runs everything again", async () => {
  await using fixture = await PipelineFixture.make();
  const { source } = await failed(fixture);
  const copy = await copyPipeline(source, partsOf(fixture));
  assertEquals([copy.copy_of, copy.run_id, copy.title], [source.id, "the run", source.title]);
  for (const node of ["make", "fit", "test", "ship"]) await fixture.end(copy.id, node);
  const { status, nodes } = await fixture.ended(copy.id);
  assertEquals([status, reused({ nodes })], ["complete", []]);
});

Deno.test("a copy of a pipeline that reuses results runs all its nodes, and so does its retry", async () => {
  await using fixture = await PipelineFixture.make();
  const reusing = `
- step: { name: make, image: i, command: c }
- step: { name: use, image: i, command: d }
- pipeline:
    name: p
    reuse-executions: true
    nodes: [{ name: make, type: execution, step: make }, { name: fit, type: execution, step: use }]
    edges: [[make.dependency.*, fit.dependency.*]]
`;
  const source = await fixture.launch(await plan(reusing, "p"));
  for (const node of ["make", "fit"]) await fixture.end(source, node);
  const parts = partsOf(fixture);
  const copy = await copyPipeline(await fixture.ended(source), parts);
  const begun = await fixture.until(copy.id, ({ nodes: [make] }) => make?.status !== "created");
  assertEquals(reused(begun), []);
  await fixture.end(copy.id, "make", { status: "error" });
  const retry = await retryPipeline(await fixture.ended(copy.id), parts);
  const made = [];
  for (const node of ["make", "fit"]) made.push((await fixture.end(retry.id, node)).id);
  assertEquals(reused(await fixture.ended(retry.id)), []);

  // Later launches take the newest results.
  const next = await fixture.ended(await fixture.launch(await plan(reusing, "p")));
  assertEquals(next.nodes.map(({ execution_id }) => execution_id), made);
});

Deno.test("what cannot be started again is said", async (t) => {
  await using fixture = await PipelineFixture.make();
  const { source } = await failed(fixture);
  const parts = partsOf(fixture);
  const running = await copyPipeline(source, parts);
  await t.step("it runs", async () => {
    await assertRejects(() => retryPipeline(running, parts), ConflictError, "wait for its end");
  });
  await t.step("its plan is damaged", async () => {
    const missing = { ...source, id: running.run_id };
    await assertRejects(() => copyPipeline(missing, parts), ConflictError, "its plan is damaged");
  });
  await t.step("its project was deleted", async () => {
    await fixture.pipelines.stop(running.id);
    await deleteProject(fixture.store, "digits");
    await assertRejects(() => copyPipeline(source, parts), ConflictError, "was deleted");
  });
});
