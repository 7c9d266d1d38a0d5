/**
 * Commands: a step's commands with the parameters' values filled in, quoted for a POSIX shell.
 *
 * @module
 */
import type { Parameter, ParameterAtom, ParameterValue } from "./parameter.ts";

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
 */
export function buildScript(commands: readonly string[], values: CommandValues): string {
  return commands.map((command) => fill(command, values).trim()).filter(Boolean).join("\n");
}

/** Whether a script names its own interpreter in its first line. */
export function hasShebang(script: string): boolean {
  return script.startsWith("#!");
}

/** The arguments that pass one parameter, not quoted. */
export function parameterArguments(parameter: Parameter, value: ParameterValue): string[] {
  const template = templateOf(parameter, value);
  if (!template) return [];
  // Split before the values are filled in, so that no value ever becomes two arguments.
  const pieces = template.split(/\s+/).filter(Boolean);
  const pass = (atom: ParameterAtom) => pieces.map((piece) => substitute(piece, parameter, atom));
  if (!Array.isArray(value)) return pass(value);
  if (parameter.multiple === "repeat") return value.flatMap(pass);
  return value.length === 0 ? [] : pass(value.join(parameter.multipleSeparator));
}

/** Quotes one argument so that a POSIX shell takes it as it is. */
export function quote(argument: string): string {
  if (SAFE.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}

function fill(command: string, { parameters, values, sourcePath }: CommandValues): string {
  const argumentsOf = (name: string, parameter: Parameter): string[] => {
    const value = values.get(name);
    return value === undefined ? [] : parameterArguments(parameter, value);
  };
  return command.replace(PLACEHOLDER, (placeholder, all: string, kind?: string, name = "") => {
    if (all === "source-path") return sourcePath === undefined ? placeholder : quote(sourcePath);
    if (kind === undefined) {
      return [...parameters].flatMap(([each, parameter]) => argumentsOf(each, parameter))
        .map(quote).join(" ");
    }
    const parameter = parameters.get(name);
    if (parameter === undefined) return placeholder;
    if (kind === "parameter") return argumentsOf(name, parameter).map(quote).join(" ");
    const value = values.get(name);
    return value === undefined ? placeholder : bareValue(parameter, value);
  });
}

function bareValue(parameter: Parameter, value: ParameterValue): string {
  if (!Array.isArray(value)) return quote(String(value));
  if (parameter.multiple === "repeat") return value.map((atom) => quote(String(atom))).join(" ");
  return quote(value.join(parameter.multipleSeparator));
}

function templateOf(parameter: Parameter, value: ParameterValue): string | undefined {
  const { type, passAs, passTrueAs, passFalseAs } = parameter;
  if (type !== "flag") return passAs ?? "--{name}={value}";
  if (passTrueAs || passFalseAs) return value ? passTrueAs : passFalseAs;
  return value ? passAs ?? "--{name}" : undefined;
}

/** A brace that is written twice stands for itself, as in the text that Python formats. */
function substitute(piece: string, { name }: Parameter, atom: ParameterAtom): string {
  return piece.replace(/\{\{|\}\}|\{(name|value|v)\}/g, (found, key?: string) => {
    if (key === undefined) return found.charAt(0);
    return key === "name" ? name : String(atom);
  });
}
