/**
 * Planning pipelines: what can be seen to go wrong is refused before anything starts.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { ActionError } from "../../src/platform/errors.ts";
import type { PlanRequest } from "../../src/pipelines/mod.ts";
import type { InputFile } from "../../src/store/records/executions.ts";
import { hashOf, plan } from "./fixture.ts";

const STEPS = `
- step:
    name: ingest
    image: i
    command: c
    inputs: [{ name: labels, optional: true }, { name: my.labels, optional: true }]
    parameters: [{ name: rate, type: float, default: 1 }]
- step:
    name: train
    image: i
    command: c {parameters}
    inputs: [{ name: data }]
    parameters: [{ name: epochs, type: integer }, { name: note, optional: true }]
`;

/** A file with one pipeline, \`p\`, whose body is given. */
function fileWith(body: string): string {
  return `${STEPS}- pipeline:\n    name: p\n${body.replace(/^/gm, "    ")}\n`;
}

const WORKING = fileWith(`
parameters:
  - { name: epochs, targets: [train.parameter.epochs], default: 4 }
  - { name: rate, targets: [first.parameter.rate] }
nodes:
  - { name: first, type: execution, step: ingest }
  - name: train
    type: execution
    step: train
    commit: other
    override: { image: j, inputs: [{ name: extra, optional: true }] }
    on-error: retry
edges:
  - [first.output.*.csv, train.input.data]
  - [first.metadata.note, train.parameter.note]
`);
const payload: InputFile = { name: "payload.json", payload_of: "run", size: 3 };

Deno.test("plan: nodes with their steps, commits, parameters and the payload's file", async () => {
  const { nodes, edges, parameters } = await plan(WORKING, "p", {
    parameters: { rate: 2 },
    payload: { target: "first.labels", file: payload },
  });
  assertEquals(nodes.map(({ name, commit, on_error }) => [name, commit, on_error]), [
    ["first", hashOf("main"), "stop-all"],
    ["train", hashOf("other"), "retry"],
  ]);
  assertEquals(nodes.map(({ parameters, inputs }) => [parameters, inputs]), [
    [{ rate: 2 }, { labels: [payload] }],
    [{ epochs: 4 }, {}],
  ]);
  assertEquals(nodes[1]?.step.image, "j");
  assertEquals(edges.map(({ source, target }) => [source.key, target.key]), [
    ["*.csv", "data"],
    ["note", "note"],
  ]);
  assertEquals(parameters, { epochs: 4, rate: 2 });
  const none = await plan(WORKING, "p", { parameters: { epochs: 0 } });
  assertEquals([none.parameters, none.nodes[1]?.parameters], [{ epochs: 0 }, { epochs: 0 }]);
});

const targets: [target: string, node: string, input: string][] = [
  ["first.labels", "first", "labels"],
  ["ingest.labels", "first", "labels"],
  // A node of that name goes before a step of that name.
  ["train.data", "train", "data"],
];

Deno.test("plan: the payload's input is found by node, else by the only node of a step", async () => {
  for (const [target, node, input] of targets) {
    const { nodes } = await plan(WORKING, "p", { payload: { target, file: payload } });
    const found = nodes.find(({ name }) => name === node);
    assertEquals(Object.keys(found?.inputs ?? {}), [input], target);
  }
  const dotted = fileWith("nodes: [{ name: v1.2, type: execution, step: ingest }]\nedges: []");
  const request = { payload: { target: "v1.2.labels", file: payload } };
  assertEquals((await plan(dotted, "p", request)).nodes[0]?.inputs, { labels: [payload] });
});

const NODE = "{ name: a, type: execution, step: ingest }";
const TRAIN = "{ name: t, type: execution, step: train }";
type Refusal = [why: string, body: string, request: Partial<PlanRequest>, message: string];

