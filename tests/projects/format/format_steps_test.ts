/**
 * The format's cases about steps, endpoints and tasks: each text is accepted, warned of or refused as
 * the format has it.
 *
 * @module
 */
import { type FormatCase, stepOf, testCases } from "./format_cases.ts";

const accepted: FormatCase[] = [
  {
    name: "2 endpoints with a command, WSGI, resources, a selector and tolerations",
    text: `
- endpoint: { name: server, image: python, port: 1453, server-command: python serve.py }
- endpoint:
    name: app-2
    description: guesses digits
    image: python
    wsgi: app:handler
    files: [{ name: model, path: model.pb, description: weights }]
- endpoint:
    name: limited
    image: python
    server-command: [python serve.py]
    resources: { cpu: { min: 0.1, max: 1 }, memory: { max: 100 }, devices: { nvidia.com/gpu: 1 } }
    node-selector: accelerator=v100
    tolerations: [{ key: k, operator: Equal, value: v, effect: NoSchedule }, { operator: Exists }]
`,
  },
  {
    name: "endpoints with volumes of their own and shared ones",
    text: `
- endpoint:
    name: volumes
    image: python
    wsgi: app:handler
    workspace-volume: { size: 10, mount-path: /cache, storage-class-name: fast-ssd }
    shared-volumes:
      - { pvc-name: models, mount-path: /models, sub-path: digits, read-only: true }
      - { pvc-name: logs, mount-path: /logs }
`,
  },
  {
    name: "3 groups of environment variables",
    text: stepOf("s", "environment-variable-groups: [common, secrets]"),
  },
  {
    name: "4 a step with inputs, outputs, mounts and typed parameters",
    text: `---
- step:
    name: run training
    image: busybox
    environment: a-large-machine
    command: python train.py {parameters}
    environment-variables: [{ name: MODE, default: fast, description: how, optional: false }]
    inputs: [{ name: images, default: "https://example.com/i.gz", description: the images }]
    outputs: [{ name: model }]
    mounts: [{ destination: /data, source: /mnt/data }]
    parameters:
      - { name: max_steps, pass-as: "--max_steps={v}", type: integer, default: 300 }
      - { name: rate, pass-as: "--rate={v}", type: float, default: 0.001, min: 0, max: 1 }
      - { name: decoder, choices: [a, b], optional: true }
`,
  },
  {
    name: "5 a step of many commands",
    text: "- step:\n    name: s\n    image: busybox\n    command: [apt update, make -j4, ./run]\n",
  },
  { name: "6 a step of one command and nothing else", text: stepOf("s") },
  {
    name: "7 a flag",
    text: stepOf("s", "parameters: [{ name: loud, type: flag, default: true }]"),
  },
  {
    name: "8 a flag that is passed as something",
    text: stepOf(
      "s",
      "parameters: [{ name: a, type: flag, pass-as: -a }, " +
        "{ name: b, type: flag, pass-true-as: -b, pass-false-as: -n }]",
    ),
  },
  {
    name: "9 inputs that keep folders, have a name, or wait until they are asked for",
    text: stepOf(
      "s",
      "inputs: [{ name: a, keep-directories: true }, { name: b, keep-directories: suffix }, " +
        "{ name: c, filename: c.csv, download: on-demand }, { name: d, default: [x, y] }]",
    ),
  },
  {
    name: "YAML 1.1's words for true and false, where the format has one of these",
    text: stepOf(
      "s",
      "autorestart: no, parameters: [{ name: a, optional: yes }], mounts: [{ source: /a, " +
        "destination: /b, readonly: Yes }], environment-variables: [{ name: A, optional: off }], " +
        "inputs: [{ name: i, optional: ON, keep-directories: no }]",
    ),
  },
  {
    name: "10 parts in an order of their own",
    text: stepOf("s", "parameters: [{ name: z }, { name: a }], inputs: [{ name: y }, { name: b }]"),
  },
  {
    name: "11 mounts in both forms",
    text: stepOf(
      "s",
      "mounts: [/a:/b, { source: host:/x, destination: /x, type: nfs, readonly: true, " +
        "options: { hot: 1 } }]",
    ),
  },
  {
    name: "12 parameters of several values",
    text: stepOf(
      "s",
      "parameters: [{ name: a, multiple: repeat, default: [x, y] }, " +
        "{ name: b, type: integer, multiple: separate, multiple-separator: ';', default: [1, 2] }]",
    ),
  },
  {
    name: "13 a default that may be left out",
    text: stepOf("s", "parameters: [{ name: a, default: x, optional: true }]"),
  },
  {
    name: "26 a command that names its interpreter",
    text: "- step:\n    name: s\n    image: busybox\n    command:\n      - |\n" +
      "        #!/usr/bin/env python3\n        print(1)\n",
  },
  { name: "27 cache volumes", text: stepOf("s", "cache-volumes: [pvc-1, pvc-2]") },
  {
    name: "28 some resources",
    text: stepOf("s", "resources: { cpu: { max: 1 }, devices: { nvidia.com/gpu: 1 } }"),
  },
  {
    name: "29 a preset beside its environment",
    text: stepOf("s", "environment: large, runtime-config-preset: gpu"),
  },
  {
    name: "30 all resources",
    text: stepOf("s", "resources: { cpu: { min: 1, max: 2 }, memory: { min: 3, max: 4 } }"),
  },
  {
    name: "31 tasks of every type, however the type is written",
    text: stepOf("s", "parameters: [{ name: A, type: integer }]") + `
- task: { name: a, step: s, type: bayesian_tpe, engine: e, parameters: [{ name: A, style: single, rules: { value: 2 } }] }
- task: { name: b, step: s, type: manual-search, parameter-sets: [{ A: 1 }, { A: 2 }] }
- task: { name: c, step: s, parameters: [{ name: A, style: multiple, rules: { items: [1, "2", true] } }] }
- task:
    name: d
    step: s
    type: RANDOM-SEARCH
    description: many
    execution-count: 420
    execution-batch-size: 42
    maximum-queued-executions: 2
    on-child-error: stop-all-and-error
    reuse-children: true
    parameters:
      - { name: A, style: random, rules: { min: 1, max: 25, count: 10, distribution: uniform, integerify: false } }
- task: { name: e, step: s, type: distributed, parameters: [] }
`,
  },
  {
    name: "32 limits of time as numbers and as words",
    text: stepOf("a", "time-limit: 3600, no-output-timeout: 1h 30m 5s") +
      stepOf("b", 'time-limit: 2 hours, no-output-timeout: "90"'),
  },
  {
    name: "34 names of endpoints",
    text:
      "- endpoint: { name: a-1, image: i, wsgi: w }\n- endpoint: { name: ab, image: i, wsgi: w }\n",
  },
  { name: "35 a step that stops on a condition", text: stepOf("s", "stop-condition: loss < .1") },
  {
    name: "36 a task that stops on a condition",
    text: stepOf("s") + "- task: { name: t, step: s, parameters: [], stop-condition: stop > 1 }\n",
  },
];

