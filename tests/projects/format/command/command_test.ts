/**
 * Commands: what placeholders become, as tables, and that a shell gets back exactly the values that
 * were put in.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ActionError } from "../../../../src/platform/errors.ts";
import {
  buildScript,
  parameterArguments,
} from "../../../../src/projects/format/command/command.ts";
import { shellQuote } from "../../../../src/platform/shell.ts";
import {
  type Parameter,
  parameterSchema,
  type ParameterValue,
} from "../../../../src/projects/format/step/parameter.ts";
import { unicode } from "../../../arbitraries.ts";

/** Parameters as a project configuration file would declare them. */
function declare(...declared: unknown[]): Map<string, Parameter> {
  return new Map(
    declared.map((one) => parameterSchema.parse(one)).map((one) => [one.name, one] as const),
  );
}

const p = { name: "p" };
const flag = { name: "f", type: "flag" };

const argumentCases: [declared: unknown, value: ParameterValue, expected: string[]][] = [
  [p, "x", ["--p=x"]],
  [p, "a b", ["--p=a b"]],
  [p, "$(x)", ["--p=$(x)"]],
  [p, "", ["--p="]],
  [p, "{value} {v} {name}", ["--p={value} {v} {name}"]],
  [p, "$& $1", ["--p=$& $1"]],
  [{ ...p, type: "integer" }, 0, ["--p=0"]],
  [{ ...p, type: "float" }, 0.001, ["--p=0.001"]],
  [{ ...p, "pass-as": "--decoder-spec {v}" }, "a b", ["--decoder-spec", "a b"]],
  [{ ...p, "pass-as": "-x  {value}  -y {name}" }, "1", ["-x", "1", "-y", "p"]],
  [{ ...p, "pass-as": "{v}" }, "bare", ["bare"]],
  [{ ...p, "pass-as": "--{other}={v}" }, "1", ["--{other}=1"]],
  [{ ...p, "pass-as": '--json={{"{name}":{v}}}' }, "{{1}}", ['--json={"p":{{1}}}']],
  [{ ...p, "pass-as": "--p={{v}}" }, "1", ["--p={v}"]],
  [flag, true, ["--f"]],
  [flag, false, []],
  [{ ...flag, "pass-as": "-q" }, true, ["-q"]],
  [{ ...flag, "pass-as": "-q" }, false, []],
  [{ ...flag, "pass-true-as": "--on" }, true, ["--on"]],
  [{ ...flag, "pass-true-as": "--on" }, false, []],
  [{ ...flag, "pass-false-as": "--off" }, false, ["--off"]],
  [{ ...flag, "pass-false-as": "--off", "pass-as": "-q" }, true, []],
  [{ ...flag, "pass-as": "--f={v}" }, true, ["--f=True"]],
  [{ ...flag, "pass-as": "--f={v}" }, false, []],
  [{ ...p, default: true }, true, ["--p=True"]],
  [{ ...p, multiple: "separate" }, [true, "x", false], ["--p=True,x,False"]],
  [{ ...p, multiple: "separate" }, ["a", "b c"], ["--p=a,b c"]],
  [{ ...p, multiple: "separate", "multiple-separator": "-" }, ["a", "b"], ["--p=a-b"]],
  [{ ...p, multiple: "separate" }, [], []],
  [{ ...p, multiple: "repeat" }, ["a", "b c"], ["--p=a", "--p=b c"]],
  [{ ...p, multiple: "repeat", "pass-as": "-p {v}" }, ["a", "b"], ["-p", "a", "-p", "b"]],
  [{ ...p, multiple: "repeat" }, [], []],
];

Deno.test("command: how a parameter is passed", () => {
  for (const [declared, value, expected] of argumentCases) {
    const [parameter] = declare(declared).values();
    assertEquals(parameter && parameterArguments(parameter, value), expected);
  }
});

const quoteCases: [argument: string, expected: string][] = [
  ["abc", "abc"],
  ["--p=x", "--p=x"],
  ["a%+=:,./-@_9", "a%+=:,./-@_9"],
  ["", "''"],
  ["a b", "'a b'"],
  ["--p=a b", "'--p=a b'"],
  ["$(x)", "'$(x)'"],
  ["it's", `'it'"'"'s'`],
  ["é", "'é'"],
  ["a\nb", "'a\nb'"],
];

Deno.test("command: how an argument is quoted", () => {
  for (const [argument, expected] of quoteCases) assertEquals(shellQuote(argument), expected);
});

const parameters = declare(
  { name: "epochs", type: "integer" },
  { name: "spec", "pass-as": "--spec {v}" },
  { name: "unset" },
  { name: "list", multiple: "separate" },
  { name: "each", multiple: "repeat" },
  { name: "on", type: "flag" },
);
const values = new Map<string, ParameterValue>([
  ["each", ["1 2", "3"]],
  ["epochs", 5],
  ["list", ["a", "b"]],
  ["on", true],
  ["spec", "a b"],
]);
const all = "--epochs=5 --spec 'a b' --list=a,b '--each=1 2' --each=3 --on";

