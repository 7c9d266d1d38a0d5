/**
 * How a pipeline goes on: the order of its nodes, what edges carry, failures, approvals, stops.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { UnavailableError } from "../../src/platform/errors.ts";
import type { PlanRequest } from "../../src/pipelines/mod.ts";
import type { InputFile } from "../../src/store/records/executions.ts";
import { deleteProject } from "../../src/store/records/projects.ts";
import { PipelineFixture, plan, states } from "./fixture.ts";

const STEPS = `
- step:
    name: make
    image: i
    command: make {parameters}
    inputs: [{ name: raw, optional: true }]
    parameters: [{ name: rate, type: float, default: 1 }, { name: words, multiple: separate, optional: true }]
    environment-variables: [{ name: MODE, default: slow }]
- step:
    name: use
    image: i
    command: use {parameters}
    inputs:
      - { name: data, default: "https://x.example/default.csv", optional: true }
      - { name: tree, keep-directories: full, optional: true }
      - { name: part, keep-directories: suffix, optional: true }
      - { name: needed, default: "https://x.example/needed.csv" }
    parameters: [{ name: rate, type: float, default: 5 }, { name: note, optional: true }]
    environment-variables: [{ name: MODE }]
`;
const payload: InputFile = { name: "raw.json", payload_of: "run", size: 3, sha256: "abc" };

/** Launches the pipeline \`p\`, whose body is given. */
async function launch(
  fixture: PipelineFixture,
  body: string,
  request: Partial<PlanRequest> = {},
): Promise<string> {
  return await fixture.launch(await plan(yamlOf(body), "p", request));
}

function yamlOf(body: string): string {
  return `${STEPS}- pipeline:\n    name: p\n${body.replace(/^/gm, "    ")}\n`;
}

/** A node in YAML. */
function node(name: string, step = "make", more = ""): string {
  return `- { name: ${name}, type: execution, step: ${step}${more && `, ${more}`} }`;
}

const DIAMOND = `
nodes:
  ${node("a")}
  ${node("b")}
  ${node("c")}
  ${node("d")}
edges:
  - [a.dependency.*, b.dependency.*]
  - [a.dependency.*, c.dependency.*]
  - [b.dependency.*, d.dependency.*]
  - [c.dependency.*, d.dependency.*]
`;

Deno.test("pipeline: nodes start as soon as those before them have completed, side by side", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, DIAMOND);
  await fixture.end(id, "a");
  await fixture.launched(id, "b");
  await fixture.launched(id, "c");
  assertEquals(states(await fixture.record(id)), [
    "a complete",
    "b started",
    "c started",
    "d created",
  ]);
  await fixture.end(id, "b");
  await fixture.until(id, (pipeline) => states(pipeline).includes("b complete"));
  assertEquals(states(await fixture.record(id)).at(-1), "d created");
  await fixture.end(id, "c");
  const last = await fixture.end(id, "d");
  assertEquals([last.pipeline_id, last.node, last.title, last.step], [id, "d", "d", "make"]);
  assertEquals(last.engine, { type: "local", runner: "process" });
  const { status, reason } = await fixture.ended(id);
  assertEquals([status, reason], ["complete", undefined]);
  assertEquals(fixture.submitted.map(({ node }) => node).sort(), ["a", "b", "c", "d"]);
});

Deno.test("pipeline: its nodes run on the engine that it was launched with, whatever becomes of its project", async () => {
  await using fixture = await PipelineFixture.make();
  const engine = { type: "local", runner: "docker" };
  const id = await fixture.launch(await plan(yamlOf(DIAMOND), "p"), { engine });
  assertEquals((await fixture.end(id, "a")).engine, engine);
  await deleteProject(fixture.store, "digits");
  assertEquals((await fixture.end(id, "b")).engine, engine);
  await fixture.end(id, "c");
  assertEquals((await fixture.end(id, "d")).engine, engine);
  assertEquals((await fixture.ended(id)).status, "complete");
});

Deno.test("pipeline: one of an earlier version whose project was deleted ends", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, DIAMOND);
  await fixture.launched(id, "a");
  await deleteProject(fixture.store, "digits");
  await fixture.end(id, "a");
  const { status, reason = "" } = await fixture.ended(id);
  assertEquals(status, "error");
  assertStringIncludes(reason, "Its engine is unknown");
  assertEquals(fixture.submitted.length, 1);
});

