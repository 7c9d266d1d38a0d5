/**
 * `hooklaunch apply`: creates and updates the projects and triggers of a running service from a file.
 *
 * @module
 */
import type { Command } from "commander";
import { applyConfig, type ApplyTarget } from "../config/apply.ts";
import { type ConfigDocument, parseConfig } from "../config/document.ts";
import { planConfig, type PlannedChange } from "../config/plan.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { apiPlanSource, apiTarget } from "./api/target.ts";
import { confirm } from "./console/confirm.ts";
import { harmless, printJson } from "./console/table.ts";
import { isStandardInput, readConfiguration } from "./input/options.ts";

/** The exit code of `--check` when the service differs from the file. */
const DIFFERS = 2;

/** The word for the changes of a sign. */
const WORDS = { "+": "created", "~": "changed", "-": "removed" } as const;

interface ApplyOptions extends ApiOptions {
  plan?: boolean;
  prune?: boolean;
  check?: boolean;
  yes?: boolean;
}

/** Defines the command. */
export function defineApply(command: Command): void {
  command.argument("<file>", "the configuration file; - reads standard input");
  apiOptions(command)
    .option("--plan", "show what would change, and ask before it is done")
    .option(
      "--prune",
      "also delete projects, triggers and notifiers that the file does not mention, after asking",
    )
    .option("--check", "show what would change, and change nothing")
    .option("--yes", "do not ask")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
In a plan, + creates, ~ updates and - deletes.
Exit codes with --check:
  0  the service is as the file says
  1  the command itself failed, such as for an error in the file
  ${DIFFERS}  the service differs from the file`,
    )
    .action(apply);
}

async function apply(path: string, options: ApplyOptions): Promise<void> {
  const { url, json = false, plan = false, prune = false, check = false, yes = false } = options;
  const { written, folder } = await readConfiguration(path);
  const source = isStandardInput(path) ? "standard input" : path;
  const document = parseConfig(written, source, folder);
  const api = clientOf(url);
  for (const setting of ["storage", "backup"] as const) {
    if (document[setting] === undefined || json) continue;
    console.log(`${setting} is read when the service starts: after a change, restart it`);
  }
  if (document.oidc.length > 0 && !json) {
    console.log("oidc is read by serve --config alone: this command leaves logins as they are");
  }
  let deletions: PlannedChange[] = [];
  if (plan || prune || check) {
    const changes = await planConfig(document, apiPlanSource(api), { prunes: prune });
    if (check || !json) printPlan(changes, json);
    if (check) Deno.exitCode = changes.length > 0 ? DIFFERS : 0;
    if (check || changes.length === 0) return;
    deletions = changes.filter(({ sign }) => sign === "-");
    if (!yes) {
      confirm(`Make ${changes.length === 1 ? "this change" : `these ${changes.length} changes`}?`);
    }
  } else if (isEmpty(document) && !json) {
    console.log(`Nothing to apply: ${source} holds no projects and no triggers`);
  }
  const done = await applyAll(document, apiTarget(api, source), json);
  for (const each of deletions) {
    await remove(each, api);
    const { kind, name } = each;
    done.push({ kind, name, outcome: "deleted", warnings: [] });
    if (!json) console.log(`${kind} ${name}: deleted`);
  }
  if (json) printJson(done);
}

async function applyAll(
  document: ConfigDocument,
  target: ApplyTarget,
  json: boolean,
): Promise<Record<string, unknown>[]> {
  const done: Record<string, unknown>[] = [];
  for await (const applied of applyConfig(document, target)) {
    const { kind, name, outcome, launchUrl, warnings } = applied;
    done.push({ kind, name, outcome, url: launchUrl, warnings });
    if (json) continue;
    console.log([`${kind} ${name}: ${outcome}`, launchUrl].filter(Boolean).join("  "));
    for (const { pointer, detail } of warnings) {
      console.log(harmless(`  warning: ${pointer}: ${detail}`));
    }
  }
  return done;
}

function isEmpty({ projects, triggers, notifications }: ConfigDocument): boolean {
  return projects.length + triggers.length + notifications.length === 0;
}

/** Deletes what has not changed since the plan was shown. */
async function remove({ kind, name, id, revision }: PlannedChange, api: ApiClient): Promise<void> {
  const path = kind === "trigger" ? `triggers/${id}/` : `${kind}s/${name}/`;
  await api.request("DELETE", path, undefined, revision === undefined ? {} : { revision });
}

function printPlan(changes: readonly PlannedChange[], json: boolean): void {
  if (json) return printJson(changes);
  if (changes.length === 0) console.log("Nothing changes: the service is as the file says");
  for (const { sign, kind, name, detail, differences } of changes) {
    const more = detail === undefined ? "" : `: ${detail}`;
    console.log(harmless(`${sign} ${kind} ${name} would be ${WORDS[sign]}${more}`));
    for (const { pointer, detail } of differences) {
      console.log(harmless(`    ${pointer.slice(1)}: ${detail}`));
    }
  }
}
