/**
 * `hooklaunch export`: the projects, triggers and notifiers of a running service, as a configuration file.
 *
 * @module
 */
import type { Command } from "commander";
import { stringify } from "yaml";
import type { ShownTrigger } from "../http/api/triggers.ts";
import { type Project, projectSettings } from "../store/records/projects.ts";
import { notifierSettings, type StoredNotifier } from "../store/records/notifiers.ts";
import { withoutReadOnly } from "../triggers/read_only.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printJson } from "./console/table.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";

const LITERALS =
  "# Literal secrets are masked. The service that has them keeps them when this is applied; for " +
  "another service, write the secrets in their places.\n";

/** Defines the command. */
export function defineExport(command: Command): void {
  apiOptions(
    command.summary("Print projects and triggers as a configuration file").description(
      "Print projects, triggers and notifiers as a configuration file, which apply and serve --config read. " +
        "Triggers keep their ids, and so their launch URLs. Literal secrets are masked.",
    ),
  )
    .option("--json", "print JSON, which is a configuration file too")
    .action(exportAll);
}

async function exportAll({ url, json = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const projects = (await api.list<Project>("projects/")).map(projectSettings);
  const shown = await api.list<ShownTrigger>("triggers/");
  const triggers = shown.map(withoutReadOnly);
  const notifications = (await api.list<StoredNotifier>("notifiers/")).map(notifierSettings);
  const all = { projects, triggers, ...(notifications.length > 0 && { notifications }) };
  if (json) return printJson(all);
  const isMasked = JSON.stringify(all).includes('"********"');
  const text = stringify(all, { lineWidth: 100, aliasDuplicateObjects: false });
  const head = schemaLine(shown[0]?.url) + (isMasked ? LITERALS : "");
  await writeLines(Deno.stdout, (head + text).trimEnd().split("\n")).catch(ignoreBrokenPipe);
}

/** Returns the line by which editors find the schema of the file, from the address of a trigger. */
function schemaLine(launchUrl: string | undefined): string {
  if (launchUrl === undefined) return "";
  const schema = new URL("../../../../docs/schema.json", launchUrl);
  return `# yaml-language-server: $schema=${schema}\n`;
}
