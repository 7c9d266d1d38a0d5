/**
 * The format's cases about pipelines: each text is accepted, warned of or refused as the format has it.
 *
 * @module
 */
import { type FormatCase, nodeOf, pipelineOf, stepOf, testCases } from "./format_cases.ts";

const withParts = stepOf(
  "s",
  "inputs: [{ name: i }, { name: j, default: x }], " +
    "parameters: [{ name: a, default: x }, { name: b, optional: true }]",
);

const accepted: FormatCase[] = [
  ...["1", "33"].map((number) => ({
    name: `${number} how files of edges and of the step come together`,
    text: stepOf("s") + pipelineOf([
      nodeOf("a"),
      nodeOf("b", "s", "edge-merge-mode: replace"),
      nodeOf("c", "s", "edge-merge-mode: append"),
    ]),
  })),
  {
    name: "14 edges into a deployment and out of it",
    text: withParts + "- endpoint: { name: digits, image: i, wsgi: w }\n" + pipelineOf([
      nodeOf("train"),
      "{ name: deploy, type: deployment, deployment: d, endpoints: [digits], aliases: [new] }",
      nodeOf("clean"),
    ], [
      "[train.output.model, deploy.file.digits.model]",
      "[deploy.deployment.id, clean.parameter.a]",
    ]),
  },
  {
    name: "15 edges of every type",
    text: withParts + pipelineOf([nodeOf("a"), nodeOf("b"), nodeOf("c")], [
      "[a.environment-variable.V, b.environment-variable.V]",
      "[a.output.model*, b.input.i]",
      "[a.input.j, b.input.j]",
      "[a.parameter.a, b.parameter.a]",
      "[a.metadata.best.rate, b.parameter.b]",
      "[b.dependency.*, c.dependency.*]",
    ]),
  },
  {
    name: "16 edges as objects, parameters that no step declares, actions in every form",
    text: withParts + pipelineOf([
      nodeOf(
        "a",
        "s",
        "actions: [{ when: node-complete, if: metadata.accuracy < .8, " +
          "then: stop-pipeline }]",
      ),
      nodeOf(
        "b",
        "s",
        "actions: [{ when: node-complete, then: [noop, noop] }, " +
          "{ when: [node-starting, node-complete], if: [x, y, z], then: error-pipeline }]",
      ),
    ], [
      "{ source: a.output.model.pb, target: b.input.i, configuration: { hello: world } }",
      "[a.parameter.unheard-of, b.parameter.unheard-of]",
    ], "reuse-executions: true"),
    warnings: [["/1/pipeline/edges/1/0", 'names the parameter "unheard-of" of node "a"']],
  },
  {
    name: "17 a node that is tried again",
    text: stepOf("s") + pipelineOf([nodeOf("a", "s", "on-error: retry")]),
  },
  {
    name: "18 deployments with defaults",
    text: "- deployment: { name: d, defaults: { target: a-cluster } }\n" +
      pipelineOf(["{ name: a, type: deployment, deployment: d, on-error: stop-next }"]),
  },
  {
    name: "19 nodes of another commit, of whose steps nothing is known",
    text: pipelineOf(
      [
        nodeOf("a", "elsewhere", 'commit: "library:x/y", override: { inputs: [{ name: z }] }'),
        '{ name: b, type: task, commit: "1240727603076510911526043033166", step: elsewhere }',
      ],
      ["[a.output.*, b.input.anything]"],
      "parameters: [{ name: p, target: a.parameter.q }]",
    ),
  },
  {
    name: "20 overrides of inputs, parameters, the image and the command",
    text: withParts + pipelineOf([
      nodeOf(
        "a",
        "s",
        "override: { image: other, command: [other], inputs: [{ name: i, " +
          "default: [x, y], optional: true }], parameters: [{ name: a, default: z }, { name: b }], " +
          "environment-variables: [{ name: NEW, default: v }], mounts: [/a:/b] }",
      ),
      nodeOf("b", "s", "override: {}"),
    ]),
  },
  {
    name: "21 an override that brings preset and environment",
    text: stepOf("s") +
      pipelineOf([nodeOf("a", "s", "override: { environment: e, runtime-config-preset: p }")]),
  },
  {
    name: "22 parameters with targets in every form",
    text:
      stepOf("s", "parameters: [{ name: id }, { name: list, multiple: repeat, optional: true }]") +
      pipelineOf(
        [nodeOf("a"), nodeOf("b")],
        [],
        "parameters:\n" +
          "      - { name: p, targets: [a.parameter.id, b.parameter.id], default: 123, category: c }\n" +
          "      - { name: q, targets: a.parameter.id, description: of one }\n" +
          "      - { name: r, target: a.parameter.id, default: 0 }\n" +
          "      - { name: t, targets: [a.parameter.list], default: [x, y] }",
      ),
  },
  {
    name: "23 an override of a preset that the step has",
    text: stepOf("s", "environment: e, runtime-config-preset: p") +
      pipelineOf([nodeOf("a", "s", "override: { environment: f, runtime-config-preset: q }")]),
  },
  {
    name: "24 a node that runs a task",
    text: withParts + pipelineOf(
      [nodeOf("a"), "{ name: b, type: task, task: t, override: { inputs: [{ name: i }] } }"],
      ["[a.output.*, b.input.i]"],
    ) + "- task: { name: t, step: s, parameters: [] }\n",
  },
  {
    name: "25 tasks of a step, with all that may follow an error",
    text: withParts + pipelineOf(
      ["continue", "stop-next", "stop-all", "retry"].map((onError) =>
        `{ name: ${onError}, type: task, step: s, on-error: ${onError} }`
      ),
    ),
  },
];