const refusals: Refusal[] = [
  [
    "an unknown pipeline",
    `nodes: [${NODE}]\nedges: []`,
    { name: "q" },
    'Cannot run pipeline "q": there is none of this name; found "p"',
  ],
  [
    "a deployment",
    `nodes: [${NODE}, { name: d, type: deployment, deployment: x }]\nedges: []`,
    {},
    'node "d": it is a deployment node, and Hooklaunch runs nodes of type execution only',
  ],
  [
    "a misspelt gate",
    "nodes: [{ name: a, type: execution, step: ingest, " +
    "actions: [{ when: node-starting, then: require-aproval }] }]\nedges: []",
    {},
    'node "a": unknown value "require-aproval" in `then`; known are "noop"',
  ],
  [
    "a task",
    `nodes: [${NODE}, { name: d, type: task, step: ingest }]\nedges: []`,
    {},
    'node "d": it is a task node',
  ],
  [
    "a cycle",
    `nodes: [${NODE}, { name: b, type: execution, step: ingest }]
edges: [[a.output.x, b.input.labels], [b.output.x, a.input.labels]]`,
    {},
    'its nodes wait for one another in a cycle: "a", "b"',
  ],
  [
    "a cycle of one",
    `nodes: [${NODE}]\nedges: [[a.output.x, a.input.labels]]`,
    {},
    'in a cycle: "a"',
  ],
  [
    "an undeclared input",
    `nodes: [${NODE}, ${TRAIN}]\nedges: [[a.output.x, t.input.dat]]`,
    {},
    'its edge a.output.x → t.input.dat names the input "dat" of node "t", which its step does not ' +
    'declare; its inputs are "data"',
  ],
  [
    "a pattern of no input",
    `nodes: [${NODE}, ${TRAIN}]\nedges: [[a.input.x*, t.input.data]]`,
    {},
    'names the input "x*" of node "a", which its step does not declare; its inputs are "labels", ',
  ],
  [
    "an undeclared parameter",
    `nodes: [${NODE}, ${TRAIN}]\nedges: [[a.parameter.x, t.parameter.epochs]]`,
    {},
    'names the parameter "x" of node "a", which its step does not declare; its parameters are "rate"',
  ],
  [
    "an edge that cannot be",
    `nodes: [${NODE}, ${TRAIN}]\nedges: [[a.output.x, t.parameter.epochs]]`,
    {},
    "carries output to parameter; expected one of input, dependency",
  ],
  ...["x/*a*b*c*d*", "{1..1000000}", "{a,b}".repeat(5), `{${",".repeat(33)}}`, "+(*a)b"].map((
    pattern,
  ): Refusal => [
    `the pattern ${pattern}, which may take too long`,
    `nodes: [${NODE}, ${TRAIN}]\nedges: [["a.output.${pattern}", t.input.data]]`,
    {},
    "has a pattern that may take too long: expected at most 4 stars between two slashes, 4 braces " +
    "and 32 commas, no range and no group",
  ]),
  [
    "a variable that no shell can have",
    `nodes: [${NODE}, ${TRAIN}]\nedges: [[a.metadata.x, t.environment-variable.MY-VAR]]`,
    {},
    'its edge a.metadata.x → t.environment-variable.MY-VAR sets "MY-VAR", which is no name of a variable',
  ],
  [
    "an input without a file",
    `nodes: [${TRAIN}]\nedges: []`,
    {},
    'node "t": Cannot run step "train": its parameter "epochs" has no value; ' +
    'its input "data" has no file',
  ],
  [
    "an unknown parameter of the pipeline",
    `nodes: [${NODE}]\nedges: []`,
    { parameters: { x: 1 } },
    'it has no parameter "x"; its parameters are none',
  ],
  [
    "a value that a parameter cannot take",
    `parameters: [{ name: r, targets: [a.parameter.rate] }]\nnodes: [${NODE}]\nedges: []`,
    { parameters: { r: "fast" } },
    'its parameter "rate" cannot take this value: "fast" is not a number',
  ],
  [
    "a payload without a node",
    `nodes: [${NODE}]\nedges: []`,
    { payload: { target: "b.labels", file: payload } },
    'its payload input "b.labels" names no node; its nodes are "a"',
  ],
  [
    "a payload without an input",
    `nodes: [${NODE}]\nedges: []`,
    { payload: { target: "a.label", file: payload } },
    'node "a" has no input "label"; its inputs are "labels", "my.labels"',
  ],
  [
    "a payload for one of two nodes",
    `nodes: [${NODE}, { name: b, type: execution, step: ingest }]\nedges: []`,
    { payload: { target: "ingest.labels", file: payload } },
    "names a step that several nodes run: name one of",
  ],
  [
    "a mount that its engine does not have",
    `nodes: [{ name: a, type: execution, step: ingest, override: { mounts: ["/a:/b"] } }]\nedges: []`,
    {},
    'node "a": it has mounts, which the runner "process" does not support',
  ],
  [
    "an unknown step of another commit",
    `nodes: [{ name: a, type: execution, step: gone, commit: old }]\nedges: []`,
    {
      resolve: () => Promise.reject(new ActionError("Cannot find old")),
    },
    'node "a": Cannot find old',
  ],
];

