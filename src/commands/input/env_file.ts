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

function readEnvFile(path: string | undefined): void {
  if (!path) throw new InvalidInputError(FLAG, "Expected the name of a file, found nothing");
  const { variables, remarks } = parseEnvFile(textOf(path));
  for (const remark of remarks) console.error(`hooklaunch: ${path}: ${remark}`);
  for (const [name, value] of variables) {
    const before = process.env[name];
    process.env[name] ??= value;
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
