/**
 * `hooklaunch trigger secret`: rotates the secrets of a trigger's condition, by their names.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import type { ShownTrigger } from "../http/api/triggers.ts";
import type { TriggerSecrets } from "../http/api/trigger_secrets.ts";
import { InvalidInputError, NotFoundError } from "../platform/errors.ts";
import type { ListedSecret } from "../triggers/list_secrets.ts";
import type { ApiClient } from "./api/client.ts";
import { findTrigger } from "./api/find_trigger.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printIds, printList } from "./console/table.ts";
import { quietly, readInput } from "./input/options.ts";
import { printSaved } from "./trigger_change.ts";

/** Units of `--in`, in milliseconds. */
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The form of a secret in the API. */
type Secret = string | { name?: string; fingerprint?: string; value?: string; until?: string };

interface SecretOptions extends ApiOptions {
  condition?: number;
}

/** Defines the commands. */
export function defineTriggerSecret(command: Command): void {
  apiOptions(
    command.command("list").summary("List the secrets of a trigger, without their texts")
      .description(
        "List the secrets of a trigger, stored ones and those in variables and files, by names and fingerprints.",
      ),
  )
    .argument("<trigger>", "name or id")
    .addOption(quietly("print their names alone, or else their fingerprints, one a line"))
    .option("--json", "print JSON")
    .action(list);
  const added = "Add a secret. Requests may be signed with any secret of the list";
  secretCommand(command, "add", added, "a name for the secret")
    .option(
      "--from <reference>",
      "{env:NAME} or {file:/path}; else standard input holds the secret",
    )
    .action(add);
  secretCommand(command, "expire", "Give a secret an end: from then on it matches nothing")
    .option("--in <duration>", "the time until the end, such as 30m, 12h or 7d", duration_ms)
    .option("--until <time>", "the end itself, such as 2027-01-31T00:00:00Z")
    .action(expire);
  secretCommand(command, "remove", "Remove a secret").action(remove);
}

function secretCommand(
  command: Command,
  name: string,
  description: string,
  named = "the secret's name, or its fingerprint",
): Command {
  return apiOptions(command.command(name).description(description))
    .argument("<trigger>", "name or id")
    .argument("<name>", named)
    .option(
      "--condition <index>",
      "the place of the condition, from 0; needed where several have secrets",
      place,
    )
    .option("--json", "print JSON");
}

async function list(
  nameOrId: string,
  { url, json = false, quiet = false }: ApiOptions,
): Promise<void> {
  const api = clientOf(url);
  const secrets = await secretsIn(api, (await findTrigger(api, nameOrId)).id);
  if (quiet) {
    return printIds(secrets.flatMap(({ name, fingerprint }) => {
      const shown = name ?? fingerprint;
      return shown === undefined ? [] : [{ name: shown }];
    }));
  }
  printList(secrets, [
    ["name", ({ name }) => name],
    ["fingerprint", ({ fingerprint }) => fingerprint],
    ["state", ({ state }) => state],
    ["until", ({ until }) => until],
    ["from", ({ kind, source }) => [kind, source].filter(Boolean).join(" ")],
    ["place", ({ pointer }) => pointer.slice(1)],
  ], { json });
}

async function secretsIn(api: ApiClient, triggerId: string): Promise<ListedSecret[]> {
  const { secrets }: TriggerSecrets = await api.request("GET", `triggers/${triggerId}/secrets/`);
  return secrets;
}

