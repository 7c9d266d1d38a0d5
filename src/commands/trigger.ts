/**
 * `hooklaunch trigger`: the triggers of a running service, and their logs.
 *
 * @module
 */
import { NotFoundError, problemText } from "../platform/errors.ts";
import type { Command } from "commander";
import type { ShownDelivery } from "../http/api/delivery_views.ts";
import type { ShownQuota, TriggerQuotas } from "../http/api/quotas.ts";
import type { ShownTrigger } from "../http/api/triggers.ts";
import type { LogEntry } from "../http/api/trigger_log.ts";
import type { ApiClient } from "./api/client.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { quietly, wholeNumber } from "./input/options.ts";
import { harmless, printFields, printIds, printJson, printList } from "./console/table.ts";
import { recordText } from "./console/format.ts";
import { ignoreBrokenPipe, writeLines } from "./console/terminal.ts";
import { untilEnded } from "./api/until_ended.ts";
import { defineTriggerChanges } from "./trigger_change.ts";
import { defineTriggerNext } from "./trigger_next.ts";
import { defineTriggerTry } from "./trigger_try.ts";
import { defineTriggerSecret } from "./trigger_secret.ts";

const LOG_LIMIT = 50;
const LOG_LIMIT_MAX = 200;

/** Defines the command. */
export function defineTrigger(command: Command): void {
  apiOptions(command.command("list").description("List the triggers"))
    .addOption(quietly())
    .option("--json", "print JSON")
    .action(list);
  apiOptions(command.command("show").description("Show a trigger with its secrets masked"))
    .argument("<trigger>", "name or id")
    .option("--json", "print JSON")
    .action(show);
  apiOptions(
    command.command("url").description("Print the launch URL of a trigger, and nothing else"),
  )
    .argument("<trigger>", "name or id")
    .option("--json", "print JSON")
    .action(printUrl);
  apiOptions(
    command.command("log").description(
      "Show why requests were refused, and actions and executions failed",
    ),
  )
    .argument("<trigger>", "name or id")
    .option(
      "--limit <number>",
      `the number of entries, newest first, at most ${LOG_LIMIT_MAX}`,
      wholeNumber(1, LOG_LIMIT_MAX),
      LOG_LIMIT,
    )
    .option("-f, --follow", "print these, oldest first, and those that come, until it is stopped")
    .option("--json", "print JSON; with --follow, one object a line")
    .action(showLog);
  defineTriggerNext(command.command("next"));
  defineTriggerTry(command.command("try"));
  defineTriggerChanges(command);
  defineTriggerSecret(
    command.command("secret").description("List, add, expire and remove the secrets of a trigger"),
  );
}

async function list({ url, json = false, quiet = false }: ApiOptions): Promise<void> {
  const triggers = await clientOf(url).list<ShownTrigger>("triggers/");
  if (quiet) return printIds(triggers);
  printList(triggers, [
    ["name", ({ name }) => name],
    ["project", ({ project }) => project],
    ["enabled", ({ enabled }) => enabled ? "yes" : "no"],
    ["conditions", ({ conditions }) => conditions.map(({ type }) => type).join(" ")],
    ["owner", ownerText],
    ["launch URL", (trigger) => trigger.url],
    ["id", ({ id }) => id, "wide"],
    ["created", ({ created_at }) => created_at, "wide"],
    ["created by", ({ created_by }) => created_by, "wide"],
    ["changed", ({ updated_at }) => updated_at, "wide"],
    ["changed by", ({ updated_by }) => updated_by, "wide"],
    ["revision", ({ revision }) => revision, "wide"],
  ], { json });
}

