/**
 * Pipelines through the front door: a webhook, real processes, what operators see and do.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { endOfRun, eventually, startService, type TestService } from "../data.ts";

const PROJECT = `
- step:
    name: split
    image: i
    command: |
      for word in $(cat "$VH_INPUTS_DIR"/text/*); do echo "$word" > "$VH_OUTPUTS_DIR/$word.txt"; done
      echo "{\\"words\\": $(wc -w < "$VH_INPUTS_DIR"/text/payload.txt)}"
    inputs: [{ name: text }]
- step:
    name: join
    image: i
    command: |
      echo "{parameter-value:words} words, $MODE:" $(cat "$VH_INPUTS_DIR"/parts/*) > "$VH_OUTPUTS_DIR/text.txt"
      cat "$VH_OUTPUTS_DIR/text.txt"
    inputs: [{ name: parts }]
    parameters: [{ name: words, type: integer }]
    environment-variables: [{ name: MODE, default: quick }]
- step: { name: hold, image: i, command: sleep 30 }
- pipeline:
    name: Words
    nodes:
      - { name: first, type: execution, step: split }
      - { name: last, type: execution, step: join, override: { environment-variables: [{ name: MODE, default: slow }] } }
    edges:
      - [first.output.*.txt, last.input.parts]
      - [first.metadata.words, last.parameter.words]
- pipeline:
    name: Held
    nodes:
      - { name: first, type: execution, step: split }
      - name: held
        type: execution
        step: hold
        actions: [{ when: node-starting, then: require-approval }]
    edges: [[first.dependency.*, held.dependency.*]]
`;

/** A pipeline whose edges carry nothing to what need not have it. */
const WITH_DEFAULTS = `
- pipeline:
    name: Defaults
    nodes:
      - { name: first, type: execution, step: split }
      - name: last
        type: execution
        step: join
        override: { inputs: [{ name: parts, optional: true }], parameters: [{ name: words, type: integer, default: 7 }] }
    edges:
      - [first.output.*.csv, last.input.parts]
      - [first.metadata.count, last.parameter.words]
      - [first.output.*.txt, last.dependency.*]
`;

async function start(): Promise<TestService> {
  const service = await startService();
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, PROJECT);
  return service;
}

/** Launches a trigger with one action and answers what run info says of its end. */
async function launch(service: TestService, action: Record<string, unknown>, body: string) {
  const { url } = await service.trigger({
    actions: [action],
    response: { type: "text", text: "{run_id}" },
  });
  const headers = { "content-type": "text/plain" };
  const answer = await fetch(url, { method: "POST", body, headers });
  const runId = await answer.text();
  assertEquals(answer.status, 200, runId);
  const info = await fetch(`${url}run/?run_id=${runId}&wait=20`);
  return { runId, info: await info.json() };
}

function endOfPipeline(service: TestService, id: string) {
  return eventually(async () => {
    const { body } = await service.api("GET", `pipelines/${id}/`);
    return body.ended_at === undefined ? undefined : body;
  }, { what: `the end of pipeline ${id}` });
}

async function printed(service: TestService, executionId: string): Promise<string> {
  const { body } = await service.api("GET", `executions/${executionId}/log/`);
  return body.results.filter(({ stream }: { stream: string }) => stream === "stdout")
    .map(({ message }: { message: string }) => message).join("\\n");
}

const RUN = { type: "run_pipeline", pipeline: "Words", payload_input_name: "first.text" };

Deno.test("a webhook runs a pipeline: outputs, metadata and overrides reach the next node", async () => {
  await using service = await start();
  const { runId, info } = await launch(service, RUN, "one two three");
  const [{ pipeline_id: id }] = info.result;
  assertEquals(info, {
    status: "completed",
    result: [{ action: "run_pipeline", pipeline_name: "Words", pipeline_id: id }],
  });
  const pipeline = await endOfPipeline(service, id);
  assertEquals([pipeline.status, pipeline.name, pipeline.run_id], ["complete", "Words", runId]);
  const last = pipeline.nodes[1].execution_id;
  assertEquals(await printed(service, last), "3 words, slow: one three two");
  const { body: execution } = await service.api("GET", `executions/${last}/`);
  assertEquals([execution.pipeline_id, execution.node], [id, "last"]);
  const { body: list } = await service.api("GET", "pipelines/");
  assertEquals(list.results.map((each: { id: string }) => each.id), [id]);
});

Deno.test("a node finds its pipeline's title where it finds the pipeline's id", async () => {
  await using service = await start();
  const about = `
- step: { name: about, image: i, command: 'tr -d "\\n" < "$VH_CONFIG_DIR/execution.json"' }
- pipeline: { name: About, nodes: [{ name: it, type: execution, step: about }], edges: [] }
`;
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, about);
  const action = { type: "run_pipeline", pipeline: "About", title: "Monday's" };
  const { info } = await launch(service, action, "");
  const [{ pipeline_id: id }] = info.result;
  const { nodes: [{ execution_id }] } = await endOfPipeline(service, id);
  const found = JSON.parse(await printed(service, execution_id));
  const keys = Object.keys(found).filter((key) => key.startsWith("valohai.pipeline-"));
  assertEquals(Object.fromEntries(keys.map((key) => [key, found[key]])), {
    "valohai.pipeline-id": id,
    "valohai.pipeline-node-id": "it",
    "valohai.pipeline-tags": [],
    "valohai.pipeline-title": "Monday's",
  });
});