const warned: FormatCase[] = [
  {
    name: "44 a parameter without targets",
    text: withParts + pipelineOf([nodeOf("a")], [], "parameters: [{ name: p, default: 1 }]"),
    warnings: [["/1/pipeline/parameters/0", "Has no effect: no targets"]],
  },
  {
    name: "values that nodes need and nothing gives, and those that an edge or the like does",
    text: stepOf(
      "s",
      "parameters: [{ name: n }, { name: f, type: flag }, { name: o, optional: true }], " +
        "environment-variables: [{ name: E, optional: false }, { name: O }]",
    ) + pipelineOf(
      [
        nodeOf("a"),
        nodeOf("b"),
        nodeOf("c", "s", "override: { parameters: [{ name: n, default: x }] }"),
        nodeOf("d", "s", "override: { environment-variables: [{ name: E, default: x }] }"),
        "{ name: t, type: task, step: s }",
        nodeOf("e", "elsewhere", "commit: main"),
        nodeOf(
          "f",
          "s",
          "override: { parameters: [{ name: n, default: x }], " +
            "environment-variables: [{ name: E, optional: yes }, { name: O, optional: no }] }",
        ),
      ],
      ["[a.parameter.n, b.parameter.n]", "[a.metadata.E, b.environment-variable.E]"],
      "parameters: [{ name: n, target: d.parameter.n }]",
    ),
    warnings: [
      ["/1/pipeline/nodes/0", 'Cannot be launched: nothing sets its parameter "n"'],
      ["/1/pipeline/nodes/0", 'nothing sets its environment variable "E"'],
      ["/1/pipeline/nodes/2", 'nothing sets its environment variable "E"'],
      ["/1/pipeline/nodes/6", 'nothing sets its environment variable "O"'],
    ],
  },
  {
    name: "defaults of parameters that their targets cannot take, but a task or an override can",
    text: stepOf("s", "parameters: [{ name: n, type: integer }]") + pipelineOf(
      [
        nodeOf("a"),
        nodeOf("b", "s", "override: { parameters: [{ name: n, multiple: repeat }] }"),
        "{ name: t, type: task, step: s }",
      ],
      [],
      `parameters:
      - { name: one, default: x, targets: [t.parameter.n, a.parameter.n, b.parameter.n] }
      - { name: list, default: [1, 2], targets: [t.parameter.n, b.parameter.n] }
      - { name: lists, default: [1, 2], target: a.parameter.n }
      - { name: text, default: "1", target: a.parameter.n }
      - { name: none, default: null, target: a.parameter.n }`,
    ),
    warnings: [
      [
        "/1/pipeline/parameters/0/default",
        'The parameter "n" of node "a" cannot take it: "x" is not an integer',
      ],
      ["/1/pipeline/parameters/2/default", "it takes a single value, found a list"],
    ],
  },
  {
    name: "pipelines, and parameters of one, of one name",
    text: withParts +
      pipelineOf(
        [nodeOf("a")],
        [],
        "parameters: [{ name: p, target: a.parameter.a }, " +
          "{ name: p, target: a.parameter.b }]",
      ) + pipelineOf([]),
    warnings: [
      ["/1/pipeline/parameters/1/name", 'Another item above has the name "p"'],
      ["/2/pipeline/name", 'Another pipeline above has the name "p"'],
    ],
  },
  {
    name: "moments and effects that there are not",
    text: stepOf("s") + pipelineOf([
      nodeOf("a", "s", "actions: [{ when: node-asleep, then: [noop, sing] }]"),
    ]),
    warnings: [
      [
        "/1/pipeline/nodes/0/actions/0/when",
        'Cannot be launched: unknown value "node-asleep" in `when`',
      ],
      ["/1/pipeline/nodes/0/actions/0/then", 'Cannot be launched: unknown value "sing" in `then`'],
    ],
  },
  {
    name: "an override's default that its parameter cannot have",
    text: stepOf("s", "parameters: [{ name: n, type: integer, max: 9, default: 10 }]") +
      pipelineOf([nodeOf("a", "s", "override: { parameters: [{ name: n, default: 11 }] }")]) +
      pipelineOf([nodeOf("a", "s", "override: { parameters: [{ name: n, optional: true }] }")])
        .replace("name: p", "name: q"),
    warnings: [
      ["/0/step/parameters/0/default", "10 is greater than the maximum 9"],
      ["/1/pipeline/nodes/0/override/parameters/0/default", "11 is greater than the maximum 9"],
    ],
  },
];