const warned: FormatCase[] = [
  {
    name: "defaults that name a variable or a file of the service, and secrets in other places",
    text: stepOf(
      "s",
      'environment-variables: [{ name: A, default: "{env:HOME}" }, { name: B, default: "x{secret:b}" }], ' +
        'parameters: [{ name: c, default: "{file:/etc/passwd}" }, { name: d, default: "{secret:d}" }]',
    ),
    warnings: [
      ["/0/step/environment-variables/0/default", "Left out, so there is no default: {env:HOME}"],
      ["/0/step/environment-variables/1/default", "Stays as it is"],
      ["/0/step/parameters/0/default", "Left out, so there is no default: {file:/etc/passwd}"],
      ["/0/step/parameters/1/default", "{secret:d} belongs in an environment variable"],
    ],
  },
  {
    name: "37 two steps of one name",
    text: stepOf("s") + stepOf("s"),
    warnings: [["/1/step/name", 'Another step above has the name "s"']],
  },
  {
    name: "38 a flag that says it is optional",
    text: stepOf("s", "parameters: [{ name: a, type: flag, optional: true }]"),
    warnings: [["/0/step/parameters/0/optional", "a flag is always optional"]],
  },
  {
    name: "39 a default that is no number",
    text: stepOf(
      "s",
      "parameters: [{ name: a, type: integer, multiple: repeat, default: [zoom] }]",
    ),
    warnings: [["/0/step/parameters/0/default", 'The default "zoom" is not an integer']],
  },
  {
    name: "40 a default that is too large",
    text: stepOf("s", "parameters: [{ name: a, type: integer, max: 100, default: 1337 }]"),
    warnings: [["/0/step/parameters/0/default", "1337 is greater than the maximum 100"]],
  },
  {
    name: "41 a default without quotes that is no text",
    text: stepOf("s", "parameters: [{ name: a, default: 2020.10 }]"),
    warnings: [["/0/step/parameters/0/default", "2020.1 is not text: put it in quotes"]],
  },
  {
    name: "41 a moment without quotes, which YAML 1.2 has as text",
    text: stepOf("s", "parameters: [{ name: a, default: 2020-09-02T00:00:00Z }]"),
  },
  {
    name: "42 fields of a task that its type has no use for",
    text: `- task:
    name: t
    step: none of this name
    type: grid-search
    parameters: []
    optimization-target-metric: goodness
    optimization-target-value: 7.2
    parameter-sets: [{ A: 1 }]
`,
    warnings: [
      ["/0/task/optimization-target-metric", "for tasks of type bayesian_tpe"],
      ["/0/task/optimization-target-value", "for tasks of type bayesian_tpe"],
      ["/0/task/parameter-sets", "only a task of type manual_search"],
    ],
  },
  {
    name: "tasks and endpoints of one name",
    text: "- endpoint: { name: ab, image: i, wsgi: w }\n".repeat(2) +
      "- task: { name: t, step: s, parameters: [] }\n".repeat(2),
    warnings: [
      ["/1/endpoint/name", 'Another endpoint above has the name "ab"'],
      ["/3/task/name", 'Another task above has the name "t"'],
    ],
  },
];

