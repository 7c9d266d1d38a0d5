/**
 * `hooklaunch token`: the operators' tokens of a running service.
 *
 * @module
 */
import type { Command } from "commander";
import type { ListedToken } from "../store/records/tokens.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { printJson, printList } from "./console/table.ts";

/** Defines the command. */
export function defineToken(command: Command): void {
  apiOptions(
    command.command("list").summary("List the tokens").description(
      "List the created tokens. The token in the service's HOOKLAUNCH_ADMIN_TOKEN is not listed.",
    ),
  )
    .option("--json", "print JSON")
    .action(list);
  apiOptions(
    command.command("create").description("Create a token and print it. It is not shown again"),
  )
    .argument("<name>", "the person or program that uses it")
    .option("--json", "print JSON")
    .action(create);
  apiOptions(
    command.command("revoke").summary("Revoke a token").description(
      "Revoke a token. The token in use cannot revoke itself, unless the service has a " +
        "HOOKLAUNCH_ADMIN_TOKEN.",
    ),
  )
    .argument("<id>", "the id, as list shows it")
    .action(revoke);
}

async function list({ url, json = false }: ApiOptions): Promise<void> {
  printList(await clientOf(url).list<ListedToken>("tokens/"), [
    ["id", ({ id }) => id],
    ["name", ({ name }) => name],
    ["created", ({ created_at }) => created_at],
  ], { json });
}

async function create(name: string, { url, json = false }: ApiOptions): Promise<void> {
  const made: ListedToken & { token: string } = await clientOf(url).request("POST", "tokens/", {
    name,
  });
  if (json) return printJson(made);
  // Scripts read the token alone from standard output.
  console.error(`Token ${made.id} for "${made.name}", shown only once:`);
  console.log(made.token);
}

async function revoke(id: string, { url }: ApiOptions): Promise<void> {
  await clientOf(url).request("DELETE", `tokens/${encodeURIComponent(id)}/`);
  console.log(`Token ${id} is revoked`);
}