const scriptCases: [commands: string[], expected: string][] = [
  [["train {parameters}"], `train ${all}`],
  [["train {params}; {params}"], `train ${all}; ${all}`],
  [["train"], "train"],
  [["a {parameter:epochs} {parameter:spec}"], "a --epochs=5 --spec 'a b'"],
  [["a {parameter:unset}."], "a ."],
  [["a {parameter:nope}"], "a {parameter:nope}"],
  [["a {parameter-value:epochs} {parameter-value:spec}"], "a 5 'a b'"],
  [["a {parameter-value:list} {parameter-value:each}"], "a a,b '1 2' 3"],
  [
    ["a {parameter-value:nope} {parameter-value:unset}"],
    [
      "a {parameter-value:nope} {parameter-value:unset}",
    ].join(),
  ],
  [["python {source-path}"], "python 'my script.py'"],
  [["Where are the ${shell_unicorns}? {x} {}"], "Where are the ${shell_unicorns}? {x} {}"],
  [["f() { a {parameter:epochs}; }"], "f() { a --epochs=5; }"],
  [["  a  ", "", "  ", "b\n"], "a\nb"],
  [["#!/usr/bin/env python", "print(1)"], "#!/usr/bin/env python\nprint(1)"],
  [["\n#!/bin/sh\necho hi"], "#!/bin/sh\necho hi"],
  [[], ""],
];

Deno.test("command: what a script's placeholders become", () => {
  for (const [commands, expected] of scriptCases) {
    const script = buildScript(commands, { parameters, values, sourcePath: "my script.py" });
    assertEquals(script, expected);
  }
});

/** Scripts whose interpreter is no shell, and values that are code to it. */
const codeCases: [program: string, line: string, value: string, isCode: boolean][] = [
  ["tclsh", "puts {parameter-value:x}", "a;puts ran;", true],
  ["tclsh", "puts {parameter-value:x}", "a, b", false],
  ["perl", "print {parameter-value:x};", "qx:/bin/date:", true],
  ["perl", "print {parameter-value:x};", "1.s/^/reset/e", true],
  ["perl", 'print "{parameter-value:x}";', "tr-a-b-", true],
  ["perl", 'print "{parameter-value:x}";', "s3://bucket/models/qx_2.bin", false],
  ["python3", 'print("{parameter-value:x}")', "a/m/b", false],
];

Deno.test("command: no value becomes code of an interpreter that is no shell", () => {
  for (const [program, line, value, isCode] of codeCases) {
    const script = () =>
      buildScript([`#!/usr/bin/env ${program}`, line], {
        parameters: declare({ name: "x" }),
        values: new Map([["x", value]]),
      });
    if (isCode) assertThrows(script, ActionError, "it may be code there", value);
    else script();
  }
});

Deno.test("command: without a source path its placeholder stays", () => {
  const script = buildScript(["a {source-path}"], { parameters, values });
  assertEquals(script, "a {source-path}");
});

/** Text that a process can be given as an argument. */
const argument = unicode().filter((text) => !text.includes("\0"));

Deno.test("command: a shell gives quoted arguments back", async () => {
  const samples = fc.sample(fc.array(argument, { maxLength: 8 }), { numRuns: 60, seed: 1 });
  await Promise.all(samples.map(async (given) => {
    const script = `printf '%s\\0' ${given.map(shellQuote).join(" ")}`;
    const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    const got = new TextDecoder("utf-8", { ignoreBOM: true }).decode(stdout).split("\0");
    assertEquals(got.slice(0, -1), given.length === 0 ? [""] : given);
  }));
});

Deno.test("command: a shell gives parameters' values back, whatever they are", async () => {
  const one = declare({ name: "x", "pass-as": "{v}" }, { name: "y", "pass-as": "-y {value}" });
  const samples = fc.sample(fc.tuple(argument, argument), { numRuns: 60, seed: 2 });
  await Promise.all(samples.map(async ([x, y]) => {
    const script = buildScript(["printf '%s\\0' {parameters} {parameter-value:x}"], {
      parameters: one,
      values: new Map([["x", x], ["y", y]]),
    });
    const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    const got = new TextDecoder("utf-8", { ignoreBOM: true }).decode(stdout).split("\0");
    assertEquals(got.slice(0, -1), [x, "-y", y, x]);
  }));
});

Deno.test("command: a line that goes on in one of nothing but placeholders ends where its command does", async () => {
  const step = declare({ name: "x", optional: true });
  const commands = ["echo a \\\n  b \\\n  {parameters}\n", "echo c \\ {parameters}", "echo d"];
  const script = buildScript(commands, { parameters: step, values: new Map() });
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), "a b\nc  \nd\n");
});

const long = "z".repeat(100_000);
const words = { name: "x", multiple: "repeat", "pass-as": `${"{v}".repeat(10)} `.repeat(1_000) };
const between = { name: "x", multiple: "separate", "multiple-separator": long };
const amplified: [how: string, commands: string[], declared: unknown, value: ParameterValue][] = [
  ["a placeholder again and again", ["{parameter-value:x}".repeat(400)], { name: "x" }, long],
  ["what passes nothing", ["{params}".repeat(400)], { name: long, type: "flag" }, false],
  ["a list of none", ["{params}".repeat(400)], { ...words, "pass-as": long }, []],
  ["many commands", Array(400).fill("{parameter-value:x}"), { name: "x" }, long],
  ["all parameters again and again", ["{params}".repeat(400)], { name: "x" }, long],
  ["a value in pass-as", ["{params}"], { name: "x", "pass-as": "{v}".repeat(400) }, long],
  ["many values in many words", ["{params}"], words, Array(1_000).fill("z".repeat(9))],
  ["a separator", ["{params}"], between, Array(400).fill("")],
  ["a separator of bare values", ["{parameter-value:x}"], between, Array(400).fill("")],
  ["the source path", ["{source-path}".repeat(400)], { name: "x" }, ""],
];
for (const [how, commands, declared, value] of amplified) {
  Deno.test(`command: ${how} makes no script that no memory holds`, () => {
    const values = new Map([["x", value]]);
    assertThrows(
      () => buildScript(commands, { parameters: declare(declared), values, sourcePath: long }),
      ActionError,
      "The placeholders of the step become more than 1048576 characters together",
    );
  });
}