async function add(
  trigger: string,
  name: string,
  { from, ...options }: SecretOptions & { from?: string },
): Promise<void> {
  // Not from the command line, which everybody on the machine can read.
  const value = from ?? new TextDecoder().decode(await readInput("-", "the secret"))
    .replace(/\r?\n$/, "");
  if (value === "") {
    const detail = "Expected it on standard input, or --from with its place: found nothing";
    throw new InvalidInputError("the secret", detail);
  }
  if (from !== undefined && !/^\{(env|file):/.test(from)) {
    throw new InvalidInputError(
      "--from",
      "Expected {env:NAME} or {file:/path}, found another text",
    );
  }
  await change(trigger, options, (secrets) => [...secrets, { name, value }]);
}

async function expire(
  trigger: string,
  name: string,
  options: SecretOptions & { in?: number; until?: string },
): Promise<void> {
  const { in: in_ms, until = endIn(in_ms) } = options;
  await change(trigger, options, (secrets, known) => {
    const place = placeOf(known, name);
    return secrets.map((each, index) =>
      index === place ? { ...(typeof each === "string" ? { value: each } : each), until } : each
    );
  });
}

async function remove(trigger: string, name: string, options: SecretOptions): Promise<void> {
  await change(trigger, options, (secrets, known) => {
    const place = placeOf(known, name);
    return secrets.filter((_, index) => index !== place);
  });
}

/** Changes the secrets of one condition, unless the trigger changes meanwhile. */
async function change(
  nameOrId: string,
  { url, json = false, condition }: SecretOptions,
  edit: (secrets: readonly Secret[], known: readonly ListedSecret[]) => readonly Secret[],
): Promise<void> {
  const api = clientOf(url);
  const trigger = await findTrigger(api, nameOrId);
  const { id, revision } = trigger;
  const place = condition ?? conditionWithSecrets(trigger);
  const at = `/conditions/${place}/secrets/`;
  const known = (await secretsIn(api, id)).filter(({ pointer }) => pointer.startsWith(at));
  const conditions = trigger.conditions.map((each, index) =>
    index === place ? { ...each, secrets: edit(secretsOf(each), known) } : each
  );
  const saved: ShownTrigger = await api.request(
    "PATCH",
    `triggers/${id}/`,
    { conditions },
    { revision },
  );
  printSaved("changed", saved, json);
  if (!json && saved.file !== undefined) await printFileLines(saved, saved.file, place);
}

/** Prints what the next apply of the file that owns a trigger does, and the lines that keep a change there. */
async function printFileLines(
  { name, conditions }: ShownTrigger,
  file: string,
  place: number,
): Promise<void> {
  // Commands that only ask a service do not load it.
  const { yamlLines } = await import("./console/yaml_lines.ts");
  const secrets = secretsOf(conditions[place] ?? {});
  const isMasked = JSON.stringify(secrets).includes('"********"');
  const lines = [
    `Trigger ${name} belongs to ${file}: the next apply of it, or start with it, sets the secrets of the file`,
    `again. To keep this change, write in the file, at conditions/${place} of the trigger:`,
    ...(isMasked ? ["# The service keeps the stored secret in place of ********."] : []),
    ...yamlLines({ secrets }),
  ];
  // The trigger itself goes to standard output.
  for (const line of lines) console.error(harmless(line));
}

function conditionWithSecrets({ name, conditions }: ShownTrigger): number {
  const places = conditions.flatMap((each, index) => secretsOf(each).length > 0 ? [index] : []);
  const [only, ...others] = places;
  if (only !== undefined && others.length === 0) return only;
  throw new InvalidInputError(
    "--condition",
    `Expected the place of a condition of trigger "${name}" with secrets: ${
      places.join(", ") || "it has none"
    }`,
  );
}

function secretsOf(condition: object): Secret[] {
  return "secrets" in condition && Array.isArray(condition.secrets) ? condition.secrets : [];
}

/** Returns the place of a secret in its list, by its name or its fingerprint. */
function placeOf(known: readonly ListedSecret[], wanted: string): number {
  const named = known.filter(({ name }) => name === wanted);
  const found = named.length > 0 ? named : known.filter((each) => each.fingerprint === wanted);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return Number(only.pointer.split("/").at(-1));
  const names = known.map(({ name, fingerprint }) => name ?? fingerprint).filter(Boolean);
  throw new NotFoundError(
    only === undefined
      ? `There is no secret "${wanted}"; there are: ${names.join(", ") || "none"}`
      : `There are several secrets "${wanted}": name one by its fingerprint, as trigger secret list shows it`,
  );
}

function endIn(in_ms: number | undefined): string {
  if (in_ms !== undefined) return new Date(Date.now() + in_ms).toISOString();
  throw new InvalidInputError("the command", "Expected --in or --until, found neither");
}

function duration_ms(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unit_ms = UNITS_MS[unit];
  if (unit_ms !== undefined) return Number(count) * unit_ms;
  throw new InvalidArgumentError("Expected a duration such as 30m, 12h or 7d.");
}

function place(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}
