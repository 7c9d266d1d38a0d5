/**
 * `hooklaunch attention`: what fails, and the warnings of how triggers are set up.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { type Cause, CAUSE_GROUPS } from "../attention/cause.ts";
import { InvalidInputError, NotFoundError } from "../platform/errors.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printIds, printJson } from "./console/table.ts";
import { quietly } from "./input/options.ts";

interface ListOptions extends ApiOptions {
  group?: string;
  trigger?: string;
  project?: string;
  dismissed?: boolean;
}

interface DismissOptions extends ApiOptions {
  reason: string;
}

/** Defines the command. */
export function defineAttention(command: Command): void {
  command.description(
    "List what needs attention: failures first, then warnings of how triggers are set up. A warning can be " +
      "dismissed with a reason, and comes back when what it says changes.",
  );
  apiOptions(
    command.command("list", { isDefault: true }).description(
      "List what needs attention, or the warnings that were dismissed",
    ),
  )
    .addOption(
      new Option("--group <group>", "only failures, or only set-ups").choices(CAUSE_GROUPS),
    )
    .option("--trigger <name>", "only those of this trigger, by its name or id")
    .option("--project <name>", "only those of this project and its triggers")
    .option("--dismissed", "list the dismissed warnings instead")
    .addOption(quietly("print the ids alone, one a line"))
    .option("--json", "print JSON")
    .action(list);
  apiOptions(
    command.command("dismiss").description(
      "Dismiss a warning of a trigger; the audit log has who and why",
    ),
  )
    .argument("<warning>", "its id or the beginning of one, as list shows it")
    .requiredOption("--reason <text>", "why it needs no attention: others read it")
    .option("--json", "print JSON")
    .action(dismiss);
  apiOptions(command.command("restore").description("Bring a dismissed warning back"))
    .argument("<warning>", "its id or the beginning of one, as list --dismissed shows it")
    .option("--json", "print JSON")
    .action(restore);
}

async function list(options: ListOptions): Promise<void> {
  const { url, json = false, quiet = false, group, trigger, project, dismissed = false } = options;
  const query = { group, trigger, project, ...(dismissed && { dismissed: "true" }) };
  const causes = await Array.fromAsync(clientOf(url).each<Cause>("attention/", { query }));
  if (json) return printJson(causes);
  if (quiet) return printIds(causes);
  if (causes.length === 0) {
    console.log(dismissed ? "No warning is dismissed" : "Nothing needs attention");
  }
  for (const cause of causes) print(cause);
}

function print({ id, code, subject, since, text, advice, pointers = [], dismissed }: Cause): void {
  const name = subject.kind === "service" ? "service" : `${subject.kind} ${subject.name}`;
  console.log(harmless(`${id}  ${code}  ${name}  since ${since}`));
  console.log(harmless(`  ${[...pointers, text].join(": ")}`));
  console.log(
    harmless(
      dismissed === undefined
        ? `  → ${advice}`
        : `  dismissed by ${dismissed.author.name} at ${dismissed.time}: ${dismissed.reason}`,
    ),
  );
}

async function dismiss(beginning: string, options: DismissOptions): Promise<void> {
  const { url, json = false, reason } = options;
  const api = clientOf(url);
  const { id, subject } = await findWarning(api, beginning, { dismissed: false });
  const cause: Cause = await api.request("PUT", placeOf(subject.id, id), { reason });
  if (json) return printJson(cause);
  print(cause);
}

async function restore(beginning: string, { url, json = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const { id, subject } = await findWarning(api, beginning, { dismissed: true });
  await api.request("DELETE", placeOf(subject.id, id));
  if (json) return printJson({ id });
  console.log(`Warning ${id} of trigger ${harmless(subject.name)} is back`);
}

function placeOf(triggerId: string | undefined, warning: string): string {
  return `triggers/${triggerId}/warnings/${warning}/dismissal/`;
}

/** Finds the one warning whose id has a beginning. */
async function findWarning(
  api: ApiClient,
  beginning: string,
  { dismissed }: { dismissed: boolean },
): Promise<Cause> {
  const query = { group: "setup", ...(dismissed && { dismissed: "true" }) };
  const found: Cause[] = [];
  for await (const cause of api.each<Cause>("attention/", { query })) {
    if (cause.id.startsWith(beginning)) found.push(cause);
  }
  const [only, other] = found;
  if (only === undefined) {
    const kind = dismissed ? "dismissed warning" : "warning";
    throw new NotFoundError(`There is no ${kind} whose id begins with ${beginning}`);
  }
  if (other === undefined) return only;
  throw new InvalidInputError(
    "the id of the warning",
    `Expected the beginning of one id, found several with ${beginning}, such as ${only.id} and ${other.id}`,
  );
}
