/**
 * Launches of steps: what an execution is made of, and what keeps it from being made.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ActionError } from "../../src/platform/errors.ts";
import { type Launch, type LaunchOptions, launchStep } from "../../src/projects/launch.ts";
import type { InputFile } from "../../src/store/records/executions.ts";
import { findStep, readConfigFile } from "../../src/projects/format/config_file.ts";

const config = readConfigFile(
  `
- step:
    name: train
    image: busybox
    command: [prepare, "train {parameters}"]
    time-limit: 1m
    no-output-timeout: 5
    stop-condition: accuracy > parameter.epochs
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
- step:
    name: fetching
    image: i
    command: c
    resources: { cpu: { min: 1, max: 1.5 }, memory: { min: 64 } }
    autorestart: true
    environment-variables: [{ name: MODE, default: "1" }]
    parameters: [{ name: where, optional: true }]
    inputs:
      - { name: d, default: ["https://x.example/a/b%20c.csv?d=/e", "datum://1"], keep-directories: none }
      - { name: f, default: "{parameter:where}/g/h.csv", keep-directories: full, optional: true }
- step:
    name: mounting
    image: i
    command: c
    mounts: ["/a:/b"]
    resources: { devices: { nvidia.com/gpu: 1 } }
- step:
    name: demanding
    image: i
    command: c
    parameters: [{ name: p }, { name: q, optional: true }]
    environment-variables: [{ name: KEY, optional: false }]
- step:
    name: secret
    image: i
    command: echo {parameters}
    parameters: [{ name: p, optional: true, default: "{env:HOME}" }]
    environment-variables:
      - { name: TOKEN, default: "{secret:token}", optional: false }
      - { name: KEY, default: "{secret-file:key.pem}" }
      - { name: HOST, default: "{env:HOST}" }
      - { name: TEXT, default: "{secret}" }
`,
  "valohai.yaml",
);
const payload: InputFile = { name: "payload.json", payload_of: "run", size: 3 };
const labels = { labels: [payload] };

function launch(step: string, options?: LaunchOptions): Launch {
  return launchStep(findStep(config, step), options);
}

Deno.test("launch: defaults, limits and the payload's input", () => {
  assertEquals(launch("train", { inputs: labels }), {
    image: "busybox",
    command: "prepare\ntrain --epochs=5 --rate=0.5",
    inputs: { labels: [{ ...payload, name: "labels.csv" }] },
    parameters: { epochs: 5, rate: 0.5 },
    environment_variables: { MODE: "fast" },
    time_limit: 60,
    no_output_timeout: 5,
    stop_condition: "accuracy > parameter.epochs",
  });
  assertEquals(launch("bare", { inputs: { data: [payload] } }), {
    image: "busybox",
    command: "true",
    inputs: { data: [payload] },
    parameters: {},
    environment_variables: {},
  });
});

Deno.test("launch: secrets are named, and what a launch brings is text in their place", () => {
  const { secrets, environment_variables, command } = launch("secret");
  assertEquals(secrets, { TOKEN: { name: "token" }, KEY: { name: "key.pem", file: true } });
  assertEquals([environment_variables, command], [{ TEXT: "{secret}" }, "echo"]);
  const brought = { TOKEN: "{secret:other}", HOST: "{secret:token}" };
  const other = launch("secret", { environment_variables: brought });
  assertEquals(other.secrets, { KEY: { name: "key.pem", file: true } });
  assertEquals(other.environment_variables, { ...brought, TEXT: "{secret}" });
});

Deno.test("launch: what a step asks its engine for", () => {
  assertEquals(launch("mounting").mounts, [{ source: "/a", destination: "/b" }]);
  assertEquals(launch("mounting").resources, { devices: { "nvidia.com/gpu": 1 } });
});

Deno.test("launch: default files, resources, and that it may run again", () => {
  const files = [
    { name: "b c.csv", url: "https://x.example/a/b%20c.csv?d=/e" },
    { name: "file", url: "datum://1" },
  ];
  assertEquals(launch("fetching", { parameters: { where: "https://y.example" } }), {
    image: "i",
    command: "c",
    inputs: { d: files, f: [{ name: "g/h.csv", url: "https://y.example/g/h.csv" }] },
    parameters: { where: "https://y.example" },
    environment_variables: { MODE: "1" },
    resources: { cpu: 1.5, memory: 64 },
    rerun: true,
  });
  const environment_variables = { MODE: "0", OTHER: "x" };
  const other = launch("fetching", { inputs: { d: [payload] }, environment_variables });
  assertEquals(other.inputs.d, [payload]);
  assertEquals(other.environment_variables, environment_variables);
  const appended = launch("fetching", { inputs: { d: [payload] }, appended: new Set(["d"]) });
  assertEquals(appended.inputs.d, [...files, payload]);
});

Deno.test("launch: a default file of a parameter without a value is none", () => {
  const { steps } = readConfigFile(
    `- step:
    name: s
    image: i
    command: c
    parameters: [{ name: where, optional: true }]
    inputs:
      - { name: a, default: "s3://{parameter:where}/latest", optional: true }
      - { name: b, default: ["{parameter:where}", "{parameter:gone}", "https://x.example/c"] }
      - { name: c, default: "{parameter:where}" }
`,
    "valohai.yaml",
  );
  const step = steps.get("s");
  assert(step);
  const c = [payload];
  assertEquals(launchStep(step, { inputs: { c } }).inputs, {
    // Of a parameter that is not declared, the placeholder stays.
    b: [{ name: "file", url: "{parameter:gone}" }, { name: "c", url: "https://x.example/c" }],
    c,
  });
  assertThrows(() => launchStep(step), ActionError, 'its input "c" has no file');
  const { inputs } = launchStep(step, { parameters: { where: "y" } });
  assertEquals([inputs.a, inputs.c], [
    [{ name: "latest", url: "s3://y/latest" }],
    [{ name: "file", url: "y" }],
  ]);
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
  [{ constructor: true }, "--epochs=5 --rate=0.5 --constructor=True"],
  [{ verbose: true }, "--epochs=5 --rate=0.5 --verbose"],
  [{ verbose: false }, "--epochs=5 --rate=0.5"],
  [{ verbose: "yes" }, "--epochs=5 --rate=0.5 --verbose"],
  [{ verbose: "Off" }, "--epochs=5 --rate=0.5"],
  [{ constructor: "x" }, "--epochs=5 --rate=0.5 --constructor=x"],
];

Deno.test("launch: values in place of defaults", () => {
  for (const [parameters, expected] of given) {
    const { command } = launch("train", { inputs: labels, parameters });
    assertEquals(command, `prepare\ntrain ${expected}`);
  }
});

const failures: [step: string, options: LaunchOptions, message: string][] = [
  [
    "trian",
    {},
    'Cannot run step "trian": there is none of this name; found "train", "bare", ' +
    '"fetching", "mounting", "demanding", "secret"',
  ],
  [
    "train",
    { inputs: labels, parameters: { epoch: 1 } },
    'it has no parameter "epoch"; ' +
    'its parameters are "epochs", "rate", "spec", "layers", "verbose", "constructor"',
  ],
  [
    "train",
    { inputs: { lables: [payload] } },
    'it has no input "lables"; its inputs are "labels", ' +
    '"notes"',
  ],
  ["demanding", { inputs: { x: [payload] } }, 'it has no input "x"; its inputs are none'],
  ["bare", {}, 'its input "data" has no file'],
  ["demanding", {}, 'its parameter "p" has no value; its environment variable "KEY" has no value'],
  ["demanding", { parameters: { p: null } }, 'its parameter "p" has no value'],
  [
    "demanding",
    { parameters: { p: "" }, environment_variables: { KEY: "a\0" } },
    'Cannot run step "demanding": its environment variable "KEY" cannot take a value with NUL',
  ],
  [
    "demanding",
    { parameters: { p: "" }, environment_variables: { KEY: "", "A=1; id; B": "" } },
    'its environment variable "A=1; id; B" must have a name of letters, digits and underscores',
  ],
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
      { inputs: labels, parameters },
      `its parameter "${Object.keys(parameters)}" cannot take this value: ${problem}`,
    ]),
  ];
  for (const [step, options, message] of all) {
    assertThrows(() => launch(step, options), ActionError, message);
  }
});

Deno.test("launch: placeholders in URLs make no files that no memory holds", () => {
  const urls = `"file:///${"{parameter:p}".repeat(20)}"`;
  const text = `- step:
    name: s
    image: i
    command: c
    parameters: [{ name: p }]
    inputs: [{ name: d, default: [${Array(20).fill(urls)}] }]`;
  const step = findStep(readConfigFile(text, "valohai.yaml"), "s");
  assertThrows(
    () => launchStep(step, { parameters: { p: "z".repeat(100_000) } }),
    ActionError,
    "The placeholders of the step become more than 1048576 characters together",
  );
});