const TWO = (edges: string, more = "") =>
  `nodes:\n  ${node("a")}\n  ${node("b", "use", more)}\nedges:\n${edges}`;

const carried: {
  name: string;
  edges: string;
  more?: string;
  /** What takes the payload, when it is not `a.raw`. */
  target?: string;
  inputs?: Record<string, [name: string, from: string][]>;
  parameters?: Record<string, unknown>;
  mode?: string;
}[] = [
  {
    name: "an output by its name, in place of the default",
    edges: "  - [a.output.model.pkl, b.input.data]",
    inputs: { data: [["model.pkl", "model.pkl"]] },
  },
  {
    name: "an output by a name that would be a pattern of others",
    edges: "  - ['a.output.best [1].pt', b.input.data]\n  - ['a.output.{x}/[y].pt', b.input.data]",
    inputs: {
      data: [["best [1].pt", "top/best [1].pt"], ["[y].pt", "{x}/[y].pt"]],
    },
  },
  {
    name: "outputs by a pattern of names, wherever they lie",
    edges: "  - [a.output.*.csv, b.input.data]",
    inputs: { data: [["one.csv", "one.csv"], ["two.csv", "results/deep/two.csv"]] },
  },
  {
    name: "outputs by a pattern of paths",
    edges: "  - [a.output.results/**/*, b.input.data]",
    inputs: { data: [["two.csv", "results/deep/two.csv"], ["x.txt", "results/x.txt"]] },
  },
  {
    name: "files with properties of outputs only where they are asked for",
    edges: "  - [a.output.labels/*, b.input.data]\n  - [a.output.*.jsonl, b.input.data]\n" +
      "  - [a.output.*.metadata.json, b.input.part]\n" +
      "  - [a.output.valohai.metadata.jsonl, b.input.tree]",
    inputs: {
      data: [["a.json", "labels/a.json"], ["of.metadata.json", "labels/of.metadata.json"]],
      part: [
        ["labels/a.json.metadata.json", "labels/a.json.metadata.json"],
        ["labels/of.metadata.json", "labels/of.metadata.json"],
      ],
      tree: [["valohai.metadata.jsonl", "valohai.metadata.jsonl"]],
    },
  },
  {
    name: "outputs whose names, or those of their folders, begin with a dot",
    edges: "  - [a.output.*.env, b.input.data]\n  - [a.output.*/**/last.pt, b.input.data]\n" +
      "  - [a.output..e*, b.input.part]",
    inputs: {
      data: [[".env", ".env"], [".prod.env", "top/.prod.env"], ["last.pt", ".runs/.1/last.pt"]],
      part: [[".env", ".env"]],
    },
  },
  {
    name: "with all of their folders",
    edges: "  - [a.output.results/**/*, b.input.tree]",
    inputs: {
      tree: [["results/deep/two.csv", "results/deep/two.csv"], ["results/x.txt", "results/x.txt"]],
    },
  },
  {
    name: "with the folders that the pattern does not name",
    edges: "  - [a.output.results/**/*, b.input.part]",
    inputs: { part: [["deep/two.csv", "results/deep/two.csv"], ["x.txt", "results/x.txt"]] },
  },
  {
    name: "several edges to one input",
    edges: "  - [a.output.model.pkl, b.input.data]\n  - [a.output.one.csv, b.input.data]",
    inputs: { data: [["model.pkl", "model.pkl"], ["one.csv", "one.csv"]] },
  },
  {
    name: "an output that several edges name, once",
    edges: "  - [a.output.*.csv, b.input.data]\n  - [a.output.one.csv, b.input.data]\n" +
      "  - [a.output.results/**, b.input.data]",
    inputs: {
      data: [
        ["one.csv", "one.csv"],
        ["two.csv", "results/deep/two.csv"],
        ["x.txt", "results/x.txt"],
      ],
    },
  },
  {
    name: "appended to the default",
    edges: "  - [a.output.model.pkl, b.input.data]",
    more: "edge-merge-mode: append",
    inputs: {
      data: [["default.csv", "https://x.example/default.csv"], ["model.pkl", "model.pkl"]],
    },
  },
  {
    name: "appended to the payload, which takes the place of the default",
    edges: "  - [a.output.model.pkl, b.input.data]\n  - [a.output.model.pkl, b.input.needed]",
    more: "edge-merge-mode: append",
    target: "b.data",
    inputs: { data: [["raw.json", "run"], ["model.pkl", "model.pkl"]] },
  },
  {
    name: "an output that is not there leaves an optional input without files",
    edges: "  - [a.output.gone, b.input.tree]",
    inputs: {},
  },
  {
    name: "the input of a node as that of the next",
    edges: "  - [a.input.raw, b.input.data]",
    inputs: { data: [["raw.json", "run"]] },
  },
  {
    name: "inputs of a node by a pattern of their names",
    edges: "  - [a.input.r*, b.input.data]",
    inputs: { data: [["raw.json", "run"]] },
  },
  {
    name: "metadata to a parameter",
    edges: "  - [a.metadata.accuracy, b.parameter.rate]\n  - [a.metadata.a.b, b.parameter.note]",
    parameters: { rate: 0.5, note: "deep" },
  },
  {
    name: "metadata to a parameter that the pipeline has a value for, by a key with a dot",
    edges: "  - [a.metadata.x.y, b.parameter.rate]\n" +
      "parameters: [{ name: rate, default: 9, targets: [b.parameter.rate] }]",
    parameters: { rate: 0.25 },
  },
  {
    name: "metadata that is not there leaves the default",
    edges: "  - [a.metadata.gone, b.parameter.rate]",
    parameters: { rate: 5 },
  },
  {
    name: "a parameter to a parameter",
    edges: "  - [a.parameter.rate, b.parameter.rate]",
    parameters: { rate: 1 },
  },
  {
    name: "metadata to an environment variable",
    edges: "  - [a.metadata.accuracy, b.environment-variable.MODE]",
    mode: "0.5",
  },
  {
    name: "metadata that is no text to an environment variable",
    edges: "  - [a.metadata.a, b.environment-variable.MODE]",
    mode: '{"b":"deep"}',
  },
  {
    name: "an environment variable to another",
    edges: "  - [a.environment-variable.MODE, b.environment-variable.MODE]",
    mode: "slow",
  },
  {
    name: "metadata with the URL of an input",
    edges: "  - [a.metadata.url, b.input.data]",
    inputs: { data: [["d.csv", "https://y.example/d.csv"]] },
  },
  {
    name: "metadata with URLs, whose files are named as those of defaults",
    edges: "  - [a.metadata.urls, b.input.data]\n  - [a.metadata.urls, b.input.tree]",
    inputs: {
      data: [["a b.csv", "https://y.example/x/a%20b.csv"]],
      tree: [["x/a b.csv", "https://y.example/x/a%20b.csv"]],
    },
  },
];

