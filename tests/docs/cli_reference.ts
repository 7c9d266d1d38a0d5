/**
 * The reference of the command line, made from the definitions of its commands.
 *
 * @module
 */
import type { Argument, Command, Option } from "commander";
import { defineProgram } from "../../src/commands/program.ts";
import { table } from "./markdown.ts";

/** Writes every command with its arguments and options as Markdown. */
export async function cliReference(): Promise<string> {
  const program = await defineProgram(() => true);
  const commands = leavesOf(program, []);
  return [
    "## Commands",
    table(
      ["command", "does"],
      commands.map(({ path, command }) => [
        `[\`${path}\`](#${path.replaceAll(" ", "-")})`,
        command.summary() || command.description(),
      ]),
    ),
    ...commands.flatMap(section),
  ].join("\n\n");
}

interface Leaf {
  /** Such as `trigger list`. */
  path: string;
  command: Command;
}

/** Finds the commands that do something. */
function leavesOf(command: Command, path: readonly string[]): Leaf[] {
  // The help of commander itself is no command of ours.
  const shown = command.createHelp().visibleCommands(command).filter((each) =>
    each.name() !== "help"
  );
  const own = { path: path.join(" "), command };
  if (shown.length === 0) return [own];
  const inner = shown.flatMap((each) => leavesOf(each, [...path, each.name()]));
  // One with an argument does something by itself, too.
  return command.registeredArguments.length > 0 ? [own, ...inner] : inner;
}

function section({ path, command }: Leaf): string[] {
  const help = command.createHelp();
  const rows = [
    ...help.visibleArguments(command).map(argumentRow),
    ...help.visibleOptions(command).filter(({ long }) => long !== "--help").map(optionRow),
  ];
  const usage = command.registeredArguments.map(nameOf);
  return [
    `### ${path}`,
    `\`hooklaunch ${[path, ...usage].join(" ")}\``,
    `${command.description().replace(/\.$/, "")}.`,
    ...(rows.length === 0 ? [] : [table(["argument or option", "meaning"], rows)]),
  ];
}

function argumentRow(argument: Argument): string[] {
  const { description, defaultValue, argChoices } = argument;
  return [
    `\`${nameOf(argument)}\``,
    meaning(description, defaultValue, undefined, undefined, argChoices),
  ];
}

function nameOf(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "…" : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionRow(option: Option): string[] {
  const { flags, description, defaultValue, defaultValueDescription, envVar, argChoices } = option;
  return [
    `\`${flags}\``,
    meaning(description, defaultValue, defaultValueDescription, envVar, argChoices),
  ];
}

function meaning(
  description: string,
  value?: unknown,
  valueDescription?: string,
  variable?: string,
  choices?: readonly string[],
): string {
  const fallback = valueDescription ?? (value === undefined ? undefined : `\`${value}\``);
  return [
    description,
    choices && `one of ${choices.map((choice) => `\`${choice}\``).join(", ")}`,
    fallback && `default: ${fallback}`,
    variable && `variable: \`${variable}\``,
  ].filter(Boolean).join("; ");
}