const refused: FormatCase[] = [
  {
    name: "43 a field that no override has",
    text: withParts + pipelineOf([nodeOf("a", "s", "override: { i: s3://b/c }")]),
    problems: [
      ["/1/pipeline/nodes/0/override/i", "it may belong below inputs or parameters"],
    ],
  },
  {
    name: "48 an edge's end of two parts",
    text: withParts + pipelineOf([nodeOf("a"), nodeOf("b")], ["[a.output.x, b.input]"]),
    problems: [["/1/pipeline/edges/0/1", 'Expected "node.type.key", found "b.input"']],
  },
  {
    name: "50 what cannot follow an error",
    text: stepOf("s") + pipelineOf([
      "{ name: a, type: task, step: s, on-error: tell-someone }",
      "{ name: b, type: deployment, deployment: d, on-error: retry }",
    ]),
    problems: [
      ["/1/pipeline/nodes/0/on-error", 'Expected one of "stop-all", "stop-next", "continue"'],
      ["/1/pipeline/nodes/1/on-error", 'found "retry"'],
    ],
  },
  {
    name: "51 an override of what the step has not, and a step that there is not",
    text: withParts + pipelineOf([
      nodeOf(
        "a",
        "s",
        "override: { inputs: [{ name: i }, { name: x }], parameters: " +
          "[{ name: a }, { name: y }] }",
      ),
      nodeOf("b", "t", "override: { inputs: [{ name: i }] }"),
    ]),
    problems: [
      ["/1/pipeline/nodes/0/override/inputs/1/name", 'which are "i", "j"; found "x"'],
      ["/1/pipeline/nodes/0/override/parameters/1/name", 'which are "a", "b"; found "y"'],
      ["/1/pipeline/nodes/1/step", 'Expected the name of a step, found "t"; known are "s"'],
    ],
  },
  {
    name: "52 an edge of one end",
    text: withParts + pipelineOf([nodeOf("a")], ["[a.input.i]"]),
    problems: [["/1/pipeline/edges/0", "Expected two ends, as in [source, target]"]],
  },
  {
    name: "53 a task that there is not, and one whose step there is not",
    text: "- task: { name: t, step: gone, parameters: [] }\n" +
      pipelineOf(["{ name: a, type: task, task: u }", "{ name: b, type: task, task: t }"]),
    problems: [
      ["/1/pipeline/nodes/0/task", 'Expected the name of a task, found "u"; known are "t"'],
      ["/1/pipeline/nodes/1/task", 'The task "t" runs step "gone", which does not exist'],
    ],
  },
  {
    name: "55 an override with a preset and no environment of its own",
    text: stepOf("s", "environment: e, runtime-config-preset: p") +
      pipelineOf([nodeOf("a", "s", "override: { runtime-config-preset: q }")]),
    problems: [
      ["/1/pipeline/nodes/0/override/runtime-config-preset", "in the override itself"],
    ],
  },
  {
    name: "62 a way of coming together that there is not",
    text: stepOf("s") + pipelineOf([nodeOf("a", "s", "edge-merge-mode: mix")]),
    problems: [
      ["/1/pipeline/nodes/0/edge-merge-mode", 'Expected one of "replace", "append", found "mix"'],
    ],
  },
  {
    name: "an override that does not fit the parameter below it",
    text: stepOf("s", "parameters: [{ name: l, multiple: repeat }, { name: f, type: flag }]") +
      pipelineOf([
        nodeOf("a", "s", "override: { parameters: [{ name: l, default: [x, y] }] }"),
        nodeOf(
          "b",
          "s",
          "override: { parameters: [{ name: l, multiple: none, default: [x] }, " +
            "{ name: f, multiple: repeat }] }",
        ),
      ]),
    problems: [
      ["/1/pipeline/nodes/1/override/parameters/0/default", "Expected a single value"],
      ["/1/pipeline/nodes/1/override/parameters/1/multiple", "Expected a flag to have no multiple"],
    ],
  },
  {
    name: "conditions that are none",
    text: stepOf("s") + pipelineOf([
      nodeOf(
        "a",
        "s",
        "actions: [{ when: node-complete, if: metadata.a <, then: noop }, " +
          "{ when: node-complete, if: [a, b c, 7], then: noop }]",
      ),
    ]),
    problems: [
      ["/1/pipeline/nodes/0/actions/0/if", "expected a name, a number, a text in quotes"],
      ["/1/pipeline/nodes/0/actions/1/if/1", 'at character 3: expected an operator, "and", "or"'],
      ["/1/pipeline/nodes/0/actions/1/if/2", "Expected a string, found 7"],
    ],
  },
  {
    name: "all that is wrong with several parts, and nothing that only follows from it",
    text: "- step: { name: s, image: busybox }\n" + pipelineOf([
      "{ name: a, type: execution }",
      nodeOf("b", "s", "override: { inputs: [{ name: i }] }"),
      nodeOf("c", "none"),
    ], ["[a.output.x, b.input.i]", "[a.output.x, d.input.i]", "{ source: a.b.c, goal: x }"]) +
      pipelineOf(["7"]).replace(
        "name: p",
        "parameters: [{ target: 7 }, { name: x, target: a.b.c, " +
          "targets: [] }]",
      ),
    problems: [
      ["/0/step/command", "found nothing"],
      ["/1/pipeline/nodes/0/step", "Expected a string, found nothing"],
      ["/1/pipeline/nodes/2/step", 'found "none"'],
      ["/1/pipeline/edges/1/1", 'Expected the name of a node, found "d"; known are "a", "b", "c"'],
      ["/1/pipeline/edges/2/target", "Expected a string, found nothing"],
      ["/1/pipeline/edges/2/source", "with one of the types dependency, deployment"],
      ["/1/pipeline/edges/2/goal", 'Unknown field "goal"'],
      ["/2/pipeline/name", "Expected a string, found nothing"],
      ["/2/pipeline/parameters/0/name", "Expected a string, found nothing"],
      ["/2/pipeline/parameters/0/target", "Expected a string, found 7"],
      ["/2/pipeline/parameters/1/target", "Expected a parameter of a node"],
      ["/2/pipeline/nodes/0", "Expected an object, found 7"],
    ],
  },
];

testCases([...accepted, ...warned, ...refused]);