Deno.test("pipeline: what edges carry", async (t) => {
  for (const { name, edges, more, target = "a.raw", inputs, parameters, mode } of carried) {
    await t.step(name, async () => {
      await using fixture = await PipelineFixture.make();
      const id = await launch(fixture, TWO(edges, more), { payload: { target, file: payload } });
      await fixture.end(id, "a", {
        outputs: [
          ...["model.pkl", "one.csv", "results/deep/two.csv", "results/x.txt"],
          ...["top/best [1].pt", "{x}/[y].pt"],
          ...[".env", "top/.prod.env", ".runs/.1/last.pt"],
          ...["labels/a.json", "labels/a.json.metadata.json", "labels/of.metadata.json"],
          "valohai.metadata.jsonl",
        ],
        metadata: {
          accuracy: 0.5,
          "a": { b: "deep" },
          "x.y": 0.25,
          url: "https://y.example/d.csv",
          urls: ["https://y.example/x/a%20b.csv"],
        },
      });
      const execution = await fixture.launched(id, "b");
      if (inputs) {
        const files = Object.entries(execution.inputs).map(([input, all]) => [
          input,
          all.map((file) => [
            file.name,
            "path" in file ? file.path : "url" in file ? file.url : file.payload_of,
          ]),
        ]).filter(([input]) => input !== "needed" && (input !== "data" || "data" in inputs));
        assertEquals(Object.fromEntries(files), inputs);
      }
      if (parameters) {
        assertEquals(execution.parameters, { ...execution.parameters, ...parameters });
      }
      if (mode) assertEquals(execution.environment_variables, { MODE: mode });
    });
  }
});

