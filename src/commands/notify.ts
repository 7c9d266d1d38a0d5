/**
 * `hooklaunch notify`: notifiers, and what they have told.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { type Command, Option } from "commander";
import { ActionError } from "../platform/errors.ts";
import { type Notification, NOTIFICATION_STATUSES } from "../store/records/notifications.ts";
import type { StoredNotifier } from "../store/records/notifiers.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { idBeginning, withId } from "./api/whole_id.ts";
import { harmless, printIds, printJson, printList } from "./console/table.ts";
import { quietly } from "./input/options.ts";

/** The time between two looks at a notification that is on its way. */
const LOOK_MS = 250;

interface ListOptions extends ApiOptions {
  notifier?: string;
  status?: string;
  limit: string;
}

/** Defines the command. */
export function defineNotify(command: Command): void {
  command.description(
    "Show what notifiers have told, try a notifier out, and send a notification again. Notifiers are " +
      "written in the configuration file, under notifications.",
  );
  apiOptions(
    command.command("list", { isDefault: true }).description("List notifications, newest first"),
  )
    .option("--notifier <name>", "only those of this notifier")
    .addOption(
      new Option("--status <status>", "only those with this status").choices(NOTIFICATION_STATUSES),
    )
    .option("--limit <number>", "how many at most", "20")
    .addOption(quietly("print the ids alone, one a line"))
    .option("--json", "print JSON")
    .action(list);
  apiOptions(
    command.command("notifiers").description("List the notifiers, and whether each works"),
  )
    .addOption(quietly("print the names alone, one a line"))
    .option("--json", "print JSON")
    .action(notifiers);
  apiOptions(command.command("show").description("Show a notification"))
    .argument("<id>", "its id or the beginning of one, as list shows it", idBeginning)
    .option("--json", "print JSON")
    .action(withId("notifications", show));
  apiOptions(
    command.command("test").description(
      "Send a message that tries a notifier out, and say whether it has arrived",
    ),
  )
    .argument("<name>", "the name of the notifier")
    .option("--json", "print JSON")
    .action(test);
  apiOptions(command.command("resend").description("Send a notification again"))
    .argument("<id>", "its id or the beginning of one, as list shows it", idBeginning)
    .option("--json", "print JSON")
    .action(withId("notifications", resend));
}

async function list(options: ListOptions): Promise<void> {
  const { url, json = false, quiet = false, notifier, status, limit } = options;
  const most = Number(limit);
  const found: Notification[] = [];
  const query = { notifier, status, limit: String(Math.min(most, 200)) };
  for await (const each of clientOf(url).each<Notification>("notifications/", { query })) {
    if (found.length >= most) break;
    found.push(each);
  }
  if (quiet) return printIds(found);
  printList(found, [
    ["id", ({ id }) => id],
    ["time", ({ created_at }) => created_at],
    ["notifier", (each) => each.notifier],
    ["status", (each) => each.status],
    ["title", ({ title }) => title],
    ["reason", ({ reason }) => reason],
  ], { json });
}

async function notifiers(
  { url, json = false, quiet = false }: ApiOptions & { quiet?: boolean },
): Promise<void> {
  type Shown = StoredNotifier & { failing_since?: string; reason?: string };
  const found = await clientOf(url).list<Shown>("notifiers/");
  if (quiet) return printIds(found);
  printList(found, [
    ["name", ({ name }) => name],
    ["to", ({ to }) => to.type],
    ["on", ({ on }) => on.length === 0 ? "each run" : on.join(", ")],
    ["failing since", ({ failing_since }) => failing_since],
    ["reason", ({ reason }) => reason],
  ], { json });
}

async function show(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const notification = await read(clientOf(url), id);
  if (json) return printJson(notification);
  print(notification);
}

async function test(name: string, { url, json = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const path = `notifiers/${encodeURIComponent(name)}/test/`;
  const made: Notification = await api.request("POST", path);
  const ended = await endOf(api, made);
  if (json) printJson(ended);
  if (ended.status !== "sent") {
    throw new ActionError(`Notifier ${name} does not work: ${ended.reason}`);
  }
  if (!json) console.log(harmless(`Notifier ${name} works: the message has arrived`));
}

async function resend(id: string, { url, json = false }: ApiOptions): Promise<void> {
  const made: Notification = await clientOf(url).request("POST", `notifications/${id}/resend/`);
  if (json) return printJson(made);
  console.log(`Notification ${made.id} says the same again`);
}

/** Waits for the end of a notification that is sent once. */
async function endOf(api: ApiClient, made: Notification): Promise<Notification> {
  let current = made;
  while (current.status === "pending") {
    await delay(LOOK_MS);
    current = await read(api, made.id);
  }
  return current;
}

async function read(api: ApiClient, id: string): Promise<Notification> {
  return await api.request("GET", `notifications/${id}/`);
}

function print(
  { id, notifier, status, created_at, attempts, reason, title, text }: Notification,
): void {
  console.log(harmless(`${id}  ${notifier}  ${status}  ${created_at}`));
  console.log(harmless(`attempts: ${attempts}${reason === undefined ? "" : `  ${reason}`}`));
  console.log("");
  for (const line of [title, ...text.split("\n")]) console.log(harmless(line));
}
