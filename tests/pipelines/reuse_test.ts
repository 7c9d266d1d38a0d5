/** Which earlier execution is taken in place of a new one. */
import { assertEquals } from "@std/assert";
import { newId } from "../../src/ids.ts";
import { findReusable, forgetReusable, reusableWrite } from "../../src/pipelines/reuse.ts";
import { type Execution, saveExecution } from "../../src/store/executions.ts";
import type { Store } from "../../src/store/store.ts";
import { executionOf } from "../store/execution.ts";
import { openTestStore } from "../store/fixture.ts";

const file = { name: "a.csv", url: "https://x.example/a.csv" };
const brought = { name: "b", output_of: newId(1), path: "b", size: 1, sha256: "its bytes" };
const deciding = {
  commit: "c1",
  step: "train",
  image: "python:3.13",
  command: "python train.py",
  inputs: { data: [file], model: [brought] },
  parameters: { epochs: 3 },
  environment_variables: { MODE: "quick", SEED: "1" },
};

/** A complete execution of a pipeline, which is to be found again. */
async function made(store: Store): Promise<Execution> {
  const execution = executionOf({ ...deciding, pipeline_id: newId(0), status: "complete" });
  await store.committer.commit(saveExecution(execution));
  await store.committer.write([reusableWrite(execution)]);
  return execution;
}

const others: [what: string, change: Partial<typeof deciding>][] = [
  ["commit", { commit: "c2" }],
  ["step", { step: "test" }],
  ["image", { image: "python:3.14" }],
  ["command", { command: "python train.py --fast" }],
  ["parameter", { parameters: { epochs: 4 } }],
  ["variable", { environment_variables: { MODE: "slow", SEED: "1" } }],
  ["URL", { inputs: { ...deciding.inputs, data: [{ ...file, url: "https://x.example/b.csv" }] } }],
  ["file's name", { inputs: { ...deciding.inputs, data: [{ ...file, name: "b.csv" }] } }],
  ["bytes", { inputs: { ...deciding.inputs, model: [{ ...brought, sha256: "others" }] } }],
];

Deno.test("an earlier execution is taken only when all that decides what it does is the same", async (t) => {
  await using test = await openTestStore();
  const { project, id } = await made(test.store);
  const found = async (change: Partial<typeof deciding>, of = project) =>
    (await findReusable(test.store, of, { ...deciding, ...change }))?.id;
  // Neither the order of variables nor which execution has left the same bytes matters.
  const same = {
    environment_variables: { SEED: "1", MODE: "quick" },
    inputs: { ...deciding.inputs, model: [{ ...brought, output_of: newId(2) }] },
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
  await forgetReusable(test.store, first);
  assertEquals(await found(), second.id);
  await forgetReusable(test.store, second);
  assertEquals(await found(), undefined);
});
