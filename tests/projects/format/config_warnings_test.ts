/**
 * The project configuration file: what is only warned of, and what a field's value may look like.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { readConfigFile } from "../../../src/projects/format/config_file.ts";

/** A step with one more field. */
function stepWith(lines: string): string {
  return `- step:\n    name: a\n    image: b\n    command: c\n${lines}`;
}

const warned: { name: string; text: string; warnings: string[] }[] = [
  {
    name: "an unknown item",
    text: `${stepWith("")}- steps: {}\n`,
    warnings: ['/1/steps line 5, column 3: Unknown item "steps": it is ignored'],
  },
  {
    name: "steps, inputs and parameters of one name",
    text: stepWith("    inputs: [{ name: i }, { name: i }]\n") + stepWith(""),
    warnings: [
      "/0/step/inputs/1/name line 5, column 29: " +
      'Another item above has the name "i": this one replaces it',
      '/1/step/name line 7, column 5: Another step above has the name "a": ' +
      "this one replaces it",
    ],
  },
  {
    name: "what has no effect on a flag, and on what is none",
    text: stepWith(
      "    parameters:\n" +
        "      - { name: f, type: flag, optional: true, pass-as: -f, pass-true-as: -t }\n" +
        "      - { name: p, pass-false-as: -n }\n",
    ),
    warnings: [
      "/0/step/parameters/0/optional line 6, column 32: Has no effect: a flag is always optional",
      "/0/step/parameters/0/pass-as line 6, column 48: " +
      "Has no effect beside pass-true-as and pass-false-as",
      "/0/step/parameters/1/pass-false-as line 7, column 20: " +
      "Has no effect: the parameter is not a flag",
    ],
  },
  {
    name: "what stands for nothing in how a parameter is passed",
    text: stepWith(
      "    parameters:\n" +
        "      - { name: p, pass-as: '--{nam}={v}' }\n" +
        "      - { name: f, type: flag, pass-true-as: '{v:.2f}', pass-false-as: '{{no}}{name}' }\n" +
        "      - { name: q, pass-as: '{name}={{{value}}}' }\n",
    ),
    warnings: [
      "/0/step/parameters/0/pass-as line 6, column 20: Not a placeholder, so it stays as it is: " +
      "{nam}; known are {name}, {value}, {v}",
      "/0/step/parameters/1/pass-true-as line 7, column 32: Not a placeholder, so it stays as " +
      "it is: {v:.2f}; known are {name}, {value}, {v}",
    ],
  },
  {
    name: "defaults that do not hold what is declared",
    text: stepWith(
      "    parameters:\n" +
        "      - { name: i, type: integer, default: zoom }\n" +
        "      - { name: m, type: integer, max: 100, default: 1337 }\n" +
        "      - { name: s, default: 1.10 }\n" +
        "      - { name: c, default: x, choices: [a, b] }\n" +
        "      - { name: f, type: flag, default: yes }\n" +
        "      - { name: g, type: flag, default: ja }\n",
    ),
    warnings: [
      '/0/step/parameters/0/default line 6, column 35: The default "zoom" is not an integer',
      "/0/step/parameters/1/default line 7, column 45: " +
      "The default 1337 is greater than the maximum 100",
      "/0/step/parameters/2/default line 8, column 20: " +
      "The default 1.1 is not text: put it in quotes",
      "/0/step/parameters/3/default line 9, column 20: " +
      'The default "x" is not among the choices ["a","b"]',
      '/0/step/parameters/5/default line 11, column 32: The default "ja" is not true or false',
    ],
  },
  {
    name: "what looks like a placeholder and is none",
    text: stepWith(
      "    parameters: [{ name: lr, default: a }]\n" +
        "    inputs: [{ name: i, default: ['{parameter:lr}{parameter:rl}', '{parameter-value:lr}'] }]\n",
    ).replace("command: c", "command: ['{parameter:rl} {parameters.lr}', '{parameter-value[lr]}']"),
    warnings: [
      "/0/step/command/0 line 4, column 15: " +
      'There is no parameter "rl", so it stays as it is: {parameter:rl}',
      "/0/step/command/0 line 4, column 15: Not a placeholder, so it stays as it is: " +
      "{parameters.lr}; expected {parameter:lr} or {parameter-value:lr}",
      "/0/step/command/1 line 4, column 49: Not a placeholder, so it stays as it is: " +
      "{parameter-value[lr]}; expected {parameter:lr} or {parameter-value:lr}",
      "/0/step/inputs/0/default/0 line 6, column 35: " +
      'There is no parameter "rl", so it stays as it is: {parameter:rl}',
      "/0/step/inputs/0/default/1 line 6, column 67: Not a placeholder, so it stays as it is: " +
      "{parameter-value:lr}; expected {parameter:lr}",
    ],
  },
  {
    name: "what an override's texts have, and nothing of what is the shell's or Python's",
    text: stepWith("    parameters: [{ name: lr, default: a }]\n") + `- pipeline:
    name: p
    nodes:
      - name: a
        type: execution
        step: a
        override:
          command:
            - "echo '{parameter:lr}' {parameter:rl}"
            - "echo \${parameter:-x} {parameter:lr} {parameter:.2f} {parameters.get}"
    edges: []
`,
    warnings: [
      "/1/pipeline/nodes/0/override/command/0 line 14, column 15: A value of {parameter:lr} has " +
      "its own quotes: within the quotes around it, the shell would run what the value holds, " +
      "such as $(…)",
      "/1/pipeline/nodes/0/override/command/0 line 14, column 15: " +
      'There is no parameter "rl", so it stays as it is: {parameter:rl}',
    ],
  },
];

for (const { name, text, warnings } of warned) {
  Deno.test(`config file: warns of ${name}`, () => {
    const found = readConfigFile(text, "valohai.yaml").warnings;
    assertEquals(found.map(({ pointer, detail }) => `${pointer} ${detail}`), warnings);
  });
}

Deno.test("config file: the later of two steps of one name stands", () => {
  const text = `${stepWith("")}- step: { name: a, image: later, command: c }\n`;
  assertEquals(readConfigFile(text, "x").steps.get("a")?.image, "later");
});

const durations: [written: string, seconds: number | undefined][] = [
  ["72", 72],
  ['"72"', 72],
  ["60 minutes  ", 3600],
  ["1h10m", 4200],
  ["2w", 1_209_600],
  ["1.5d 2 hours", 136_800],
  ["0", undefined],
  ['""', undefined],
];

Deno.test("config file: durations", () => {
  for (const [written, seconds] of durations) {
    const { steps } = readConfigFile(stepWith(`    time-limit: ${written}\n`), "x");
    assertEquals(steps.get("a")?.timeLimit_s, seconds, written);
  }
  for (const written of ["1.5", "5 months", "1h 5", "h", "[1]", "true"]) {
    const read = () => readConfigFile(stepWith(`    time-limit: ${written}\n`), "x");
    assertThrows(read, InvalidInputError, "Expected a whole number of seconds", written);
  }
});
