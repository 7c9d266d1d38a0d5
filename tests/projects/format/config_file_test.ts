/**
 * The project configuration file: what is read of steps, and what is refused, with line and column.
 *
 * @module
 */
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { readConfigFile } from "../../../src/projects/format/config_file.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import type { LocatedProblem } from "../../../src/platform/yaml/positions.ts";
import { anyText, assertInside, eachOf, mutated } from "../../arbitraries.ts";

const everything = `---
# Every field that a step may have.
- step:
    name: train
    image: busybox
    command:
      - prepare
      - train {parameters}
    description: |
      Trains.
    category: Training
    icon: https://example.com/icon.svg
    environment: large
    runtime-config-preset: gpu
    environment-variable-groups: [common]
    environment-variables:
      - name: MODE
        default: "1"
        description: how
      - { name: KEY, optional: false }
    inputs:
      - name: labels
        default: s3://bucket/labels.csv
        filename: labels.csv
        keep-directories: suffix
        download: on-demand
        description: the labels
      - name: images
        default: [s3://bucket/a, s3://bucket/b]
        keep-directories: true
        optional: true
    outputs:
      - { name: model, description: the model }
    parameters:
      - name: epochs
        type: integer
        default: 5
        min: 1
        max: 10
        category: c
        widget: slider
      - name: layers
        type: float
        multiple: separate
        multiple-separator: "-"
        default: [1, 0.5]
        choices: [1, 0.5]
      - name: verbose
        type: flag
        default: true
        pass-true-as: -v
        pass-false-as: -q
      - { name: spec, pass-as: "--spec {v}", optional: true, widget: { type: sql, settings: {} } }
    mounts:
      - /a:/b
      - source: hal.local:/dave
        destination: /dave
        readonly: true
        type: nfs
        options: { hot: true }
    cache-volumes: [pvc-1]
    no-output-timeout: 48h
    time-limit: 1h 30m 5s
    resources:
      cpu: { min: 0.1, max: 1 }
      memory: { min: 50 }
      devices: { nvidia.com/gpu: 1 }
    source-path: train.py
    stop-condition: accuracy > 0.9
    upload-store: my-store
- step: { name: plain, image: busybox, command: echo hi }
- deployment: { name: anywhere, defaults: { target: a-cluster } }
`;

Deno.test("config file: everything a step may have is read", () => {
  const { steps, warnings } = readConfigFile(everything, "valohai.yaml");
  assertEquals(warnings, []);
  assertEquals([...steps.keys()], ["train", "plain"]);
  const step = steps.get("train");
  assertEquals(step?.commands, ["prepare", "train {parameters}"]);
  assertEquals(step?.timeLimit_s, 5405);
  assertEquals(step?.noOutputTimeout_s, 172_800);
  assertEquals(step?.sourcePath, "train.py");
  assertEquals([...step?.environmentVariables.values() ?? []], [
    { name: "MODE", default: "1", optional: true },
    { name: "KEY", default: undefined, optional: false },
  ]);
  assertEquals([...step?.inputs.values() ?? []], [
    {
      name: "labels",
      defaults: ["s3://bucket/labels.csv"],
      optional: false,
      filename: "labels.csv",
      keepDirectories: "suffix",
    },
    {
      name: "images",
      defaults: ["s3://bucket/a", "s3://bucket/b"],
      optional: true,
      filename: undefined,
      keepDirectories: "full",
    },
  ]);
  assertEquals([...step?.parameters.keys() ?? []], ["epochs", "layers", "verbose", "spec"]);
  assertEquals(step?.parameters.get("layers")?.default, [1, 0.5]);
  assertEquals(step?.parameters.get("verbose")?.passFalseAs, "-q");
  assertEquals(steps.get("plain")?.commands, ["echo hi"]);
});

/** The problems of a text that is refused, as lines. */
function problemsOf(text: string): string[] {
  const error = assertThrows(() => readConfigFile(text, "valohai.yaml"), InvalidInputError);
  return error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
}

/** A step with one more field. */
function stepWith(lines: string): string {
  return `- step:\n    name: a\n    image: b\n    command: c\n${lines}`;
}

