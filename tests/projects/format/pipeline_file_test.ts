/**
 * Pipelines of a project configuration file: what is read of them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { readConfigFile } from "../../../src/projects/format/config_file.ts";
import { overrideStep } from "../../../src/projects/format/step/override.ts";
import type { Pipeline } from "../../../src/projects/format/pipeline/pipeline.ts";
import { stepOf } from "../../../src/projects/format/step/step.ts";

const quickstart = `---
# A webhook brings a form; its first step reads the form, its second step works on what was read.
- step:
    name: Webhook Entry
    image: docker.io/library/python:3.13
    command: python ./read_form.py
    inputs:
      - name: webhook-payload
        optional: false

- step:
    name: Webhook Followup
    image: docker.io/library/python:3.13
    command:
      - pip install -r requirements.txt
      - python ./answer.py {parameters}
    parameters:
      - name: prompt
        type: string

- pipeline:
    name: Webhook Pipeline
    nodes:
      - name: entry
        type: execution
        step: Webhook Entry
      - name: followup
        type: execution
        step: Webhook Followup
    edges:
      - [entry.metadata.parsed_prompt, followup.parameter.prompt]
`;

const everything = `
- pipeline:
    name: all
    reuse-executions: true
    parameters:
      - { name: rate, targets: [train.parameter.rate, sweep.parameters.rate], default: 0.5 }
      - { name: mode, target: train.parameter.mode, default: }
    nodes:
      - name: train
        type: execution
        step: s
        on-error: stop-next
        edge-merge-mode: append
        override: { image: other, parameters: [{ name: rate, default: 0.1 }] }
        actions:
          - { when: Node-Complete, if: metadata.accuracy < .8, then: stop-pipeline }
          - { when: [node-starting, node-error], if: [x, not y], then: [require-approval, noop] }
      - { name: sweep, type: task, task: t, on-error: retry }
      - { name: old, type: execution, step: gone, commit: v1 }
      - { name: out, type: deployment, deployment: d, on-error: continue }
    edges:
      - [train.output.model.pkl, sweep.inputs.i]
      - { source: train.metadata.a.b, target: old.environment-variable.V }
- step: { name: s, image: i, command: c, inputs: [{ name: i }], parameters: [{ name: rate, type: float }, { name: mode }] }
- task: { name: t, step: s, parameters: [] }
- endpoint: { name: digits, image: i, wsgi: w }
`;

Deno.test("pipelines: a webhook's entry and what follows it", () => {
  const { pipelines, steps, warnings } = readConfigFile(quickstart, "valohai.yaml");
  assertEquals(warnings, []);
  assertEquals([...steps.keys()], ["Webhook Entry", "Webhook Followup"]);
  assertEquals(steps.get("Webhook Entry")?.inputs.get("webhook-payload")?.optional, false);
  const node = {
    type: "execution" as const,
    commit: undefined,
    override: {},
    actions: [],
    onError: "stop-all" as const,
    edgeMergeMode: "replace" as const,
  };
  const expected: Pipeline = {
    name: "Webhook Pipeline",
    nodes: new Map([
      ["entry", { ...node, name: "entry", step: "Webhook Entry" }],
      ["followup", { ...node, name: "followup", step: "Webhook Followup" }],
    ]),
    edges: [{
      source: { node: "entry", type: "metadata", key: "parsed_prompt" },
      target: { node: "followup", type: "parameter", key: "prompt" },
    }],
    parameters: new Map(),
    reuseExecutions: false,
  };
  assertEquals([...pipelines], [["Webhook Pipeline", expected]]);
});

Deno.test("pipelines: everything a pipeline may have is read, before what it names", () => {
  const { pipelines, steps, endpoints, tasks } = readConfigFile(everything, "valohai.yaml");
  assertEquals([...endpoints.values()], [{ name: "digits" }]);
  assertEquals([...tasks.values()], [{ name: "t", step: "s" }]);
  const pipeline = pipelines.get("all");
  const approvals = (["node-starting", "node-error"] as const).flatMap((when) => [
    { when, if: ["x", "not y"], then: "noop" as const },
    { when, if: ["x", "not y"], then: "require-approval" as const },
  ]);
  assertEquals([...pipeline?.nodes.values() ?? []], [
    {
      name: "train",
      type: "execution",
      step: "s",
      commit: undefined,
      override: { image: "other", parameters: [{ name: "rate", default: 0.1 }] },
      actions: [
        { when: "node-complete", if: ["metadata.accuracy < .8"], then: "stop-pipeline" },
        ...approvals,
      ],
      onError: "stop-next",
      edgeMergeMode: "append",
    },
    { ...plain, name: "sweep", type: "task", onError: "retry" },
    { ...plain, name: "old", type: "execution", step: "gone", commit: "v1" },
    { ...plain, name: "out", type: "deployment", onError: "continue" },
  ]);
  assertEquals(pipeline?.edges, [
    {
      source: { node: "train", type: "output", key: "model.pkl" },
      target: { node: "sweep", type: "input", key: "i" },
    },
    {
      source: { node: "train", type: "metadata", key: "a.b" },
      target: { node: "old", type: "environment-variable", key: "V" },
    },
  ]);
  assertEquals([...pipeline?.parameters.values() ?? []], [
    {
      name: "rate",
      default: 0.5,
      targets: [{ node: "train", parameter: "rate" }, { node: "sweep", parameter: "rate" }],
    },
    { name: "mode", default: undefined, targets: [{ node: "train", parameter: "mode" }] },
  ]);
  assertEquals(pipeline?.reuseExecutions, true);
  const step = steps.get("s");
  const override = pipeline?.nodes.get("train")?.override;
  const merged = step && override && stepOf(overrideStep(step, override));
  assertEquals(merged?.image, "other");
  assertEquals(merged?.parameters.get("rate")?.default, 0.1);
  assertEquals(merged?.parameters.get("rate")?.type, "float");
});

const plain = {
  step: undefined,
  commit: undefined,
  override: {},
  actions: [],
  onError: "stop-all",
  edgeMergeMode: "replace",
} as const;
