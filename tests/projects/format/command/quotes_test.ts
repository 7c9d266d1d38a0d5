/**
 * Placeholders within quotes of a command: a warning is given exactly where a shell runs what a value
 * holds.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { readConfigFile } from "../../../../src/projects/format/config_file.ts";
import { launchStep } from "../../../../src/projects/launch.ts";

const cases: [command: string, placeholder?: string][] = [
  ["echo {parameter-value:x}"],
  ["echo {parameters}"],
  ['echo "it is "{parameter-value:x}'],
  ['echo "it is {parameter-value:x}"', "{parameter-value:x}"],
  ["echo 'it is {parameter-value:x}'", "{parameter-value:x}"],
  ['echo "{parameter:x}"', "{parameter:x}"],
  ['echo "{parameters}"', "{parameters}"],
  ['echo "$(echo {params})"'],
  ['echo "$(echo "{params}")"', "{params}"],
  ['echo "$(echo "(" {params})"'],
  ['echo "\\"{params}"', "{params}"],
  ['echo "\\\\" {params}'],
  ["echo 'a\\' {params}"],
  ["echo \\' {params}"],
  ["# it's\necho {params}"],
  ["echo it#\\'s {params}"],
  ["echo '\"' {params} '\"'"],
  ['echo "\'" {params} "\'"'],
  ['echo "a\nb {params}"', "{params}"],
  ['(echo "$((1 + 1))" {params})'],
  ['echo "{parameter-value:n} {parameter-value:c} {parameter-value:nope}"'],
];

for (const [command, placeholder] of cases) {
  Deno.test(`command quotes: ${command}`, async () => {
    const parameters = [
      { name: "x" },
      { name: "n", type: "integer", default: 1 },
      { name: "c", choices: ["a"], default: "a" },
    ];
    const step = { name: "s", image: "i", command: [command], parameters };
    const { steps, warnings } = readConfigFile(JSON.stringify([{ step }]), "valohai.yaml");
    const found = warnings.filter(({ detail }) => detail.includes("has its own quotes"))
      .map(({ pointer, detail }) => [pointer, / of (\{.*?\}) /.exec(detail)?.[1]]);
    assertEquals(found, placeholder ? [["/0/step/command/0", placeholder]] : []);
    const [declared] = steps.values();
    const launch = declared && launchStep(declared, { parameters: { x: "$(echo R)AN" } });
    const { stdout } = await new Deno.Command("sh", { args: ["-c", launch?.command ?? ""] })
      .output();
    assertEquals(new TextDecoder().decode(stdout).includes("RAN"), placeholder !== undefined);
  });
}

Deno.test("command quotes: a single command, and one of another interpreter", () => {
  const warningsOf = (command: string | string[]) => {
    const step = { name: "s", image: "i", command, parameters: [{ name: "x" }] };
    return readConfigFile(JSON.stringify([{ step }]), "valohai.yaml").warnings;
  };
  assertEquals(warningsOf('echo "{params}"').map(({ pointer }) => pointer), ["/0/step/command"]);
  assertEquals(warningsOf(["", "#!/usr/bin/env python3", 'print("{params}")']), []);
  for (
    const shell of ["/bin/sh", " /bin/bash -e", "/usr/bin/env bash", "/usr/bin/env -S dash -e"]
  ) {
    const warnings = warningsOf(`#!${shell}\necho "{params}"`);
    assertEquals(warnings.map(({ pointer }) => pointer), ["/0/step/command"], shell);
  }
  for (const other of ["/usr/bin/fish", "/opt/sh/python3", "/usr/bin/env -S nosh"]) {
    assertEquals(warningsOf(`#!${other}\necho "{params}"`), [], other);
  }
});