const refused: { name: string; text: string; problems: string[] }[] = [
  {
    name: "an empty file",
    text: "",
    problems: ['line 1, column 1: Expected a list of items such as "- step: …", found nothing'],
  },
  {
    name: "an object at the top",
    text: "step:\n  name: x\n",
    problems: [
      'line 1, column 1: Expected a list of items such as "- step: …", found an object',
    ],
  },
  {
    name: "indentation that is no YAML",
    text: "- step:\n  name: outdented\n    image: x\n",
    problems: [
      "line 2, column 9: Nested mappings are not allowed in compact mappings: " +
      "the lines here may be indented unevenly",
    ],
  },
  {
    name: "indentation that is YAML by chance",
    text: "- step:\n  name: outdented\n  image: x\n",
    problems: [
      "/0/step line 1, column 3: Expected an object, found nothing: " +
      "the fields below may need more indentation",
    ],
  },
  {
    name: "missing and mistyped fields of several steps, all at once",
    text: "- step:\n    image: true\n- step:\n    name: x\n    image: y\n    command: 8\n- 7\n",
    problems: [
      "/0/step/name line 1, column 3: Expected a string, found nothing",
      "/0/step/command line 1, column 3: Expected a string or an array, found nothing",
      "/0/step/image line 2, column 5: Expected a string, found true",
      "/1/step/command line 6, column 5: Expected a string or an array, found 8",
      '/2 line 7, column 3: Expected an item such as "step: …", found 7',
    ],
  },
  {
    name: "unknown fields at any depth",
    text: stepWith("    comand: d\n    inputs:\n      - name: i\n        defaults: x\n"),
    problems: [
      '/0/step/comand line 5, column 5: Unknown field "comand" (did you mean "command"?)',
      '/0/step/inputs/0/defaults line 8, column 9: Unknown field "defaults" (did you mean "default"?)',
    ],
  },
  {
    name: "an input name that is too long",
    text: stepWith(`    inputs: [{ name: ${"x".repeat(65)} }]\n`),
    problems: [
      "/0/step/inputs/0/name line 5, column 16: Expected at most 64 characters, " +
      `found "${"x".repeat(65)}"`,
    ],
  },
  {
    name: "a command that is not text",
    text: "- step:\n    name: a\n    image: b\n    command:\n      - ok\n      - 8\n",
    problems: ["/0/step/command/1 line 6, column 9: Expected a string, found 8"],
  },
  {
    name: "a list that holds nothing",
    text: stepWith("    parameters:\n"),
    problems: ["/0/step/parameters line 5, column 5: Expected an array, found null"],
  },
  {
    name: "an unknown parameter type and a default that is an object",
    text: stepWith("    parameters:\n      - name: p\n        type: bool\n        default: {}\n"),
    problems: [
      '/0/step/parameters/0/type line 7, column 9: Expected one of "flag", "float", "integer", ' +
      '"string", found "bool"',
      "/0/step/parameters/0/default line 8, column 9: " +
      "Expected a string, a number, true, false or a list of these, found an object",
    ],
  },
  {
    name: "a flag with several values",
    text: stepWith("    parameters: [{ name: p, type: flag, multiple: repeat }]\n"),
    problems: [
      "/0/step/parameters/0/multiple line 5, column 41: " +
      'Expected a flag to have no multiple values, found "repeat"',
    ],
  },
  {
    name: "an environment variable's default that is a number",
    text: stepWith("    environment-variables: [{ name: A, default: 1 }, { name: a-b }]\n"),
    problems: [
      "/0/step/environment-variables/0/default line 5, column 40: Expected a string, found 1",
      "/0/step/environment-variables/1/name line 5, column 56: Expected a name of letters, digits " +
      'and underscores that begins with no digit, found "a-b"',
    ],
  },
  {
    name: "durations that are none",
    text: stepWith("    time-limit: soon\n    no-output-timeout: -5\n"),
    problems: [
      "/0/step/time-limit line 5, column 5: Expected a whole number of seconds or a duration such " +
      'as "1h 30m 5s", found "soon"',
      "/0/step/no-output-timeout line 6, column 5: Expected a whole number of seconds or a " +
      'duration such as "1h 30m 5s", found -5',
    ],
  },
  {
    name: "mounts that are relative",
    text: stepWith("    mounts: [a:b, { source: x, destination: y }]\n"),
    problems: [
      '/0/step/mounts/0 line 5, column 14: Expected absolute paths as in "/source:/destination", ' +
      'found "a:b"',
      '/0/step/mounts/1/destination line 5, column 32: Expected an absolute path, found "y"',
    ],
  },
  {
    name: "resources, a store and a preset that cannot be",
    text: stepWith(
      "    resources: { cpu: { min: Not a number } }\n" +
        `    upload-store: ${"x".repeat(65)}\n`,
    ),
    problems: [
      '/0/step/resources/cpu/min line 5, column 25: Expected a number, found "Not a number"',
      "/0/step/upload-store line 6, column 5: Expected at most 64 characters, " +
      `found "${"x".repeat(65)}"`,
    ],
  },
  {
    name: "a preset without an environment",
    text: stepWith("    runtime-config-preset: gpu\n"),
    problems: [
      "/0/step/runtime-config-preset line 5, column 5: " +
      'Expected an environment beside the preset, found "gpu"',
    ],
  },
];

for (const { name, text, problems } of refused) {
  Deno.test(`config file: refuses ${name}`, () => assertEquals(problemsOf(text), problems));
}

