/**
 * `hooklaunch token`: the operators' tokens of a running service.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ServiceState } from "../http/api/service.ts";
import { type ListedToken, SCOPES } from "../store/records/tokens.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printIds, printJson, printList } from "./console/table.ts";
import { quietly } from "./input/options.ts";

const HOUR_MS = 60 * 60_000;
/** The token that a variable of the service holds. It has no id: to revoke it, change the variable. */
const OF_VARIABLE = { id: "(variable)", name: "HOOKLAUNCH_ADMIN_TOKEN" };

interface CreateOptions extends ApiOptions {
  scope: string;
  trigger?: string[];
  project?: string[];
  expires?: string;
}

/** Defines the command. */
export function defineToken(command: Command): void {
  apiOptions(
    command.command("list").summary("List the tokens").description(
      "List the tokens, with the one in the service's HOOKLAUNCH_ADMIN_TOKEN where it is set. JSON has the " +
        "created ones alone.",
    ),
  )
    .addOption(quietly("print the ids of the created ones alone, one a line"))
    .option("--json", "print JSON")
    .action(list);
  apiOptions(
    command.command("create").description("Create a token and print it. It is not shown again"),
  )
    .argument("<name>", "the person or program that uses it")
    .addOption(
      new Option(
        "--scope <scope>",
        "read: see everything; operate: also run, repeat and stop work; admin: also change everything",
      ).choices(SCOPES).default("admin"),
    )
    .option("--trigger <names...>", "limit it to these triggers, by name or id")
    .option("--project <names...>", "limit it to these projects")
    .option(
      "--expires <when>",
      "let it expire after a time such as 12h or 30d, or at a date",
      expiry,
    )
    .option("--json", "print JSON")
    .action(create);
  apiOptions(
    command.command("revoke").summary("Revoke a token").description(
      "Revoke a token. The token in use cannot revoke itself, unless the service has a " +
        "HOOKLAUNCH_ADMIN_TOKEN.",
    ),
  )
    .argument("<id>", "the id, as list shows it")
    .option("--json", "print JSON")
    .action(revoke);
}

async function list({ url, json = false, quiet = false }: ApiOptions): Promise<void> {
  const api = clientOf(url);
  const created = await api.list<ListedToken>("tokens/");
  if (json) return printJson(created);
  if (quiet) return printIds(created);
  const { settings }: ServiceState = await api.request("GET", "service/");
  const ofVariable = settings.HOOKLAUNCH_ADMIN_TOKEN === true ? [OF_VARIABLE] : [];
  printList<Omit<ListedToken, "created_at"> & { created_at?: string }>(
    [...ofVariable, ...created],
    [
      ["id", ({ id }) => id],
      ["name", ({ name }) => name],
      ["scope", ({ scope = "admin" }) => scope],
      ["limited to", ({ triggers = [], projects = [] }) => [...triggers, ...projects].join(", ")],
      ["created", ({ created_at }) => created_at],
      ["expires", ({ expires_at = "" }) => expires_at],
      ["last used", ({ last_used_at = "" }) => last_used_at],
    ],
  );
}

async function create(name: string, options: CreateOptions): Promise<void> {
  const { url, json = false, scope, trigger, project, expires } = options;
  const made: ListedToken & { token: string } = await clientOf(url).request("POST", "tokens/", {
    name,
    scope,
    ...(trigger && { triggers: trigger }),
    ...(project && { projects: project }),
    ...(expires && { expires_at: expires }),
  });
  if (json) return printJson(made);
  // Scripts read the token alone from standard output.
  console.error(`Token ${made.id} for "${made.name}", shown only once:`);
  console.log(made.token);
}

async function revoke(id: string, { url, json = false }: ApiOptions): Promise<void> {
  await clientOf(url).request("DELETE", `tokens/${encodeURIComponent(id)}/`);
  if (json) return printJson({ id });
  console.log(`Token ${id} is revoked`);
}

/** Reads a time from now, such as `30d`, or a date, as RFC 3339. */
function expiry(text: string): string {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const time_ms = count === undefined
    ? Date.parse(text)
    : Date.now() + Number(count) * (unit === "d" ? 24 : 1) * HOUR_MS;
  if (time_ms > Date.now()) return new Date(time_ms).toISOString();
  throw new InvalidArgumentError(
    Number.isNaN(time_ms)
      ? "Expected a time such as 12h or 30d, or a date such as 2027-01-31"
      : "Expected a time in the future, such as 12h, 30d or a date",
  );
}
