/**
 * `--env-file`: variables from a file, for every command.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { InvalidInputError, messageOf } from "../../platform/errors.ts";
import { parseEnvFile } from "./env_text.ts";

const FLAG = "--env-file";

/** The files that were read, and the variables that come from them. */
const files: string[] = [];
const given = new Map<string, string>();

/** The flag and its description in the help. */
export const ENV_FILE_OPTION = [
  `${FLAG} <file>`,
  "read variables from a file, one NAME=value a line; variables that are already set stay",
] as const;

/**
 * Reads the files that `--env-file` names, and returns the other arguments. A variable that is set
 * already stays, an empty one too. OTEL_* and DENO_CERT have no effect from a file: Deno reads them
 * before any code runs.
 *
 * @throws {InvalidInputError} when a file cannot be read
 */
export function readEnvFiles(args: readonly string[]): string[] {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const rest: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (index < end && arg === FLAG) {
      readEnvFile(args[++index]);
    } else if (index < end && arg.startsWith(`${FLAG}=`)) {
      readEnvFile(arg.slice(FLAG.length + 1));
    } else {
      rest.push(arg);
    }
  }
  return rest;
}

/** The difference that files make that were read again. */
interface RereadFiles {
  /** The names of the variables whose values have changed, or that are gone. */
  changed: string[];
  /** Gives these variables back the values from before. */
  restore(): void;
}

/**
 * Reads the files again. Variables that did not come from them stay.
 *
 * @throws {InvalidInputError} when one cannot be read. Nothing has changed then
 */
export function rereadEnvFiles(): RereadFiles {
  const before = new Map(given);
  const now = new Map<string, string>();
  for (const path of files) {
    for (const [name, value] of parseEnvFile(textOf(path)).variables) {
      const isOwn = given.has(name) || process.env[name] === undefined;
      // As at the start, the first file that names it counts.
      if (isOwn && !now.has(name)) now.set(name, value);
    }
  }
  const names = new Set([...before.keys(), ...now.keys()]);
  give(now);
  return {
    changed: [...names].filter((name) => before.get(name) !== now.get(name)),
    restore: () => give(before),
  };
}

/** Sets the variables that come from files, and no others. */
function give(values: ReadonlyMap<string, string>): void {
  for (const name of given.keys()) if (!values.has(name)) delete process.env[name];
  given.clear();
  for (const [name, value] of values) {
    process.env[name] = value;
    given.set(name, value);
  }
}

function readEnvFile(path: string | undefined): void {
  if (!path) throw new InvalidInputError(FLAG, "Expected the name of a file, found nothing");
  files.push(path);
  const { variables, remarks } = parseEnvFile(textOf(path));
  for (const remark of remarks) console.error(`hooklaunch: ${path}: ${remark}`);
  for (const [name, value] of variables) {
    const before = process.env[name];
    process.env[name] ??= value;
    if (before === undefined) given.set(name, value);
    if (before === undefined || before === value) continue;
    console.error(
      `hooklaunch: ${name} is set already to another value: that of ${path} is not used`,
    );
  }
}

function textOf(path: string): string {
  try {
    // Some editors begin a file with a byte order mark.
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new InvalidInputError(FLAG, `Cannot read ${path}: ${messageOf(error)}`);
  }
}