Deno.test("pipeline: a node that lacks what it needs fails with the reason", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, TWO("  - [a.output.gone*, b.input.needed]"));
  await fixture.end(id, "a", { outputs: ["x"] });
  const { status, nodes } = await fixture.ended(id);
  assertEquals([status, ...nodes.map((each) => each.status)], ["error", "complete", "error"]);
  assertEquals(
    nodes[1]?.reason,
    'Cannot run step "use": its input "needed" has no file; node "a" left no output "gone*"',
  );
});

Deno.test("pipeline: a value that is no file of an input is told, and not taken for one that is missing", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, TWO("  - [a.metadata.count, b.input.needed]"));
  await fixture.end(id, "a", { metadata: { count: 7 } });
  const { nodes } = await fixture.ended(id);
  assertEquals(
    nodes[1]?.reason,
    'Cannot run step "use": its input "needed" has no file; the metadata "count" of node "a" is no URL of a file for input "needed"',
  );
});

Deno.test("pipeline: what is to follow a node's failure follows one that cannot be launched, too", async (t) => {
  const cases: [action: string, status: string][] = [
    ["then: stop-pipeline", "stopped"],
    ["then: error-pipeline", "error"],
    ["if: parameter.rate == 2, then: stop-pipeline", "stopped"],
    ["if: parameter.rate == 3, then: stop-pipeline", "complete"],
    ["if: metadata.rate == 2, then: stop-pipeline", "complete"],
  ];
  for (const [action, status] of cases) {
    await t.step(action, async () => {
      await using fixture = await PipelineFixture.make();
      const more = `on-error: continue, actions: [{ when: node-error, ${action} }]`;
      const edges = "  - [a.output.gone*, b.input.needed]\n  - [a.metadata.rate, b.parameter.rate]";
      const id = await launch(fixture, TWO(edges, more));
      await fixture.end(id, "a", { outputs: ["x"], metadata: { rate: 2 } });
      const pipeline = await fixture.ended(id);
      assertEquals([pipeline.status, ...states(pipeline)], [status, "a complete", "b error"]);
    });
  }
});

Deno.test("pipeline: a node whose step an earlier version has planned, and this one cannot read, fails", async () => {
  await using fixture = await PipelineFixture.make();
  const edges = "  - [a.output.x, b.input.data]";
  const planned = await plan(yamlOf(TWO(edges)), "p");
  const [, second] = planned.nodes;
  Object.assign(second?.step ?? {}, { inputs: [{ name: "data", "keep-directories": ["full"] }] });
  const id = await fixture.launch(planned);
  await fixture.end(id, "a", { outputs: ["x"] });
  const { status, nodes } = await fixture.ended(id);
  assertEquals([status, ...nodes.map((each) => each.status)], ["error", "complete", "error"]);
  assertStringIncludes(nodes[1]?.reason ?? "", "/inputs/0/keep-directories: Expected true, false");
});

Deno.test("pipeline: one of 100 nodes ends, however long the reasons of all are", async () => {
  await using fixture = await PipelineFixture.make();
  const names = Array.from({ length: 100 }, (_, at) => `node-${at}-of-a-hundred`);
  const nodes = names.map((name) => node(name, "make", "on-error: continue")).join("\n  ");
  const id = await launch(fixture, `nodes:\n  ${nodes}\nedges: []`);
  const reason = "не вышло ".repeat(100);
  for (const name of names) await fixture.end(id, name, { status: "error", reason });
  const pipeline = await fixture.ended(id);
  assertEquals(pipeline.status, "complete");
  assertEquals(states(pipeline), names.map((name) => `${name} error`));
  for (const each of pipeline.nodes) assert(each.reason && reason.startsWith(each.reason));
});

Deno.test("pipeline: one whose record would have no room for how far it is is not launched", async () => {
  await using fixture = await PipelineFixture.make();
  const names = Array.from({ length: 100 }, (_, at) => `${at}-${"x".repeat(400)}`);
  const nodes = names.map((name) => node(name)).join("\n  ");
  const error = await assertRejects(
    () => launch(fixture, `nodes:\n  ${nodes}\nedges: []`),
    RangeError,
  );
  assertMatch(error.message, /its record has \d+ bytes, at most 31744 fit with 100 nodes/);
});

