/**
 * Reading the values of command-line options.
 *
 * @module
 */
import { InvalidArgumentError, Option } from "commander";
import { dirname } from "node:path";
import process from "node:process";
import { InvalidInputError, messageOf } from "../../platform/errors.ts";
import { readFirstBytes } from "../../platform/files/bytes.ts";
import { parseByteSize } from "../../platform/text/byte_size.ts";
import { environment } from "./environment.ts";

const LIST_LIMIT = 50;
const LIST_LIMIT_MAX = 10_000;
/** The longest file that a command reads, above the limit of each command. */
const INPUT_MIB_MAX = 64;

/**
 * Makes an option that a variable can set too: `HOOKLAUNCH_` and its name. An empty variable counts as not
 * set. An empty value on the command line, as of `--data "$UNSET"`, is refused: as a path it would be the
 * current folder.
 */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  const variable = `HOOKLAUNCH_${made.name().replaceAll("-", "_").toUpperCase()}`;
  if (process.env[variable] === "") delete process.env[variable];
  return made.env(variable).argParser(notEmpty);
}

function notEmpty(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("Expected a value, found nothing.");
}

/** Reads a whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** Makes the option that limits the elements of a long list. */
export function listLimit(): Option {
  return new Option("--limit <number>", "the number of elements at most")
    .argParser(wholeNumber(1, LIST_LIMIT_MAX)).default(LIST_LIMIT);
}

/** Makes the option that leaves the ids of a command's output: what scripts read. */
export function quietly(description = "print ids alone, one a line"): Option {
  return new Option("-q, --quiet", description).conflicts(["json", "dryRun", "output"]);
}

/** Reads a size such as `16MiB`, `500k` or `1048576`; in bytes. */
export function byteSize(max: number): (text: string) => number {
  return (text) => {
    const bytes = parseByteSize(text);
    if (bytes >= 1 && bytes <= max) return bytes;
    throw new InvalidArgumentError(`Expected a size from 1 to ${max} bytes, such as 16MiB.`);
  };
}

/** Adds a value to a list. A variable holds several values, separated by commas. */
export function list(text: string, before: readonly string[] | undefined): string[] {
  return [...before ?? [], ...text.split(",").map((part) => part.trim()).filter(Boolean)];
}

/** Reads a switch. Its variable may accept plain HTTP, so that only the words true and false are taken. */
export function isSet(name: string, given: boolean | undefined): boolean {
  const variable = environment(name);
  if (given !== undefined || variable === undefined || variable === "false") return given ?? false;
  if (variable === "true") return true;
  throw new InvalidInputError(name, `Expected true or false, found "${variable}"`);
}

/**
 * Reads a configuration file, and returns the folder that relative paths in it start at: its own. Text from
 * a pipe, such as `<(…)` or standard input, has none: there it is the current folder.
 *
 * @throws {InvalidInputError} when it cannot be read
 */
export async function readConfiguration(
  path: string,
): Promise<{ written: Uint8Array; folder: string }> {
  const written = await readInput(path, "the configuration file");
  const hasFolder = !isStandardInput(path) && (await Deno.stat(path)).isFile;
  return { written, folder: hasFolder ? dirname(path) : Deno.cwd() };
}

/** Returns true for a path that means standard input, which Deno opens by no path. */
export function isStandardInput(path: string): boolean {
  return path === "-" || path === "/dev/stdin";
}

/**
 * Reads a file that a command names, or standard input.
 *
 * @throws {InvalidInputError} when it cannot be read, or is too long for any command
 */
export async function readInput(path: string, what: string): Promise<Uint8Array> {
  const name = isStandardInput(path) ? "standard input" : path;
  const enough = new AbortController();
  const options = { signal: enough.signal, onCut: () => enough.abort() };
  const { bytes, isCut } = await open(path)
    .then((stream) => readFirstBytes(stream, INPUT_MIB_MAX * 1024 ** 2, options))
    .catch((error) => {
      throw unreadable(name, what, messageOf(error));
    });
  if (isCut) throw unreadable(name, what, `it has over ${INPUT_MIB_MAX} MiB`);
  return bytes;
}

/**
 * Reads a file of text that a setting names.
 *
 * @throws {InvalidInputError} when it cannot be read
 */
export async function readText(path: string, what: string): Promise<string> {
  try {
    return new TextDecoder().decode(await Deno.readFile(path));
  } catch (error) {
    throw unreadable(path, what, messageOf(error));
  }
}

async function open(path: string): Promise<ReadableStream<Uint8Array>> {
  return isStandardInput(path) ? Deno.stdin.readable : (await Deno.open(path)).readable;
}

function unreadable(path: string, what: string, why: string): InvalidInputError {
  return new InvalidInputError(what, `Cannot read ${path}: ${why}`);
}
