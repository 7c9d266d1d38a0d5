/**
 * Printing what is wrong with a file, as compilers do, so that editors find the places.
 *
 * @module
 */
import type { Command } from "commander";
import type { Problem } from "../../platform/errors.ts";
import type { LocatedProblem } from "../../platform/yaml/positions.ts";
import { harmless } from "./table.ts";

/** A problem at a place in a file. */
export interface Finding {
  line: number;
  column: number;
  /** A JSON Pointer (RFC 6901) into the file; empty for the file itself. */
  path: string;
  message: string;
}

/** Returns the finding of a problem. */
export function findingOf(problem: Problem | LocatedProblem): Finding {
  const { pointer: path, detail } = problem;
  const { line, column } = "line" in problem ? problem : { line: 1, column: 1 };
  return { line, column, path, message: detail.replace(`line ${line}, column ${column}: `, "") };
}

/** Adds the options of a command that prints findings, and says what its exit code means. */
export function findingsOptions(command: Command): Command {
  return command.option("--strict", "count warnings as errors")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExit code: 1 when there are errors, or warnings with --strict; 0 without.",
    );
}

/** Prints the errors and the warnings of a file. */
export function printFindings(
  file: string,
  { errors, warnings }: { errors: readonly Finding[]; warnings: readonly Finding[] },
): void {
  for (const finding of errors) console.log(lineOf(file, finding, ""));
  for (const finding of warnings) console.log(lineOf(file, finding, "warning: "));
}

function lineOf(file: string, { line, column, path, message }: Finding, mark: string): string {
  const at = path === "" ? "" : `${path}: `;
  return harmless(`${file}:${line}:${column}: ${mark}${at}${message}`);
}

/** Returns a number and what it counts, such as `2 warnings`. */
export function counted(count: number, noun: string): string {
  return `${count === 0 ? "no" : count} ${noun}${count === 1 ? "" : "s"}`;
}
