/**
 * The format's border cases, P1 to P26: what other readers of the format say of them, and where this
 * one decides for itself.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { ActionError, InvalidInputError } from "../../../src/platform/errors.ts";
import { findPipeline, readConfigFile } from "../../../src/projects/format/config_file.ts";
import { type FormatCase, nodeOf, pipelineOf, stepOf, testCases } from "./format_cases.ts";

const withParts = stepOf("s", "inputs: [{ name: i }], parameters: [{ name: a, optional: true }]");
const nodes = [nodeOf("a"), nodeOf("b")];

const probes: FormatCase[] = [
  {
    name: "P1 plural types of edges are taken for singular ones, with a word",
    text: withParts + pipelineOf(nodes, ["[a.outputs.x, b.inputs.i]"]),
    warnings: [
      ["/1/pipeline/edges/0/0", 'The type "outputs" is taken for "output"'],
      ["/1/pipeline/edges/0/1", 'The type "inputs" is taken for "input"'],
    ],
  },
  {
    name: "P2 a plural in a parameter's target",
    text: withParts + pipelineOf(nodes, [], "parameters: [{ name: p, target: a.parameters.a }]"),
  },
  {
    name: "P3 a target that the step does not declare, and a node that there is not",
    text: withParts + pipelineOf(
      nodes,
      [],
      "parameters: [{ name: p, targets: [a.parameter.a, a.parameter.z] }, " +
        "{ name: q, targets: c.parameter.a }]",
    ),
    problems: [
      ["/1/pipeline/parameters/0/targets/1", 'Expected the name of a parameter of step "s"'],
      ["/1/pipeline/parameters/1/targets", 'Expected the name of a node, found "c"'],
    ],
  },
  {
    name: "P4 a target that is an input",
    text: withParts + pipelineOf(nodes, [], "parameters: [{ name: p, targets: [a.input.i] }]"),
    problems: [["/1/pipeline/parameters/0/targets/0", "Expected a parameter of a node"]],
  },
  {
    name: "P5 require-approval is done here, so nothing is said",
    text: withParts + pipelineOf([
      nodeOf("a", "s", "actions: [{ when: node-starting, then: require-approval }]"),
    ]),
  },
  {
    name: "P6 two nodes of one name",
    text: withParts + pipelineOf([nodeOf("a"), nodeOf("a")]),
    problems: [["/1/pipeline/nodes/1/name", "Expected a unique name"]],
  },
  {
    name: "P7 edges of nodes that there are not",
    text: withParts + pipelineOf(nodes, ["[x.output.y, b.input.i]", "[a.output.y, z.input.i]"]),
    problems: [
      ["/1/pipeline/edges/0/0", 'Expected the name of a node, found "x"; known are "a", "b"'],
      ["/1/pipeline/edges/1/1", 'found "z"'],
    ],
  },
  {
    name: "P8 an edge to an input that the step does not declare",
    text: withParts + pipelineOf(nodes, ["{ source: a.output.x, target: b.input.y }"]),
    warnings: [[
      "/1/pipeline/edges/0/target",
      'Cannot be launched: the edge names the input "y" of node "b", which its step does not ' +
      'declare; its inputs are "i"',
    ]],
  },
  {
    name: "P8 edges of what no step declares, or that carry what cannot be taken",
    text: withParts + pipelineOf(nodes, [
      "[a.parameter.y, b.parameter.p]",
      "[a.metadata.m, b.parameter.y]",
      "[a.input.y, b.input.i]",
      "[a.input.y*, b.input.i]",
      "[a.output.x, b.parameter.p]",
      "[a.metadata.m, b.output.x]",
      "[a.file.x, b.input.i]",
      "[a.metadata.m, b.environment-variable.MY-VAR]",
      "['a.output.{1..9}', b.input.i]",
    ]),
    warnings: [
      ["/1/pipeline/edges/0/0", 'the parameter "y" of node "a", which its step does not declare'],
      ["/1/pipeline/edges/1/1", 'the parameter "y" of node "b", which its step does not declare'],
      ["/1/pipeline/edges/2/0", 'the input "y" of node "a", which its step does not declare'],
      ["/1/pipeline/edges/4/1", "carries output to parameter; expected one of input, dependency"],
      ["/1/pipeline/edges/5/1", "carries metadata to output"],
      ["/1/pipeline/edges/6/0", 'begins with "file", which no execution gives'],
      ["/1/pipeline/edges/7/1", 'sets "MY-VAR", which is no name of a variable'],
      ["/1/pipeline/edges/8/0", "has a pattern that may take too long"],
    ],
  },
  {
    name: "P8 edges of a node whose step is of another commit, and of a deployment",
    text: withParts + pipelineOf([
      nodeOf("a"),
      nodeOf("b", "s", "commit: main"),
      "{ name: d, type: deployment, deployment: d }",
    ], [
      "[a.output.x, b.input.y]",
      "[a.output.x, b.parameter.y]",
      "[a.output.x, d.file.predict.model]",
    ]),
    warnings: [["/1/pipeline/edges/1/1", "carries output to parameter"]],
  },
  {
    name: "P9 an unknown type of edge",
    text: withParts + pipelineOf(nodes, ["[a.result.x, b.input.i]"]),
    problems: [["/1/pipeline/edges/0/0", "with one of the types dependency, deployment"]],
  },
  {
    name: "P10 a pipeline without edges",
    text: "- pipeline: { name: p, nodes: [] }\n",
    problems: [["/0/pipeline/edges", "Expected an array, found nothing"]],
  },
  {
    name: "P11 a cycle, and what leads into it and out of it",
    text: withParts + pipelineOf(["a", "b", "c", "d"].map((name) => nodeOf(name)), [
      "[a.output.x, b.input.i]",
      "[b.output.x, c.input.i]",
      "[c.output.x, b.input.i]",
      "[c.output.x, d.input.i]",
    ]),
    warnings: [[
      "/1/pipeline/edges",
      "The edges form a cycle, so the pipeline cannot be launched: see the " +
      'nodes "b", "c"',
    ]],
  },
  {
    name: "P12 an unknown item",
    text: "- steps: {}\n",
    warnings: [["/0/steps", 'Unknown item "steps": it is ignored']],
  },
  {
    name: "P13 a pipeline by its other name",
    text: withParts + pipelineOf(nodes).replace("pipeline:", "blueprint:"),
  },
  { name: "P14 an empty file", text: "", problems: [["", "found nothing"]] },
  {
    name: "P15 an object at the top",
    text: "step: { name: s }\n",
    problems: [["", 'Expected a list of items such as "- step: …"']],
  },
  {
    name: "P16 an unknown field of a step",
    text: stepOf("s", "comand: x"),
    problems: [["/0/step/comand", 'Unknown field "comand" (did you mean "command"?)']],
  },
  {
    name: "P17 an unknown field of an input",
    text: stepOf("s", "inputs: [{ name: i, defaults: x }]"),
    problems: [["/0/step/inputs/0/defaults", 'Unknown field "defaults" (did you mean "default"?)']],
  },
  {
    name: "P18 two inputs of one name",
    text: stepOf("s", "inputs: [{ name: i }, { name: i }]"),
    warnings: [["/0/step/inputs/1/name", 'Another item above has the name "i"']],
  },
  {
    name: "P19 an environment variable's default that is a number",
    text: stepOf("s", "environment-variables: [{ name: V, default: 1 }]"),
    problems: [["/0/step/environment-variables/0/default", "Expected a string, found 1"]],
  },
  {
    name: "P20 a flag with several values",
    text: stepOf("s", "parameters: [{ name: f, type: flag, multiple: repeat }]"),
    problems: [["/0/step/parameters/0/multiple", "Expected a flag to have no multiple values"]],
  },
  {
    name: "P21 an unknown type of parameter",
    text: stepOf("s", "parameters: [{ name: f, type: bool }]"),
    problems: [["/0/step/parameters/0/type", 'found "bool"']],
  },
  {
    name: "P22 a task node of a step and a task, and one of neither",
    text: withParts + "- task: { name: t, step: s, parameters: [] }\n" +
      pipelineOf(["{ name: a, type: task, step: s, task: t }", "{ name: b, type: task }"]),
    problems: [
      ["/2/pipeline/nodes/0/task", "Expected a step or a task, one of the two"],
      ["/2/pipeline/nodes/1/step", "Expected a step or a task, one of the two"],
    ],
  },
  {
    name: "P23 nodes of no type and of an unknown one",
    text: withParts + pipelineOf(["{ name: a, step: s }", "{ name: b, type: tast, step: s }"]),
    problems: [
      ["/1/pipeline/nodes/0/type", 'Expected one of "execution", "task", "deployment"'],
      ["/1/pipeline/nodes/1/type", 'found "tast"'],
    ],
  },
  {
    name: "P24 a limit that is no time",
    text: stepOf("s", "time-limit: soon"),
    problems: [["/0/step/time-limit", "Expected a whole number of seconds or a duration such as"]],
  },
  {
    name: "P25 a mount that is relative",
    text: stepOf("s", "mounts: [a:b]"),
    problems: [["/0/step/mounts/0", "Expected absolute paths"]],
  },
  {
    name: "P26 an edge of three ends",
    text: withParts + pipelineOf(nodes, ["[a.output.x, b.input.i, b.input.i]"]),
    problems: [["/1/pipeline/edges/0", "Expected two ends, as in [source, target]"]],
  },
];

testCases(probes);

Deno.test("format: a pipeline that there is not, with the names there are", () => {
  const config = readConfigFile(withParts + pipelineOf(nodes), "valohai.yaml");
  assertEquals([...findPipeline(config, "p").nodes.keys()], ["a", "b"]);
  const message = 'Cannot run pipeline "q": there is none of this name; found "p"';
  assertThrows(() => findPipeline(config, "q"), ActionError, message);
});

Deno.test("format: of very many problems the first hundred are told", () => {
  const text = pipelineOf(Array.from({ length: 900 }, (_, index) => nodeOf(`n${index}`, "none")));
  const error = assertThrows(() => readConfigFile(text, "valohai.yaml"));
  assertEquals(Object(error).problems.length, 100);
});

Deno.test("format: of a list in which very much is wrong the first hundred problems are told", () => {
  const text = `- pipeline:
    name: p
    nodes: [{ name: a, type: execution, step: s, actions: [{ when: [${"1,".repeat(95_000)}] }] }]
    edges: []
`;
  const error = assertThrows(() => readConfigFile(text, "valohai.yaml"), InvalidInputError);
  assertEquals(error.problems.length, 100);
});