const refused: FormatCase[] = [
  {
    name: "45 names that no endpoint may have",
    text: ["Server", "3-server", "server@home", "wsgi_endpoint"].map((name) =>
      `- endpoint: { name: "${name}", image: i, wsgi: w }\n`
    ).join(""),
    problems: [0, 1, 2, 3].map((
      index,
    ) => [`/${index}/endpoint/name`, "Expected lower-case letters"]),
  },
  {
    name: "46 an input's name that is too long",
    text: stepOf("s", `inputs: [{ name: ${"x".repeat(65)} }]`),
    problems: [["/0/step/inputs/0/name", "Expected at most 64 characters"]],
  },
  {
    name: "47 indentation that is no YAML",
    text: "- step:\n  name: outdented\n    image: busybox\n    command: date\n",
    problems: [["", "the lines here may be indented unevenly"]],
  },
  {
    name: "47 a tab for indentation",
    text: "- step:\n\tname: outdented\n",
    problems: [["", "the lines here may be indented unevenly"]],
  },
  {
    name: "49 indentation that is YAML by chance, for every kind of item",
    text: ["step", "pipeline", "blueprint", "endpoint", "task"].map((kind) =>
      `- ${kind}:\n  name: outdented\n  image: busybox\n`
    ).join(""),
    problems: ["step", "pipeline", "blueprint", "endpoint", "task"].map((kind, index) => [
      `/${index}/${kind}`,
      "Expected an object, found nothing: the fields below may need more indentation",
    ]),
  },
  {
    name: "54 a store's name that is too long",
    text: stepOf("s", `upload-store: ${"x".repeat(65)}`),
    problems: [["/0/step/upload-store", "Expected at most 64 characters"]],
  },
  {
    name: "56 resources that are no numbers",
    text: stepOf("s", "resources: { cpu: { min: Not a number } }"),
    problems: [["/0/step/resources/cpu/min", 'Expected a number, found "Not a number"']],
  },
  {
    name: "words that are no booleans",
    text: stepOf("s", "autorestart: yEs, inputs: [{ name: i, optional: y, keep-directories: n }]"),
    problems: [
      ["/0/step/autorestart", 'Expected a boolean, found "yEs"'],
      ["/0/step/inputs/0/optional", 'Expected a boolean, found "y"'],
      ["/0/step/inputs/0/keep-directories", 'Expected true, false, "none"'],
    ],
  },
  {
    name: "57 steps that lack what they need",
    text: "- step:\n    image: true\n- step:\n    name: b\n    image: busybox\n    command: 8\n",
    problems: [
      ["/0/step/name", "Expected a string, found nothing"],
      ["/0/step/command", "Expected a string or an array, found nothing"],
      ["/0/step/image", "Expected a string, found true"],
      ["/1/step/command", "Expected a string or an array, found 8"],
    ],
  },
  {
    name: "58 a preset without an environment",
    text: stepOf("s", "runtime-config-preset: gpu"),
    problems: [["/0/step/runtime-config-preset", "Expected an environment beside the preset"]],
  },
  {
    name: "59 a step's condition that is none",
    text: stepOf("s", "stop-condition: stop when you can"),
    problems: [["/0/step/stop-condition", 'at character 6: expected an operator, "and", "or"']],
  },
  {
    name: "60 tasks that lack what they need",
    text: stepOf("s") + `
- task:
    step: s
    parameters:
      - name: A
        style: single
        rules:
- task:
    step: s
    name: b
    parameters:
      - name:
        rules: {}
- task:
    name: c
    parameters:
      - { name: A, style: logspace, rules: { base: 10 } }
- task:
    step: s
    name: d
    parameters:
      - rules: { min: 1 }
`,
    problems: [
      ["/1/task/name", "Expected a string, found nothing"],
      ["/1/task/parameters/0/rules", "Expected an object, found null"],
      ["/2/task/parameters/0/name", "Expected a string, found null"],
      ["/2/task/parameters/0/style", 'Expected one of "linear"'],
      ["/3/task/step", "Expected a string, found nothing"],
      ["/4/task/parameters/0/name", "Expected a string, found nothing"],
      ["/4/task/parameters/0/style", 'Expected one of "linear"'],
    ],
  },
  {
    name: "61 a task's condition that is none",
    text: stepOf("s") +
      `- task: { name: t, step: s, parameters: [], stop-condition: "can't stop" }\n`,
    problems: [["/1/task/stop-condition", "expected the closing ', found the end"]],
  },
  {
    name: "volumes of endpoints that cannot be",
    text: `
- endpoint:
    { name: ab, image: i, wsgi: w, workspace-volume: { size: 0.5, mount-path: /a },
      shared-volumes: [{ pvc-name: a, mount-path: a, sub-path: /a }] }
- endpoint:
    { name: cd, image: i, wsgi: w, workspace-volume: { size: 1, mount-path: /a }, shared-volumes: [
      { pvc-name: a, mount-path: /a }, { pvc-name: b, mount-path: /b }, { pvc-name: c, mount-path: /b }
      ] }
`,
    problems: [
      ["/0/endpoint/workspace-volume/size", "Expected a whole number, found 0.5"],
      ["/0/endpoint/shared-volumes/0/mount-path", 'Expected an absolute path, found "a"'],
      ["/0/endpoint/shared-volumes/0/sub-path", 'Expected a relative path, found "/a"'],
      ["/1/endpoint/shared-volumes/0/mount-path", 'no other volume is mounted at, found "/a"'],
      ["/1/endpoint/shared-volumes/2/mount-path", 'no other volume is mounted at, found "/b"'],
    ],
  },
  {
    name: "endpoints and tasks that cannot be",
    text: `
- endpoint: { name: ab, image: i }
- endpoint: { name: ab, image: i, wsgi: w, server-command: c, port: 80, node-selector: gpu }
- endpoint: { name: ab, image: i, wsgi: w, tolerations: [{ operator: Equal }], ports: 1 }
- task: { name: t, step: s, type: guess, on-child-error: cry }
`,
    problems: [
      ["/0/endpoint", "Expected one of server-command and wsgi, found nothing"],
      ["/1/endpoint", "Expected one of server-command and wsgi, found a list"],
      ["/1/endpoint/port", "Expected a number of at least 1025, found 80"],
      ["/1/endpoint/node-selector", "Expected a selector"],
      ["/2/endpoint/tolerations/0/operator", "Expected a key"],
      ["/2/endpoint/ports", 'Unknown field "ports"'],
      ["/3/task/parameters", "Expected parameters or parameter-sets, found nothing"],
      ["/3/task/type", 'Expected one of "grid_search"'],
      ["/3/task/on-child-error", 'Expected one of "continue-and-complete"'],
    ],
  },
];

testCases([...accepted, ...warned, ...refused]);