Deno.test("plan: what cannot work is refused, with all that is wrong", async (t) => {
  for (const [why, body, request, message] of refusals) {
    await t.step(why, async () => {
      // Some of these the file's reader refuses itself when the step is in the same file.
      const text = why.startsWith("an unknown step")
        ? `${fileWith(body)}- step: { name: gone, image: i, command: c }\n`
        : fileWith(body);
      await assertRejects(() => plan(text, request.name ?? "p", request), ActionError, message);
    });
  }
});

Deno.test("plan: more nodes than a record can follow are refused", async () => {
  const nodes = Array.from(
    { length: 101 },
    (_, index) => `- { name: n${index}, type: execution, step: ingest }`,
  ).join("\n");
  await assertRejects(
    () => plan(fileWith(`nodes:\n${nodes}\nedges: []`), "p"),
    ActionError,
    "it has 101 nodes, at most 100 can be run",
  );
});

Deno.test("plan: a node whose execution fits into no record is refused, whatever edges bring", async () => {
  const long = "x".repeat(60_000);
  const withLong = (edge: string) => `
- step: { name: find, image: i, command: c, parameters: [{ name: where }] }
- step:
    name: list
    image: i
    command: list {parameters}
    parameters: [{ name: where, default: ${long} }]
- pipeline:
    name: p
    parameters: [{ name: where, default: short, targets: [a.parameter.where] }]
    nodes: [{ name: a, type: execution, step: find }, { name: b, type: execution, step: list }]
    edges: [[a.${edge}, b.${edge}]]
`;
  await assertRejects(
    () => plan(withLong("dependency.all"), "p"),
    ActionError,
    'node "b": its execution takes 120',
  );
  assertEquals((await plan(withLong("parameter.where"), "p")).nodes.length, 2);
});

const POINTED = `
- step: { name: find, image: i, command: c }
- step:
    name: list
    image: i
    command: c
    parameters: [{ name: where }, { name: note, optional: true }]
    inputs: [{ name: data, default: "{parameter:where}" }]
- pipeline:
    name: p
    nodes: [{ name: a, type: execution, step: find }, { name: b, type: execution, step: list }]
    edges: [[a.metadata.where, b.parameter.where]]
`;

Deno.test("plan: an input's default file may be of a parameter that an edge brings", async () => {
  assertEquals((await plan(POINTED, "p")).nodes.length, 2);
  const unset = POINTED.replace("where }, ", "where, optional: true }, ")
    .replace("b.parameter.where", "b.parameter.note");
  await assertRejects(
    () => plan(unset, "p"),
    ActionError,
    'node "b": Cannot run step "list": its ' +
      'input "data" has no file',
  );
});