Deno.test("an execution that runs without what edges should have brought says so in its log", async () => {
  await using service = await start();
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, PROJECT + WITH_DEFAULTS);
  const { info } = await launch(service, { ...RUN, pipeline: "Defaults" }, "one two");
  const { status, nodes } = await endOfPipeline(service, info.result[0].pipeline_id);
  assertEquals(status, "complete");
  const lines = await Promise.all(
    nodes.map(async ({ execution_id }: { execution_id: string }) => {
      const { body } = await service.api("GET", `executions/${execution_id}/log/`);
      return body.results.map(({ stream, message }: Record<string, string>) => [stream, message])
        .filter(([stream]: [string]) => stream !== "stderr");
    }),
  );
  assertEquals(lines, [
    [["stdout", '{"words": 2}']],
    [
      [
        "event",
        'Edges brought nothing: node "first" left no output "*.csv"; node "first" left no metadata "count"',
      ],
      ["stdout", "7 words, quick:"],
    ],
  ]);
});

Deno.test("a pipeline is copied with what it had, the payload in place of one input", async () => {
  await using service = await start();
  const first = await launch(service, { ...RUN, title: "The first" }, "one two");
  const source = first.info.result[0].pipeline_id;
  await endOfPipeline(service, source);
  // What the project says now is no matter to the copy.
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, "[]");
  const action = {
    type: "copy_pipeline",
    source_pipeline: source,
    payload_input_name: "first.text",
    title: "Once more",
  };
  const second = await launch(service, action, "three four five");
  const [{ pipeline_id: id, pipeline_name }] = second.info.result;
  assertEquals(pipeline_name, "Words");
  const copy = await endOfPipeline(service, id);
  assertEquals([copy.status, copy.copy_of, copy.title], ["complete", source, "Once more"]);
  assertEquals(
    await printed(service, copy.nodes[1].execution_id),
    "3 words, slow: five four three",
  );
  // Without a payload input it is the same work with the same input.
  const third = await launch(service, { type: "copy_pipeline", source_pipeline: source }, "six");
  const again = await endOfPipeline(service, third.info.result[0].pipeline_id);
  assertEquals(again.title, "The first");
  assertEquals(await printed(service, again.nodes[1].execution_id), "2 words, slow: one two");
});

const failures: [action: Record<string, unknown>, error: RegExp][] = [
  [{ ...RUN, pipeline: "Wrods" }, /there is none of this name; found "Words", "Held"/],
  [{ ...RUN, payload_input_name: "first.txt" }, /node "first" has no input "txt"; .* "text"/],
  [{ type: "run_pipeline", pipeline: "Words" }, /node "first": .* its input "text" has no file/],
  [
    { type: "copy_pipeline", source_pipeline: "01900000-0000-7000-8000-000000000000" },
    /project "files" has none of this id/,
  ],
];

Deno.test("a pipeline that cannot run fails its action, and the trigger log says why", async (t) => {
  await using service = await start();
  for (const [action, error] of failures) {
    await t.step(String(error), async () => {
      const { runId, info } = await launch(service, action, "x");
      assertEquals(info, { status: "error", result: [] });
      const run = await endOfRun(service, runId);
      assertMatch(run.actions[0].error, error);
      await eventually(async () => {
        const { body } = await service.api("GET", `triggers/${run.trigger_id}/log/`);
        return body.results.find((entry: { run_id: string }) => entry.run_id === runId);
      });
    });
  }
  const { body } = await service.api("GET", "pipelines/");
  assertEquals(body.results, []);
});

Deno.test("a pipeline waits for approval over a restart, goes on, and is stopped", async () => {
  await using service = await start();
  const action = { ...RUN, pipeline: "Held" };
  const { info } = await launch(service, action, "one");
  const id = info.result[0].pipeline_id;
  const nodes = async (status: string) => {
    const { body } = await service.api("GET", `pipelines/${id}/`);
    return body.nodes[1].status === status ? body : undefined;
  };
  await eventually(() => nodes("awaiting_approval"));
  await service.restart();
  const approved = await service.api("POST", `pipelines/${id}/approve/`, { node: "held" });
  assertEquals(approved.status, 202, JSON.stringify(approved.body));
  const { nodes: [, held] } = await eventually(() => nodes("started"));
  const stopped = await service.api("POST", `pipelines/${id}/stop/`);
  assertEquals(stopped.status, 202);
  const pipeline = await endOfPipeline(service, id);
  assertEquals([pipeline.status, pipeline.reason], ["stopped", "Stopped by request"]);
  const { body: execution } = await service.api("GET", `executions/${held.execution_id}/`);
  assertEquals(execution.status, "stopped");
  const again = await service.api("POST", `pipelines/${id}/approve/`);
  assertEquals(again.status, 409);
  assert(!("plan" in pipeline));
  assertStringIncludes(JSON.stringify(pipeline.edges), "dependency");
});

Deno.test("what was done before is done anew where an output of it is gone, or is not what it was", async () => {
  await using service = await start();
  const yaml = PROJECT.replace(
    "    name: Words\n",
    "    name: Words\n    reuse-executions: true\n",
  );
  await Deno.writeTextFile(`${service.folder}/project/valohai.yaml`, yaml);
  const nodesOf = async () => {
    const { info } = await launch(service, RUN, "one two");
    const { status, nodes } = await endOfPipeline(service, info.result[0].pipeline_id);
    assertEquals(status, "complete");
    return nodes;
  };
  const [first] = await nodesOf();
  const path = (id: string) => `${service.folder}/data/executions/${id}/outputs/one.txt`;
  await Deno.remove(path(first.execution_id));
  const [second, last] = await nodesOf();
  assertEquals([second.reused, last.reused], [undefined, true]);
  await Deno.writeTextFile(path(second.execution_id), "longer than it was");
  const [third] = await nodesOf();
  assertEquals(third.reused, undefined);
  const [fourth] = await nodesOf();
  assertEquals([fourth.reused, fourth.execution_id], [true, third.execution_id]);
});
