/**
 * Commands: a step's commands with the parameters' values filled in, quoted for a POSIX shell.
 *
 * @module
 */
import type { Parameter, ParameterAtom, ParameterValue } from "./parameter.ts";
import { Room } from "./placeholder_budget.ts";

/** A value as it stands in a command: true and false as Python, which the format is from, writes them. */
export function textOf(atom: ParameterAtom): string {
  return typeof atom === "boolean" ? (atom ? "True" : "False") : String(atom);
}

/** What the placeholders of a command stand for. */
export interface CommandValues {
  /** The declared parameters, in the order of their declaration. */
  parameters: ReadonlyMap<string, Parameter>;
  /** The values by name; a parameter without one is not passed. */
  values: ReadonlyMap<string, ParameterValue>;
  sourcePath?: string | undefined;
}

const PLACEHOLDER = /\{(parameters|params|source-path|(parameter|parameter-value):([^{}\n]+))\}/g;
const SAFE = /^[\w@%+=:,./-]+$/;

/**
 * Makes one shell script of a step's commands, each on its own lines; blank ones are dropped. The
 * shell that runs it is told to stop at the first failure.
 *
 * Placeholders: `{parameters}` or `{params}` for all parameters, `{parameter:NAME}` for one as it is
 * passed, `{parameter-value:NAME}` for its bare value, `{source-path}`. Anything else in braces stays.
 *
 * @throws {ActionError} when there is no room for what they become
 */
export function buildScript(
  commands: readonly string[],
  values: CommandValues,
  room = new Room(),
): string {
  return commands.map((command) => trim(fill(command, values, room))).filter(Boolean).join("\n");
}

/**
 * A command without the blanks around it, but for one behind a backslash: where a line goes on in one of
 * placeholders that became nothing, the next command would be taken for the rest of it.
 */
function trim(command: string): string {
  const begun = command.trimStart();
  const text = begun.trimEnd();
  return text.endsWith("\\") ? begun.slice(0, text.length + 1) : text;
}

/** Whether a script names its own interpreter in its first line. */
export function hasShebang(script: string): boolean {
  return script.startsWith("#!");
}

/** The arguments that pass one parameter, not quoted. */
export function parameterArguments(
  parameter: Parameter,
  value: ParameterValue,
  room = new Room(),
): string[] {
  const template = templateOf(parameter, value);
  if (!template) return [];
  // Split before the values are filled in, so that no value ever becomes two arguments.
  const pieces = room.take(template).split(/\s+/).filter(Boolean);
  const pass = (atom: ParameterAtom) =>
    pieces.map((piece) => substitute(piece, parameter, atom, room));
  if (!Array.isArray(value)) return pass(value);
  if (parameter.multiple === "repeat") return value.flatMap(pass);
  return value.length === 0 ? [] : pass(joined(value, parameter, room));
}

/** Quotes one argument so that a POSIX shell takes it as it is. */
export function quote(argument: string): string {
  if (SAFE.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}

function fill(
  command: string,
  { parameters, values, sourcePath }: CommandValues,
  room: Room,
): string {
  const argumentsOf = (name: string, parameter: Parameter): string[] => {
    // What passes nothing takes time as well.
    const value = values.get(room.take(name));
    return value === undefined ? [] : parameterArguments(parameter, value, room);
  };
  return command.replace(PLACEHOLDER, (placeholder, all: string, kind?: string, name = "") => {
    if (all === "source-path") {
      return sourcePath === undefined ? placeholder : quote(room.take(sourcePath));
    }
    if (kind === undefined) {
      return [...parameters].flatMap(([each, parameter]) => argumentsOf(each, parameter))
        .map(quote).join(" ");
    }
    const parameter = parameters.get(name);
    if (parameter === undefined) return placeholder;
    if (kind === "parameter") return argumentsOf(name, parameter).map(quote).join(" ");
    const value = values.get(name);
    return value === undefined ? placeholder : bareValue(parameter, value, room);
  });
}

function bareValue(parameter: Parameter, value: ParameterValue, room: Room): string {
  const bare = (atom: ParameterAtom) => quote(room.take(textOf(atom)));
  if (!Array.isArray(value)) return bare(value);
  if (parameter.multiple === "repeat") return value.map(bare).join(" ");
  return bare(joined(value, parameter, room));
}

function joined(atoms: ParameterAtom[], { multipleSeparator }: Parameter, room: Room): string {
  for (const _atom of atoms) room.take(multipleSeparator);
  return atoms.map(textOf).join(multipleSeparator);
}

function templateOf(parameter: Parameter, value: ParameterValue): string | undefined {
  const { type, passAs, passTrueAs, passFalseAs } = parameter;
  if (type !== "flag") return passAs ?? "--{name}={value}";
  if (passTrueAs || passFalseAs) return value ? passTrueAs : passFalseAs;
  return value ? passAs ?? "--{name}" : undefined;
}

/** A brace that is written twice stands for itself, as in the text that Python formats. */
function substitute(
  piece: string,
  { name }: Parameter,
  atom: ParameterAtom,
  room: Room,
): string {
  return room.take(piece).replace(/\{\{|\}\}|\{(name|value|v)\}/g, (found, key?: string) => {
    if (key === undefined) return found.charAt(0);
    return room.take(key === "name" ? name : textOf(atom));
  });
}
