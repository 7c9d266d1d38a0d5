/**
 * `hooklaunch project secret`: the secrets that a project's steps may name.
 *
 * @module
 */
import type { Command } from "commander";
import { InvalidInputError, NotFoundError } from "../platform/errors.ts";
import type { ShownSecret } from "../project_secrets/settings.ts";
import type { ApiClient } from "./api/client.ts";
import { type ApiOptions, apiOptions, clientOf } from "./api/options.ts";
import { harmless, printIds, printJson, printList } from "./console/table.ts";
import { list as inList, quietly, readInput } from "./input/options.ts";

interface SetOptions extends ApiOptions {
  from?: string;
  branch?: string[];
}

/** Defines the commands. */
export function defineProjectSecret(command: Command): void {
  apiOptions(command.command("list").description("List a project's secrets, without their values"))
    .argument("<project>", "the name of the project")
    .addOption(quietly("print names alone, one a line"))
    .option("--json", "print JSON")
    .action(list);
  secretCommand(
    command,
    "set",
    "Set a secret, or replace it: executions that start from then on get the new one",
  )
    .option(
      "--from <reference>",
      "{env:NAME} or {file:/path} of the service; else standard input holds the secret",
    )
    .option(
      "--branch <pattern>",
      "a branch whose commits get it, such as main or 'release/*'; may be repeated (default: those that it " +
        "has, or the repository's default branch)",
      inList,
    )
    .action(set);
  secretCommand(command, "remove", "Remove a secret").action(remove);
}

function secretCommand(command: Command, name: string, description: string): Command {
  return apiOptions(command.command(name).description(description))
    .argument("<project>", "the name of the project")
    .argument("<name>", "the secret's name")
    .option("--json", "print JSON");
}

async function list(
  project: string,
  { url, json = false, quiet = false }: ApiOptions & { quiet?: boolean },
): Promise<void> {
  const secrets = await secretsOf(clientOf(url), project);
  if (quiet) return printIds(secrets);
  printList(secrets, [
    ["name", ({ name }) => name],
    ["value", ({ value }) => value],
    ["fingerprint", ({ fingerprint }) => fingerprint],
    ["branches", ({ branches }) => branches?.join(", ")],
  ], { json });
}

async function set(
  project: string,
  name: string,
  { url, json = false, from, branch }: SetOptions,
): Promise<void> {
  // Not from the command line, which everybody on the machine can read.
  const value = from ?? await fromStandardInput();
  if (from !== undefined && !/^\{(env|file):/.test(from)) {
    const detail = "Expected {env:NAME} or {file:/path}, found another text";
    throw new InvalidInputError("--from", detail);
  }
  const api = clientOf(url);
  const known = (await secretsOf(api, project)).find((each) => each.name === name);
  const branches = branch ?? known?.branches;
  const saved = await api.request<ShownSecret & { warnings?: { detail: string }[] }>(
    "PUT",
    pathOf(project, name),
    { value, ...(branches && { branches }) },
  );
  for (const { detail } of saved.warnings ?? []) console.error(harmless(`Warning: ${detail}`));
  if (json) return printJson(saved);
  const { fingerprint } = saved;
  const shown = fingerprint === undefined ? "" : ` (fingerprint ${fingerprint})`;
  console.log(harmless(`Secret ${name} of project ${project} is set${shown}`));
  await printFileLines(api, project);
}

async function remove(
  project: string,
  name: string,
  { url, json = false }: ApiOptions,
): Promise<void> {
  const api = clientOf(url);
  await api.request("DELETE", pathOf(project, name));
  if (json) return printJson({ name });
  console.log(harmless(`Secret ${name} of project ${project} is removed`));
  await printFileLines(api, project);
}

/** Prints the lines that keep a change in a configuration file that lists the secrets of the project. */
async function printFileLines(api: ApiClient, project: string): Promise<void> {
  // Commands that only ask a service do not load it.
  const { yamlLines } = await import("./console/yaml_lines.ts");
  const secrets = (await secretsOf(api, project))
    .map(({ fingerprint: _, ...secret }) => secret);
  const lines = [
    "If a configuration file lists the secrets of this project, the next apply or start with --config sets",
    "those of the file again. To keep this change, write in the file, at the project:",
    ...yamlLines({ secrets }),
  ];
  // The result itself goes to standard output.
  for (const line of lines) console.error(harmless(line));
}

async function fromStandardInput(): Promise<string> {
  const bytes = await readInput("-", "the secret");
  const refuse = (detail: string): never => {
    throw new InvalidInputError("the secret", detail);
  };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse("Expected text in UTF-8, found other bytes: encode them, such as in base64");
  }
  const value = text.replace(/\r?\n$/, "");
  if (value !== "") return value;
  return refuse("Expected it on standard input, or --from with its place: found nothing");
}

async function secretsOf(api: ApiClient, project: string): Promise<ShownSecret[]> {
  return await api.list<ShownSecret>(`projects/${partOf(project, "project")}/secrets/`);
}

function pathOf(project: string, name: string): string {
  return `projects/${partOf(project, "project")}/secrets/${partOf(name, "secret")}/`;
}

/** Returns a name as a part of a path. */
export function partOf(name: string, what: string): string {
  // In the path of a URL these mean another path, even when they are encoded.
  if (["", ".", ".."].includes(name)) throw new NotFoundError(`There is no ${what} "${name}"`);
  return encodeURIComponent(name);
}
