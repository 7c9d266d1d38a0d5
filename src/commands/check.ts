/**
 * `hooklaunch check`: checks a configuration file without a service.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { resolve } from "node:path";
import { counted, findingOf, findingsOptions, printFindings } from "./console/findings.ts";
import { harmless, printJson } from "./console/table.ts";
import { isStandardInput, readConfiguration } from "./input/options.ts";
import { allVariables, unknownVariables } from "./input/variables.ts";

const FILE = "hooklaunch.yaml";

interface CheckOptions {
  code?: Map<string, string>;
  strict?: boolean;
  json?: boolean;
}

/** Defines the command. */
export function defineCheck(command: Command): void {
  findingsOptions(
    command.summary("Check a configuration file; needs no service").description(
      "Check a configuration file; needs no service. The steps of a project are checked where its folder is here.",
    )
      .argument("[file]", "the configuration file; - reads standard input", FILE)
      .option(
        "--code <project=folder>",
        "where the code of a project is whose repository is elsewhere (repeatable)",
        codeFolder,
      ),
  )
    .action(check);
}

function codeFolder(text: string, before: Map<string, string> = new Map()): Map<string, string> {
  const [, project, folder] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (project === undefined || folder === undefined) {
    throw new InvalidArgumentError("Expected a project and a folder, such as digits=./checkout.");
  }
  return new Map([...before, [project, resolve(folder)]]);
}

async function check(path: string, { code, strict = false, json = false }: CheckOptions) {
  const file = isStandardInput(path) ? "standard input" : path;
  const { written, folder } = await readConfiguration(path);
  // The commands that use a service do not need this.
  const { checkConfig } = await import("../config/check.ts");
  const env = allVariables();
  const surroundings = { path: file, folder, env, ...(code && { code }) };
  const { projects, triggers, left_out, ...found } = await checkConfig(written, surroundings);
  const errors = found.errors.map(findingOf);
  const named = new TextDecoder().decode(written);
  const ofVariables = unknownVariables(env).filter(({ name }) => !named.includes(`env:${name}}`))
    .map(({ detail }) => findingOf({ pointer: "", detail }));
  const warnings = [...found.warnings.map(findingOf), ...ofVariables];
  if (errors.length > 0 || strict && warnings.length > 0) Deno.exitCode = 1;
  if (json) return printJson({ file, projects, triggers, errors, warnings, left_out });
  printFindings(file, { errors, warnings });
  for (const each of left_out) console.log(harmless(`${file}: not checked: ${each}`));
  const content = `${counted(projects.length, "project")}, ${counted(triggers.length, "trigger")}`;
  const ends = `${counted(errors.length, "error")}, ${counted(warnings.length, "warning")}`;
  console.log(harmless(`${file}: ${errors.length > 0 ? "" : `${content}: `}${ends}`));
}