const graph = `
- pipeline:
    name: both
    reuse-executions: true
    parameters:
      - { name: p, default: [1], targets: [a.parameters.epochs, b.parameter.epochs] }
    nodes:
      - name: a
        type: execution
        step: train
        override: { inputs: [{ name: labels, default: x }], command: [echo] }
        actions: [{ when: node-complete, if: [metadata.x < 1], then: stop-pipeline }]
      - { name: b, type: execution, step: train, on-error: retry }
      - { name: t, type: task, task: search }
    edges:
      - [a.output.*.txt, b.input.labels]
      - { source: a.metadata.x, target: b.parameter.epochs }
- task: { name: search, step: train, type: grid_search, parameters: [] }
- endpoint: { name: end, image: i, server-command: run, port: 8000 }
`;
const file = everything + graph;
const values = [
  ..."null true 0 -1 1e99 '' [] {} [1] x 1h".split(" "),
  ...["{ toString: 1 }", "{ __proto__: 1 }", "[{ toString: 1 }]", "{ name: { valueOf: 1 } }"],
  ...["[[[[]]]]", "{ type: [] }", '"\\ud800"', "a.b.c", "{ length: 1 }"],
];

/** Reads a file that may be wrong in any way; what is told of it lies inside of it. */
function read(text: string): void {
  try {
    for (const warning of readConfigFile(text, "valohai.yaml").warnings) {
      assertInside(text, warning);
    }
  } catch (error) {
    assertInstanceOf(error, InvalidInputError);
    // Whatever is wrong in a file has a place.
    for (const problem of error.problems as LocatedProblem[]) assertInside(text, problem);
  }
}

Deno.test("YAML 1.1's words for true and false mean what they mean elsewhere", () => {
  const { steps, pipelines } = readConfigFile(
    `- step: { name: a, image: b, command: c, autorestart: on, inputs: [
    { name: i, optional: yes, keep-directories: yes }, { name: j, keep-directories: off }] }
- pipeline: { name: p, nodes: [], edges: [], reuse-executions: Yes }
`,
    "valohai.yaml",
  );
  const { autorestart, inputs } = steps.get("a") ?? {};
  const read = [...inputs?.values() ?? []].map((each) => [each.optional, each.keepDirectories]);
  assertEquals({ autorestart, read }, {
    autorestart: true,
    read: [[true, "full"], [false, "none"]],
  });
  assertEquals(pipelines.get("p")?.reuseExecutions, true);
});

Deno.test("merge keys bring what stands elsewhere, as they do for other readers of the format", () => {
  const text = `- step: &base
    name: a
    image: x
    command: echo {parameters}
    parameters:
      - &rate { name: rate, type: float, default: 0.5 }
- step:
    <<: *base
    name: b
    parameters:
      - { <<: *rate, default: 1.5 }
`;
  const { steps } = readConfigFile(text, "valohai.yaml");
  const read = [...steps.values()].map(({ name, image, parameters }) => [
    name,
    image,
    parameters.get("rate")?.type,
    parameters.get("rate")?.default,
  ]);
  assertEquals(read, [["a", "x", "float", 0.5], ["b", "x", "float", 1.5]]);
  assertEquals("<<" in (steps.get("b")?.written ?? {}), false);
  const { problems } = assertThrows(
    () => readConfigFile(text.replace("image: x", "image: 1"), "valohai.yaml"),
    InvalidInputError,
  );
  assertEquals(problems.map(({ pointer, detail }) => [pointer, detail.split(": ")[0]]), [
    ["/0/step/image", "line 3, column 5"],
    ["/1/step/image", "line 3, column 5"],
  ]);
});

Deno.test("any file is read, or refused with places inside of it", () => {
  readConfigFile(file, "valohai.yaml");
  fc.assert(fc.property(fc.oneof(mutated(file, ...values), anyText), read), { numRuns: 150 });
});

Deno.test("a file with a value of another kind in any place is read, or refused", () => {
  const isTried = eachOf(12);
  let place = 0;
  for (const { 0: old, index } of file.matchAll(/(?<=: |- )[^\n{},[\]]+(?=[\n,} ])/g)) {
    place++;
    for (const put of values.filter((_, at) => isTried(place + at))) {
      try {
        read(file.slice(0, index) + put + file.slice(index + old.length));
      } catch (error) {
        throw new Error(`With ${put} in place of ${old} at ${index}`, { cause: error });
      }
    }
  }
});

Deno.test("a name or a setting that is an object of any fields is refused as one", () => {
  const text = `- pipeline: { name: { toString: x }, nodes: [], edges: [] }
- step:
    name: a
    image: b
    command: c
    inputs: [{ name: i, keep-directories: { toString: x } }, { name: j, keep-directories: [full] }]
`;
  const { problems } = assertThrows(() => readConfigFile(text, "x"), InvalidInputError);
  assertEquals(problems.map(({ detail }) => detail), [
    "line 1, column 15: Expected a string, found an object",
    'line 6, column 25: Expected true, false, "none", "full" or "suffix", found an object',
    'line 6, column 73: Expected true, false, "none", "full" or "suffix", found a list',
  ]);
});