async function show(nameOrId: string, { url, json = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const trigger = await findTrigger(api, nameOrId);
  if (json) return printJson(trigger);
  const { quotas }: TriggerQuotas = await api.request("GET", `triggers/${trigger.id}/quotas/`);
  const { enabled, conditions, actions, response, filtered, warnings = [], ...rest } = trigger;
  const { owner: _owner, file: _file, ...fields } = rest;
  printFields({
    ...fields,
    owner: ownerText(trigger),
    filtered: filtered && `status ${filtered.status}`,
    enabled: enabled ? "yes" : "no",
    ...numbered("condition", conditions),
    ...Object.fromEntries(quotas.map((each) => [`quota ${each.index}`, quotaText(each)])),
    ...numbered("action", actions),
    response: JSON.stringify(response),
    ...numbered("warning", warnings.map(problemText)),
  });
}

/** Describes who owns a trigger: the file that it was applied from, or `api`. */
function ownerText({ owner, file }: ShownTrigger): string {
  return file ?? owner;
}

async function printUrl(nameOrId: string, { url, json = false }: ApiOptions): Promise<void> {
  const { id, name, url: launchUrl } = await findTrigger(clientOf(url), nameOrId);
  if (json) printJson({ id, name, url: launchUrl });
  else console.log(launchUrl);
}

function quotaText({ quota, left, more_at }: ShownQuota): string {
  return `${left} of ${quota} left${more_at === undefined ? "" : `, more at ${more_at}`}`;
}

/** Makes a field of each element, with its place as in pointers. */
function numbered(name: string, elements: readonly unknown[]): Record<string, string> {
  const shown = elements.map((element) =>
    typeof element === "string" ? element : JSON.stringify(element)
  );
  return Object.fromEntries(shown.map((element, index) => [`${name} ${index}`, element]));
}

interface LogOptions extends ApiOptions {
  limit: number;
  follow?: boolean;
}

async function showLog(
  nameOrId: string,
  { url, json = false, limit, follow = false }: LogOptions,
): Promise<void> {
  const api = clientOf(url);
  const { id, name } = await findLogged(api, nameOrId);
  if (follow) return await followLog(api, id, { json, limit }).catch(ignoreBrokenPipe);
  const page: { results: LogEntry[] } = await api.request(
    "GET",
    `triggers/${id}/log/?limit=${limit}`,
  );
  if (json) return printJson(page.results);
  if (page.results.length === 0) {
    console.error(
      `The log of trigger "${name}" is empty: no request was refused, no handshake answered, and no action or execution failed`,
    );
  }
  for (const entry of page.results) console.log(describe(entry));
}

/** Prints the newest entries, and those that come. An entry that counts others is printed again when it changes. */
async function followLog(
  api: ApiClient,
  id: string,
  { json, limit }: { json: boolean; limit: number },
): Promise<void> {
  const textOf = (entry: LogEntry) => json ? recordText(entry) : describe(entry);
  let known: ReadonlyMap<string, string> | undefined;
  await untilEnded<LogEntry[]>({
    read: () => newestEntries(api, id, known),
    hasEnded: () => false,
    async onRead(entries) {
      const shown = known === undefined ? entries.slice(0, limit) : entries;
      const fresh = shown.filter((entry) => known?.get(entry.id) !== textOf(entry));
      await writeLines(Deno.stdout, fresh.map(textOf).toReversed());
      known = new Map(entries.map((entry) => [entry.id, textOf(entry)]));
    },
  });
}

/** Reads the newest entries of a log, and where all of them have come since the last look, those before them. */
async function newestEntries(
  api: ApiClient,
  id: string,
  known: ReadonlyMap<string, string> | undefined,
): Promise<LogEntry[]> {
  const path = `triggers/${id}/log/`;
  const entries: LogEntry[] = [];
  for (let query = `?limit=${LOG_LIMIT_MAX}`;;) {
    const { results, next }: { results: LogEntry[]; next: string | null } = await api.request(
      "GET",
      path + query,
    );
    entries.push(...results);
    const areNew = known !== undefined && results.every((entry) => !known.has(entry.id));
    if (next === null || results.length < LOG_LIMIT_MAX || !areNew) return entries;
    query = new URL(next).search;
  }
}

/** Finds a trigger, or one that was deleted and whose deliveries are kept. */
async function findLogged(api: ApiClient, nameOrId: string): Promise<{ id: string; name: string }> {
  try {
    return await findTrigger(api, nameOrId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const query = `deliveries/?limit=1&trigger=${encodeURIComponent(nameOrId)}`;
    const { results: [delivery] } = await api.request<{ results: ShownDelivery[] }>("GET", query)
      .catch((): never => {
        // It names the triggers that there are.
        throw error;
      });
    if (delivery === undefined) throw error;
    return { id: delivery.trigger_id, name: nameOrId };
  }
}

/** Writes an entry: a line, and below it the expected and the found value. */
function describe(entry: LogEntry): string {
  switch (entry.kind) {
    case "refused": {
      const { remote_ip, size, sha256 } = entry.request;
      const which = entry.condition_index === undefined
        ? ""
        : ` (conditions/${entry.condition_index})`;
      return lines(
        `${entry.time}  refused  ${entry.condition}${which}: ${entry.reason}`,
        entry.expected === undefined ? undefined : `expected ${entry.expected}`,
        entry.found === undefined ? undefined : `found ${entry.found}`,
        `from ${remote_ip}${size === undefined ? "" : `, ${size} bytes, sha256 ${sha256}`}`,
      );
    }
    case "action_failed":
      return lines(
        `${entry.time}  failed   ${entry.action} (actions/${entry.action_index}): ${entry.error}`,
        `run ${entry.run_id}`,
      );
    case "http_request_failed":
      return lines(
        `${entry.time}  failed   HTTP request to ${entry.url}: ${entry.error}`,
        `run ${entry.run_id}`,
      );
    case "execution_failed":
      return lines(
        `${entry.time}  failed   step ${entry.step}: ${entry.reason}`,
        `execution ${entry.execution_id}`,
        `run ${entry.run_id}`,
      );
    case "shape_changed":
      return lines(
        `${entry.time}  differs  ${entry.reason}`,
        entry.expected === undefined ? undefined : `expected ${entry.expected}`,
        entry.found === undefined ? undefined : `found ${entry.found}`,
        `run ${entry.run_id}`,
      );
    case "pace_incomplete":
      return lines(
        `${entry.time}  no value ${entry.pointer}: ${entry.expression}: ${entry.error}`,
        `run ${entry.run_id}`,
      );
    case "handshake":
      return lines(
        `${entry.time}  handshake ${entry.handshake}: answered ${entry.status}`,
        entry.told === undefined ? undefined : `sent the secret ${entry.told}`,
        `${entry.request.method} from ${entry.request.remote_ip}`,
      );
    case "omitted":
      return `${entry.time}  ${entry.count} more entries were left out`;
  }
}

function lines(first: string, ...more: readonly (string | undefined)[]): string {
  const below = more.filter((line) => line !== undefined).map((line) => `    ${line}`);
  // Text of a sender must not look like lines of the log, nor move the cursor.
  return [first, ...below].map(harmless).join("\n");
}
