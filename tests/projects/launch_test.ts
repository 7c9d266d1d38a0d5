/**
 * Launches of steps: what an execution is made of, and what keeps it from being made.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { ActionError } from "../../src/errors.ts";
import { type LaunchOptions, launchStep } from "../../src/projects/launch.ts";
import { readConfigFile } from "../../src/projects/config_file.ts";

const config = readConfigFile(
  `
- step:
    name: train
    image: busybox
    command: [prepare, "train {parameters}"]
    time-limit: 1m
    no-output-timeout: 5
    environment-variables: [{ name: MODE, default: fast }, { name: UNSET }]
    inputs:
      - { name: labels, filename: labels.csv, default: "s3://x/labels.csv" }
      - { name: notes, optional: true }
    parameters:
      - { name: epochs, type: integer, default: 5, min: 1, max: 10 }
      - { name: rate, type: float, optional: true, default: 0.5 }
      - { name: spec, choices: [a, "1"], optional: true }
      - { name: layers, type: integer, multiple: separate, optional: true }
      - { name: verbose, type: flag, default: true }
      - { name: constructor, optional: true }
- step: { name: bare, image: busybox, command: "true", inputs: [{ name: data }] }
- step: { name: fetching, image: i, command: c, inputs: [{ name: d, default: "s3://x", optional: true }] }
- step:
    name: demanding
    image: i
    command: c
    parameters: [{ name: p }, { name: q, optional: true }]
    environment-variables: [{ name: KEY, optional: false }]
`,
  "valohai.yaml",
);

Deno.test("launch: defaults, limits and the payload's input", () => {
  assertEquals(launchStep(config, "train", { payloadInput: "labels" }), {
    image: "busybox",
    command: "prepare\ntrain --epochs=5 --rate=0.5",
    parameters: { epochs: 5, rate: 0.5 },
    environment_variables: { MODE: "fast" },
    payloadInput: { name: "labels", filename: "labels.csv" },
    time_limit: 60,
    no_output_timeout: 5,
  });
  assertEquals(launchStep(config, "bare", { payloadInput: "data" }), {
    image: "busybox",
    command: "true",
    parameters: {},
    environment_variables: {},
    payloadInput: { name: "data" },
  });
});

const given: [parameters: Record<string, unknown>, command: string][] = [
  [{ epochs: 7 }, "--epochs=7 --rate=0.5"],
  [{ epochs: "7" }, "--epochs=7 --rate=0.5"],
  [{ rate: null }, "--epochs=5"],
  [{ rate: 1e-7 }, "--epochs=5 --rate=1e-7"],
  [{ spec: 1 }, "--epochs=5 --rate=0.5 --spec=1"],
  [{ layers: [1, "2"] }, "--epochs=5 --rate=0.5 --layers=1,2"],
  [{ layers: 3 }, "--epochs=5 --rate=0.5 --layers=3"],
  [{ layers: [] }, "--epochs=5 --rate=0.5"],
  [{ verbose: true }, "--epochs=5 --rate=0.5 --verbose"],
  [{ verbose: false }, "--epochs=5 --rate=0.5"],
  [{ constructor: "x" }, "--epochs=5 --rate=0.5 --constructor=x"],
];

Deno.test("launch: values in place of defaults", () => {
  for (const [parameters, expected] of given) {
    const { command } = launchStep(config, "train", { payloadInput: "labels", parameters });
    assertEquals(command, `prepare\ntrain ${expected}`);
  }
});

const failures: [step: string, options: LaunchOptions, message: string][] = [
  [
    "trian",
    {},
    'Cannot run step "trian": there is none of this name; found "train", "bare", ' +
    '"fetching", "demanding"',
  ],
  [
    "train",
    { payloadInput: "labels", parameters: { epoch: 1 } },
    'it has no parameter "epoch"; ' +
    'its parameters are "epochs", "rate", "spec", "layers", "verbose", "constructor"',
  ],
  [
    "train",
    { payloadInput: "lables" },
    'it has no input "lables"; its inputs are "labels", ' +
    '"notes"',
  ],
  ["demanding", { payloadInput: "x" }, 'it has no input "x"; its inputs are none'],
  ["bare", {}, 'its input "data" has no file'],
  ["train", {}, 'its input "labels" has default files, and files are not fetched by this version'],
  ["fetching", {}, 'its input "d" has default files'],
  ["demanding", {}, 'its parameter "p" has no value; its environment variable "KEY" has no value'],
  ["demanding", { parameters: { p: null } }, 'its parameter "p" has no value'],
];

const wrongValues: [parameters: Record<string, unknown>, problem: string][] = [
  [{ epochs: 1.5 }, "1.5 is not an integer"],
  [{ epochs: "x" }, '"x" is not an integer'],
  [{ epochs: "" }, '"" is not an integer'],
  [{ epochs: true }, "true is not an integer"],
  [{ epochs: [1] }, "it takes a single value, found a list"],
  [{ epochs: 0 }, "0 is less than the minimum 1"],
  [{ epochs: 11 }, "11 is greater than the maximum 10"],
  [{ rate: "fast" }, '"fast" is not a number'],
  [{ rate: "Infinity" }, '"Infinity" is not a number'],
  [{ spec: "b" }, '"b" is not among the choices ["a","1"]'],
  [{ spec: { a: 1 } }, '{"a":1} is not text'],
  [{ spec: "a\0" }, '"a\\u0000" is not text'],
  [{ layers: [1, 2.5] }, "2.5 is not an integer"],
  [{ layers: [[1]] }, "[1] is not an integer"],
  [{ verbose: "true" }, '"true" is not true or false'],
];

Deno.test("launch: what keeps a step from running is told, with the names there are", () => {
  const all = [
    ...failures,
    ...wrongValues.map(([parameters, problem]): [string, LaunchOptions, string] => [
      "train",
      { payloadInput: "labels", parameters },
      `its parameter "${Object.keys(parameters)}" cannot take this value: ${problem}`,
    ]),
  ];
  for (const [step, options, message] of all) {
    assertThrows(() => launchStep(config, step, options), ActionError, message);
  }
});