/** Four nodes: a fails, b is behind it, c beside it, d behind c. */
const FAILING = (onError: string) => `
nodes:
  ${node("a", "make", `on-error: ${onError}`)}
  ${node("b")}
  ${node("c")}
  ${node("d")}
edges:
  - [a.dependency.*, b.dependency.*]
  - [c.dependency.*, d.dependency.*]
`;

Deno.test("pipeline: on-error stop-all stops everything", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, FAILING("stop-all"));
  await fixture.launched(id, "c");
  await fixture.end(id, "a", { status: "error", reason: "It broke" });
  const pipeline = await fixture.ended(id);
  assertEquals(pipeline.nodes.at(2)?.reason, `Its pipeline ended: ${pipeline.reason}`);
  assertEquals(states(pipeline), ["a error", "b skipped", "c stopped", "d skipped"]);
  assertEquals([pipeline.status, pipeline.reason], ["error", 'Node "a" failed: It broke']);
  assertEquals(fixture.submitted.length, 2);
});

Deno.test("pipeline: a node that cannot be stopped now does not keep the others from being stopped", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(
    fixture,
    `
nodes:
  ${node("a", "make", "on-error: stop-all")}
  ${node("b")}
  ${node("c")}
edges: []
`,
  );
  for (const name of ["a", "b", "c"]) await fixture.launched(id, name);
  const { nodes: [, b] } = await fixture.until(id, () => true);
  fixture.unstoppable.add(b?.execution_id ?? "");
  await fixture.end(id, "a", { status: "error", reason: "It broke" });
  const { nodes } = await fixture.until(id, ({ nodes }) => nodes.at(2)?.status === "stopped");
  assertEquals(nodes.map(({ status }) => status), ["error", "stopping", "stopped"]);
  fixture.unstoppable.clear();
  assertEquals(states(await fixture.ended(id)), ["a error", "b stopped", "c stopped"]);
});

Deno.test("pipeline: on-error stop-next lets the others go on", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, FAILING("stop-next"));
  await fixture.end(id, "a", { status: "error", reason: "It broke" });
  await fixture.end(id, "c");
  await fixture.end(id, "d");
  const pipeline = await fixture.ended(id);
  assertEquals(states(pipeline), ["a error", "b skipped", "c complete", "d complete"]);
  assertEquals([pipeline.status, pipeline.reason], ["error", 'Node "a": It broke']);
});

Deno.test("pipeline: what is behind a node that was stopped, or was skipped, does not start", async () => {
  await using fixture = await PipelineFixture.make();
  const onError = { b: "", a: "on-error: stop-next", c: "on-error: stop-next" };
  const nodes = Object.entries(onError).map(([name, more]) => node(name, "make", more));
  const edges = "  - [a.dependency.*, b.dependency.*]\n  - [b.dependency.*, c.dependency.*]";
  const id = await launch(fixture, `nodes:\n  ${nodes.join("\n  ")}\nedges:\n${edges}`);
  await fixture.end(id, "a", { status: "stopped", reason: "Stopped by request" });
  const pipeline = await fixture.ended(id);
  assertEquals(states(pipeline), ["b skipped", "a stopped", "c skipped"]);
  assertEquals([pipeline.status, pipeline.ending], ["error", undefined]);
  assertEquals(fixture.submitted.length, 1);
});

Deno.test("pipeline: on-error continue goes on as if nothing had happened", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, FAILING("continue"));
  await fixture.end(id, "a", { status: "error" });
  await fixture.end(id, "b");
  await fixture.end(id, "c");
  await fixture.end(id, "d");
  const pipeline = await fixture.ended(id);
  assertEquals(states(pipeline), ["a error", "b complete", "c complete", "d complete"]);
  assertEquals(pipeline.status, "complete");
});

Deno.test("pipeline: on-error retry launches again, three times at most", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, FAILING("retry"));
  await fixture.end(id, "c");
  const ids = new Set<string>();
  for (const attempt of [1, 2, 3]) {
    ids.add((await fixture.end(id, "a", { status: "error", reason: `No ${attempt}` }, attempt)).id);
  }
  const pipeline = await fixture.ended(id);
  assertEquals(ids.size, 3);
  assertEquals(pipeline.nodes[0]?.attempts, 3);
  assertEquals([pipeline.status, pipeline.reason], ["error", 'Node "a" failed: No 3']);

  const other = await launch(fixture, FAILING("retry"));
  await fixture.end(other, "a", { status: "error" });
  await fixture.end(other, "a", {}, 2);
  for (const name of ["b", "c", "d"]) await fixture.end(other, name);
  const { status, nodes } = await fixture.ended(other);
  assertEquals([status, nodes[0]?.reason], ["complete", undefined]);
});

