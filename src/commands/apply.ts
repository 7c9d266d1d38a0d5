/**
 * `hooklaunch apply`: creates and updates the projects and triggers of a running service from a file.
 *
 * @module
 */
import type { Command } from "commander";
import { apiTarget } from "./api/target.ts";
import { applyConfig } from "../config/apply.ts";
import { parseConfig } from "../config/document.ts";
import { apiOptions, clientOf } from "./api/options.ts";
import { isStandardInput, readConfiguration } from "./input/options.ts";

/** Defines the command. */
export function defineApply(command: Command): void {
  command.argument("<file>", "the configuration file; - reads standard input");
  apiOptions(command).action(apply);
}

async function apply(path: string, { url }: { url: string }): Promise<void> {
  const { written, folder } = await readConfiguration(path);
  const source = isStandardInput(path) ? "standard input" : path;
  const document = parseConfig(written, source, folder);
  if (document.projects.length + document.triggers.length === 0) {
    console.log(`Nothing to apply: ${source} holds no projects and no triggers`);
  }
  for await (const applied of applyConfig(document, apiTarget(clientOf(url)))) {
    const { kind, name, outcome, launchUrl, warnings } = applied;
    console.log([`${kind} ${name}: ${outcome}`, launchUrl].filter(Boolean).join("  "));
    for (const { pointer, detail } of warnings) console.log(`  warning: ${pointer}: ${detail}`);
  }
}
