/**
 * Commands of a step: values of parameters replace their placeholders, quoted for a POSIX shell.
 *
 * @module
 */
import { ActionError } from "../../../platform/errors.ts";
import { shellQuote } from "../../../platform/shell.ts";
import { truncate } from "../../../platform/text/display.ts";
import {
  formatAtom,
  type Parameter,
  type ParameterAtom,
  type ParameterValue,
} from "../step/parameter.ts";
import { PlaceholderBudget } from "./placeholder_budget.ts";

/** The values of the placeholders of a command. */
interface CommandValues {
  /** The declared parameters, in the order of their declaration. */
  parameters: ReadonlyMap<string, Parameter>;
  /** The values by name; a parameter without one is not passed. */
  values: ReadonlyMap<string, ParameterValue>;
  sourcePath?: string | undefined;
}

/** Signs that mean nothing within quotes of any interpreter. */
const PLAIN = /^[\p{L}\p{N} _.,:/+=~^-]*$/u;
/** Words that begin quotes, or code, of Perl with any sign behind them, such as `qx/…/` (perlop, "Quote-Like Operators"). */
const PERL_QUOTES = /(?<![\p{L}\p{N}_])(?:q[qrwx]?|m|s|y|tr)[^\p{L}\p{N}_ ]/u;
const PERL = /^#!.*perl/;
/** A first line that names a shell with the quotes of `sh`. */
const SHELL = /^#!\s*\S*\/(?:env\s+(?:-S\s*)?(?:\S*\/)?)?(?:a|ba|da|k|z)?sh(?:\s|$)/;

const PLACEHOLDER = /\{(parameters|params|source-path|(parameter|parameter-value):([^{}\n]+))\}/g;

/**
 * Joins a step's commands into one shell script, each on its own lines, without blank ones. The
 * shell that runs it stops at the first failure.
 *
 * Placeholders: `{parameters}` or `{params}` for all parameters, `{parameter:NAME}` for one as it
 * is passed, `{parameter-value:NAME}` for its bare value, and `{source-path}`. Anything else in
 * braces stays.
 *
 * @throws {ActionError} when the values exceed the budget
 */
export function buildScript(
  commands: readonly string[],
  values: CommandValues,
  budget = new PlaceholderBudget(),
): string {
  const quote = quoteOf(commands.join("\n").trim());
  return commands.map((command) => trim(fill(command, { ...values, quote }, budget)))
    .filter(Boolean).join("\n");
}

/** Writes a value into a script. */
type Quote = (text: string) => string;

function quoteOf(script: string): Quote {
  if (hasShellQuotes(script)) return shellQuote;
  const isPerl = PERL.test(script);
  return (text) => plainWord(text, isPerl);
}

/**
 * Returns a text that no interpreter takes for more than a part of a text, or a name.
 *
 * @throws {ActionError} when it holds signs that may be code
 */
function plainWord(text: string, isPerl: boolean): string {
  if (PLAIN.test(text) && !(isPerl && PERL_QUOTES.test(text))) return shellQuote(text);
  throw new ActionError(
    `Cannot write ${
      JSON.stringify(truncate(text, 100))
    } into a script whose first line names an interpreter ` +
      "that is no shell: it may be code there. Read it from parameters.json in the folder VH_CONFIG_DIR",
  );
}

/**
 * Removes the blanks around a command, except one behind a backslash: a backslash at the end would
 * join the next command to this one.
 */
function trim(command: string): string {
  const begun = command.trimStart();
  const text = begun.trimEnd();
  return text.endsWith("\\") ? begun.slice(0, text.length + 1) : text;
}

/** Tells whether the quotes of `sh` are those of what runs a script. */
export function hasShellQuotes(script: string): boolean {
  return !hasShebang(script) || SHELL.test(script);
}

/** Returns true if a script names its interpreter in its first line. */
export function hasShebang(script: string): boolean {
  return script.startsWith("#!");
}

/** Returns the arguments that pass one parameter, not quoted. */
export function parameterArguments(
  parameter: Parameter,
  value: ParameterValue,
  budget = new PlaceholderBudget(),
): string[] {
  const template = templateOf(parameter, value);
  if (!template) return [];
  // The template is split before values replace its placeholders, so that no value becomes two
  // arguments.
  const pieces = budget.spend(template).split(/\s+/).filter(Boolean);
  const pass = (atom: ParameterAtom) =>
    pieces.map((piece) => substitute(piece, parameter, atom, budget));
  if (!Array.isArray(value)) return pass(value);
  if (parameter.multiple === "repeat") return value.flatMap(pass);
  return value.length === 0 ? [] : pass(joined(value, parameter, budget));
}

function fill(
  command: string,
  { parameters, values, sourcePath, quote }: CommandValues & { quote: Quote },
  budget: PlaceholderBudget,
): string {
  const argumentsOf = (name: string, parameter: Parameter): string[] => {
    // A parameter that passes nothing takes time as well.
    const value = values.get(budget.spend(name));
    return value === undefined ? [] : parameterArguments(parameter, value, budget);
  };
  return command.replace(PLACEHOLDER, (placeholder, all: string, kind?: string, name = "") => {
    if (all === "source-path") {
      return sourcePath === undefined ? placeholder : quote(budget.spend(sourcePath));
    }
    if (kind === undefined) {
      return [...parameters].flatMap(([each, parameter]) => argumentsOf(each, parameter))
        .map(quote).join(" ");
    }
    const parameter = parameters.get(name);
    if (parameter === undefined) return placeholder;
    if (kind === "parameter") return argumentsOf(name, parameter).map(quote).join(" ");
    const value = values.get(name);
    return value === undefined ? placeholder : bareValue(parameter, value, { budget, quote });
  });
}

function bareValue(
  parameter: Parameter,
  value: ParameterValue,
  { budget, quote }: { budget: PlaceholderBudget; quote: Quote },
): string {
  const bare = (atom: ParameterAtom) => quote(budget.spend(formatAtom(atom)));
  if (!Array.isArray(value)) return bare(value);
  if (parameter.multiple === "repeat") return value.map(bare).join(" ");
  return bare(joined(value, parameter, budget));
}

function joined(
  atoms: ParameterAtom[],
  { multipleSeparator }: Parameter,
  budget: PlaceholderBudget,
): string {
  for (const _atom of atoms) budget.spend(multipleSeparator);
  return atoms.map(formatAtom).join(multipleSeparator);
}

function templateOf(parameter: Parameter, value: ParameterValue): string | undefined {
  const { type, passAs, passTrueAs, passFalseAs } = parameter;
  if (type !== "flag") return passAs ?? "--{name}={value}";
  if (passTrueAs || passFalseAs) return value ? passTrueAs : passFalseAs;
  return value ? passAs ?? "--{name}" : undefined;
}

/**
 * Replaces the placeholders in a part of a template. A doubled brace stands for itself, as in
 * Python.
 */
function substitute(
  piece: string,
  { name }: Parameter,
  atom: ParameterAtom,
  budget: PlaceholderBudget,
): string {
  return budget.spend(piece).replace(/\{\{|\}\}|\{(name|value|v)\}/g, (found, key?: string) => {
    if (key === undefined) return found.charAt(0);
    return budget.spend(key === "name" ? name : formatAtom(atom));
  });
}