const ACTING = (when: string, then: string, condition: string) => `
nodes:
  ${node("a", "make", `actions: [{ when: ${when}, if: ${condition}, then: ${then} }]`)}
  ${node("b")}
  ${node("c")}
edges:
  - [a.dependency.*, b.dependency.*]
`;

const actions: [
  when: string,
  then: string,
  condition: string,
  end: "complete" | "error",
  status: string,
  states: string[],
][] = [
  ["node-complete", "stop-pipeline", "metadata.accuracy < .8", "complete", "stopped", [
    "a complete",
    "b skipped",
    "c stopped",
  ]],
  ["node-complete", "error-pipeline", "metadata.accuracy < .8", "complete", "error", [
    "a complete",
    "b skipped",
    "c stopped",
  ]],
  ["node-complete", "stop-pipeline", "metadata.accuracy > .8", "complete", "complete", [
    "a complete",
    "b complete",
    "c complete",
  ]],
  ["node-complete", "stop-pipeline", "[metadata.accuracy < .8, 1 == 2]", "complete", "complete", [
    "a complete",
    "b complete",
    "c complete",
  ]],
  ["node-complete", "noop", "metadata.accuracy < .8", "complete", "complete", [
    "a complete",
    "b complete",
    "c complete",
  ]],
  ["node-error", "stop-pipeline", "parameter.rate == 1", "error", "stopped", [
    "a error",
    "b skipped",
    "c stopped",
  ]],
  // What has failed has no results to approve.
  ["node-error", "require-approval", "parameter.rate == 1", "error", "error", [
    "a error",
    "b skipped",
    "c stopped",
  ]],
];

Deno.test("pipeline: actions of nodes", async (t) => {
  for (const [when, then, condition, end, status, expected] of actions) {
    await t.step(`${when}: ${then} if ${condition}`, async () => {
      await using fixture = await PipelineFixture.make();
      const id = await launch(fixture, ACTING(when, then, condition));
      await fixture.launched(id, "c");
      await fixture.end(id, "a", { status: end, metadata: { accuracy: 0.5 } });
      if (status === "complete") {
        await fixture.end(id, "b");
        await fixture.end(id, "c");
      }
      const pipeline = await fixture.ended(id);
      assertEquals([pipeline.status, ...states(pipeline)], [status, ...expected]);
    });
  }
});

Deno.test("pipeline: node-starting actions keep a node from starting", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, ACTING("node-starting", "stop-pipeline", "parameter.rate == 1"));
  const pipeline = await fixture.ended(id);
  assertEquals([pipeline.status, ...states(pipeline)], [
    "stopped",
    "a skipped",
    "b skipped",
    "c skipped",
  ]);
  assertEquals(fixture.submitted, []);
});

Deno.test("pipeline: a node waits for approval before it starts", async () => {
  await using fixture = await PipelineFixture.make();
  const body = ACTING("node-starting", "require-approval", "parameter.rate == 1");
  const id = await launch(fixture, body);
  await fixture.end(id, "c");
  await fixture.until(id, (pipeline) => states(pipeline).includes("c complete"));
  assertEquals(states(await fixture.record(id)), [
    "a awaiting_approval",
    "b created",
    "c complete",
  ]);
  assertEquals(await fixture.pipelines.approve(id, "b"), []);
  await fixture.restart();
  assertEquals(await fixture.pipelines.approve(id), ["a"]);
  assertEquals(await fixture.pipelines.approve(id), []);
  await fixture.end(id, "a");
  await fixture.end(id, "b");
  const { status, nodes } = await fixture.ended(id);
  assertEquals(status, "complete");
  assertEquals(nodes[0]?.approval?.when, "node-starting");
  assert(nodes[0]?.approval?.approved_at !== undefined);
});

