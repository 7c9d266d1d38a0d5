/**
 * `hooklaunch context`: the services that somebody uses, by names.
 *
 * @module
 */
import type { Command } from "commander";
import { ConflictError, InvalidInputError } from "../platform/errors.ts";
import { expectToken, serviceUrl } from "./api/options.ts";
import { harmless, printFields, printIds, printJson, printList } from "./console/table.ts";
import { contextNamed, contextsPath, readContexts, writeContexts } from "./input/contexts.ts";
import { environment } from "./input/environment.ts";
import { quietly, readInput } from "./input/options.ts";

/** A name that needs no quotes in a shell. */
const NAME = /^[\w.-]{1,64}$/;
const VARIABLES = ["HOOKLAUNCH_URL", "HOOKLAUNCH_CONTEXT", "HOOKLAUNCH_ADMIN_TOKEN"];

interface PrintOptions {
  json?: boolean;
  quiet?: boolean;
}

/** Defines the command. */
export function defineContext(command: Command): void {
  command.addHelpText(
    "after",
    `
Contexts are in hooklaunch/contexts.json in XDG_CONFIG_HOME, or else in ~/.config. Their owner alone may read it.
A command uses, in this order: its options, the variables ${VARIABLES.join(", ")},
the context in use, and this machine's service.`,
  );
  command.command("list").description("List the contexts; * marks the one in use")
    .addOption(quietly("print names alone, one a line"))
    .option("--json", "print JSON, without the tokens")
    .action(list);
  command.command("show").description("Show a context, without its token")
    .argument("[name]", "the one in use when left out")
    .option("--json", "print JSON")
    .action(show);
  command.command("add").description("Add a context")
    .argument("<name>", "letters, digits, dots, hyphens and underscores")
    .requiredOption("--url <url>", "the address of the service", serviceUrl)
    .option("--token-file <file>", "a file with the operator's token; - reads standard input")
    .option("--json", "print JSON")
    .action(add);
  command.command("use").description("Use a context with the commands that name no other")
    .argument("[name]", "the name of the context")
    .option("--none", "use none: commands speak to this machine's service again")
    .option("--json", "print JSON")
    .action(use);
  command.command("remove").description("Remove a context and its token")
    .argument("<name>", "the name of the context")
    .option("--json", "print JSON")
    .action(remove);
}

/** A context, as it is shown: its token is not. */
interface ShownContext {
  name: string;
  url: string;
  has_token: boolean;
  in_use: boolean;
}

function allContexts(): ShownContext[] {
  const { current, contexts } = readContexts();
  return Object.entries(contexts).map(([name, { url, token }]) => ({
    name,
    url,
    has_token: token !== undefined,
    in_use: name === current,
  }));
}

function list({ json = false, quiet = false }: PrintOptions): void {
  const all = allContexts();
  if (quiet) return printIds(all);
  printList(all, [
    ["", ({ in_use }) => in_use ? "*" : ""],
    ["name", ({ name }) => name],
    ["url", ({ url }) => url],
    ["token", ({ has_token }) => has_token ? "stored" : "none"],
  ], { json });
}

function show(name: string | undefined, { json = false }: PrintOptions): void {
  const contexts = readContexts();
  const wanted = name ?? environment("HOOKLAUNCH_CONTEXT") ?? contexts.current;
  if (wanted === undefined) {
    if (json) return printJson(null);
    return console.log("No context is in use: commands speak to this machine's service");
  }
  contextNamed(contexts, wanted);
  const found = allContexts().find((each) => each.name === wanted);
  if (found === undefined) return;
  if (json) return printJson(found);
  const set = VARIABLES.filter((variable) => environment(variable) !== undefined);
  printFields({
    name: found.name,
    url: found.url,
    token: found.has_token ? "stored" : "none",
    in_use: found.in_use ? "yes" : "no",
    file: contextsPath(),
    comes_first: set.length > 0 ? set.join(", ") : undefined,
  });
}

async function add(
  name: string,
  { url, tokenFile, json = false }: PrintOptions & { url: string; tokenFile?: string },
): Promise<void> {
  if (!NAME.test(name)) {
    throw new InvalidInputError(
      "the name of the context",
      "Expected 1 to 64 letters, digits, dots, hyphens and underscores, found another text",
    );
  }
  const contexts = readContexts();
  if (Object.hasOwn(contexts.contexts, name)) {
    throw new ConflictError(
      `There is a context "${name}" already: remove it first, or choose another name`,
    );
  }
  const token = tokenFile === undefined ? undefined : await readToken(tokenFile);
  const added = { url, ...(token !== undefined && { token }) };
  await writeContexts({ ...contexts, contexts: { ...contexts.contexts, [name]: added } });
  if (json) return printJson({ name, url, has_token: token !== undefined, in_use: false });
  console.log(harmless(`Context ${name} is added. To use it: hooklaunch context use ${name}`));
}

async function readToken(path: string): Promise<string> {
  const token = new TextDecoder().decode(await readInput(path, "the operator's token")).trim();
  expectToken(token, "the operator's token");
  return token;
}

async function use(
  name: string | undefined,
  { none = false, json = false }: PrintOptions & { none?: boolean },
): Promise<void> {
  if ((name === undefined) !== none) {
    throw new InvalidInputError("the command", "Expected the name of a context, or --none");
  }
  const { current: _current, ...contexts } = readContexts();
  if (name === undefined) {
    await writeContexts(contexts);
    if (json) return printJson(null);
    return console.log("Commands speak to this machine's service now");
  }
  const { url } = contextNamed(contexts, name);
  await writeContexts({ current: name, ...contexts });
  if (json) return printJson({ name, url });
  console.log(harmless(`Commands speak to ${name} now: ${url}`));
}

async function remove(name: string, { json = false }: PrintOptions): Promise<void> {
  const all = readContexts();
  contextNamed(all, name);
  const { [name]: _removed, ...contexts } = all.contexts;
  const { current } = all;
  await writeContexts({ ...(current !== name && { current }), contexts });
  if (json) return printJson({ name });
  console.log(harmless(`Context ${name} is removed`));
}
