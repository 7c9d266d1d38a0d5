/**
 * `hooklaunch trigger create`, `enable`, `disable` and `delete`.
 *
 * @module
 */
import type { Command } from "commander";
import type { ShownTrigger } from "../http/api/triggers.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { confirm } from "./console/confirm.ts";
import { shellQuote } from "../platform/shell.ts";
import { harmless, printIds, printJson } from "./console/table.ts";
import { quietly, readInput } from "./input/options.ts";
import { findTrigger } from "./api/find_trigger.ts";

/** Defines the commands. */
export function defineTriggerChanges(command: Command): void {
  apiOptions(command.command("create").description("Create a trigger from a file"))
    .argument("<file>", "one trigger, as YAML or JSON; - reads standard input")
    .addOption(quietly("print the id of the trigger alone"))
    .option("--json", "print JSON")
    .action(create);
  for (const [name, enabled] of [["enable", true], ["disable", false]] as const) {
    const does = enabled ? "Enable a trigger" : "Disable a trigger: it refuses every launch";
    apiOptions(command.command(name).description(does))
      .argument("<trigger>", "name or id")
      .option("--json", "print JSON")
      .action((trigger: string, options: ApiOptions) => setEnabled(trigger, enabled, options));
  }
  apiOptions(
    command.command("delete").description("Delete a trigger. Its launch URL answers 404 then"),
  )
    .argument("<trigger>", "name or id")
    .option("--yes", "do not ask")
    .option("--json", "print JSON")
    .action(remove);
}

/** Tells what the next apply of the file that owns a trigger does. */
function tellOwner({ name, file }: ShownTrigger, does: string): void {
  if (file === undefined) return;
  console.error(harmless(`Trigger ${name} belongs to ${file}: the next apply of it ${does}`));
}

/** Prints a trigger that was saved: its launch URL and its warnings. */
export function printSaved(did: string, trigger: ShownTrigger, json: boolean): void {
  if (json) return printJson(trigger);
  console.log(harmless(`Trigger ${trigger.name} is ${did}: ${trigger.url}`));
  for (const { pointer, detail } of trigger.warnings) {
    console.log(harmless(`  warning: ${pointer}: ${detail}`));
  }
}

async function create(
  path: string,
  { url, json = false, quiet = false }: ApiOptions,
): Promise<void> {
  const written = await readInput(path, "the trigger");
  // Commands that only ask a service do not load it.
  const { parseYaml } = await import("../platform/yaml/parse.ts");
  const { value } = parseYaml(written, path);
  const created: ShownTrigger = await clientOf(url).request("POST", "triggers/", value);
  if (quiet) printIds([created]);
  else printSaved("created", created, json);
}

async function setEnabled(
  nameOrId: string,
  enabled: boolean,
  { url, json = false }: ApiOptions,
): Promise<void> {
  const api = clientOf(url);
  const { id } = await findTrigger(api, nameOrId);
  const trigger: ShownTrigger = await api.request("PATCH", `triggers/${id}/`, { enabled });
  printSaved(enabled ? "enabled" : "disabled", trigger, json);
  if (!json) tellOwner(trigger, "makes it as the file says");
}

async function remove(
  nameOrId: string,
  { url, json = false, yes = false }: ApiOptions & { yes?: boolean },
): Promise<void> {
  const api = clientOf(url);
  const trigger = await findTrigger(api, nameOrId);
  const { id, name, revision } = trigger;
  if (!yes) {
    confirm(`Delete trigger ${name}? Its launch URL is gone for good then.`);
  }
  await api.request("DELETE", `triggers/${id}/`, undefined, { revision });
  if (json) printJson({ id, name });
  else {
    console.log(
      `Trigger ${name} is deleted. What it has launched goes on: ` +
        `hooklaunch runs --trigger ${shellQuote(name)}`,
    );
    tellOwner(trigger, "creates it again");
  }
}