Deno.test("pipeline: the nodes behind one wait for the approval of its results", async () => {
  await using fixture = await PipelineFixture.make();
  const body = ACTING("node-complete", "require-approval", "metadata.x == 1");
  const id = await launch(fixture, body);
  await fixture.end(id, "c");
  await fixture.end(id, "a", { metadata: { x: 1 } });
  await fixture.until(id, (pipeline) => states(pipeline).includes("a awaiting_approval"));
  assertEquals(fixture.submitted.length, 2);
  assertEquals(await fixture.pipelines.approve(id, "a"), ["a"]);
  await fixture.end(id, "b");
  assertEquals((await fixture.ended(id)).status, "complete");

  const other = await launch(fixture, body);
  await fixture.end(other, "c");
  await fixture.end(other, "a", { metadata: { x: 1 } });
  await fixture.until(other, (pipeline) => states(pipeline).includes("a awaiting_approval"));
  await fixture.pipelines.stop(other);
  // What it has left is there.
  assertEquals(states(await fixture.ended(other)), ["a complete", "b skipped", "c complete"]);
});

Deno.test("pipeline: one that waits for approval can be stopped", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(
    fixture,
    ACTING("node-starting", "require-approval", "parameter.rate == 1"),
  );
  await fixture.launched(id, "c");
  await fixture.until(id, (pipeline) => states(pipeline).includes("a awaiting_approval"));
  // Who approves at the same moment is not told of a node that will not start.
  const answers = [fixture.pipelines.stop(id), fixture.pipelines.approve(id)];
  assertEquals(await Promise.all(answers), [true, []]);
  const pipeline = await fixture.ended(id);
  assertEquals([pipeline.status, pipeline.reason], ["stopped", "Stopped by request"]);
  assertEquals(states(pipeline), ["a skipped", "b skipped", "c stopped"]);
  assertEquals(pipeline.nodes.at(2)?.reason, "Its pipeline ended: Stopped by request");
  assertEquals(await fixture.pipelines.stop(id), false);
  assertEquals(await fixture.pipelines.approve(id), []);
  assertEquals(await fixture.pipelines.stop("00000000-0000-7000-8000-000000000000"), false);
});

Deno.test("pipeline: a stop that comes while a turn stores what it has launched is not lost", async () => {
  await using fixture = await PipelineFixture.make();
  const { committer } = fixture.store;
  const { write } = committer;
  let stopping: Promise<boolean> | undefined;
  committer.write = async (writes) => {
    if (writes.some(({ key: [kind] }) => kind === "execution")) {
      stopping ??= fixture.pipelines.stop(id);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await write.call(committer, writes);
  };
  const id: string = await launch(fixture, `nodes:\n  ${node("a")}\nedges: []`);
  const pipeline = await fixture.ended(id);
  assertEquals([await stopping, ...states(pipeline)], [true, "a stopped"]);
  assertEquals(fixture.stopped.length, 1);
});

Deno.test("pipeline: what a turn has launched before the disk was full runs", async () => {
  await using fixture = await PipelineFixture.make();
  const { committer } = fixture.store;
  const { write } = committer;
  let launches = 0;
  committer.write = (writes) => {
    const isLaunch = writes.some(({ key: [kind] }) => kind === "execution");
    return isLaunch && ++launches === 2
      ? Promise.reject(new UnavailableError("Cannot store: database or disk is full", 5))
      : write.call(committer, writes);
  };
  const id = await launch(fixture, `nodes:\n  ${node("a")}\n  ${node("b")}\nedges: []`);
  // Nothing else gives it another turn.
  await fixture.end(id, "b");
  await fixture.end(id, "a");
  assertEquals((await fixture.ended(id)).status, "complete");
  assertEquals(fixture.submitted.map((each) => each.node), ["a", "b"]);
});

Deno.test("pipeline: an execution that an operator stops counts as failed", async () => {
  await using fixture = await PipelineFixture.make();
  const id = await launch(fixture, FAILING("retry"));
  await fixture.end(id, "a", { status: "stopped", reason: "Stopped by request" });
  const pipeline = await fixture.ended(id);
  assertEquals(pipeline.status, "error");
  assertEquals(states(pipeline)[0], "a stopped");
});

Deno.test("pipeline: what was done before is taken over when the pipeline says so", async () => {
  await using fixture = await PipelineFixture.make();
  const body = `reuse-executions: true${TWO("  - [a.output.*, b.input.data]")}`.replace(
    "truenodes",
    "true\nnodes",
  );
  const target = { payload: { target: "a.raw", file: payload } };
  const first = await launch(fixture, body, target);
  const a = await fixture.end(first, "a", { outputs: ["x"], metadata: { m: 1 } });
  const b = await fixture.end(first, "b");
  await fixture.ended(first);

  const same = { payload: { target: "a.raw", file: { ...payload, payload_of: "another run" } } };
  const second = await fixture.ended(await launch(fixture, body, same));
  assertEquals(second.status, "complete");
  assertEquals(second.nodes.map(({ execution_id, reused }) => [execution_id, reused]), [
    [a.id, true],
    [b.id, true],
  ]);
  assertEquals(fixture.submitted.length, 2);

  const other = { payload: { target: "a.raw", file: { ...payload, sha256: "other bytes" } } };
  const third = await launch(fixture, body, other);
  await fixture.end(third, "a", { outputs: ["x"] });
  // Its own input has the same bytes as before.
  assertEquals((await fixture.ended(third)).nodes.map(({ reused }) => reused), [undefined, true]);

  const again = { payload: { target: "a.raw", file: { ...payload, sha256: "still others" } } };
  const fourth = await launch(fixture, body, again);
  await fixture.end(fourth, "a", { outputs: ["x"], bytes: "new" });
  // A file of the same name with other bytes is another input.
  await fixture.end(fourth, "b");
  assertEquals((await fixture.ended(fourth)).nodes.map(({ reused }) => reused), [
    undefined,
    undefined,
  ]);
});

Deno.test("pipeline: outputs of the same path come from each node that has one", async () => {
  await using fixture = await PipelineFixture.make();
  const body = [
    ...["nodes:", node("a"), node("b"), node("c", "use")],
    ...["edges:", "- [a.output.*, c.input.data]", "- [b.output.*, c.input.data]"],
  ];
  const id = await launch(fixture, body.join("\n"));
  const made = await Promise.all(
    ["a", "b"].map((name) => fixture.end(id, name, { outputs: ["model.pkl"] })),
  );
  const { inputs } = await fixture.launched(id, "c");
  assertEquals(
    inputs.data?.map((file) => "output_of" in file && [file.output_of, file.path]),
    made.map((execution) => [execution.id, "model.pkl"]),
  );
});

Deno.test("pipeline: what is behind a node that was taken over has the payload of its own run", async () => {
  await using fixture = await PipelineFixture.make();
  const body = `reuse-executions: true\n${TWO("  - [a.input.raw, b.input.data]").trimStart()}`;
  const of = (run: string) => ({
    payload: { target: "a.raw", file: { ...payload, payload_of: run } },
  });
  const first = await launch(fixture, body, of("the first run"));
  await fixture.end(first, "a");
  await fixture.end(first, "b", { status: "error" });
  await fixture.ended(first);

  // The first run's payload may be gone by now.
  const second = await launch(fixture, body, of("the second run"));
  const { inputs } = await fixture.launched(second, "b");
  assertEquals((await fixture.record(second)).nodes[0]?.reused, true);
  assertEquals(inputs.data, [{ ...payload, payload_of: "the second run" }]);
});

Deno.test("pipeline: a node that was taken over has the metadata that its own run gives", async () => {
  await using fixture = await PipelineFixture.make();
  const gate = "actions: [{ when: node-complete, if: metadata.rev == 2, then: require-approval }]";
  const body = [
    "reuse-executions: true",
    ...["nodes:", node("a", "make", gate), node("b", "use")],
    "edges: [[a.metadata.rev, b.parameter.note], [a.metadata.rate, b.parameter.rate]]",
  ].join("\n");
  const first = await launch(fixture, body, { metadata: { rev: 1, by: "x", rate: 3 } });
  await fixture.end(first, "a", { metadata: { rev: 1, by: "x", rate: 4 } });
  await fixture.end(first, "b");
  await fixture.ended(first);

  const second = await launch(fixture, body, { metadata: { rev: 2, rate: 3 } });
  const waiting = await fixture.until(
    second,
    ({ nodes }) => nodes[0]?.status === "awaiting_approval",
  );
  assertEquals(states(waiting), ["a awaiting_approval", "b created"]);
  assertEquals(waiting.nodes[0]?.reused, true);
  await fixture.restart();
  await fixture.pipelines.approve(second);
  const { parameters } = await fixture.launched(second, "b");
  // The step itself has printed the rate.
  assertEquals([parameters.note, parameters.rate], ["2", 4]);
});
