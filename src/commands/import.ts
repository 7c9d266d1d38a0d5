/**
 * `hooklaunch import`: configuration files of other receivers become triggers and a project.
 *
 * @module
 */
import type { Command } from "commander";
import { join } from "node:path";
import { stringify } from "yaml";
import { InvalidInputError } from "../platform/errors.ts";
import { shellQuote } from "../platform/shell.ts";
import { counted } from "./console/findings.ts";
import { harmless } from "./console/table.ts";
import { isStandardInput, readInput } from "./input/options.ts";

const CONFIG_FILE = "hooklaunch.yaml";
const ENV_FILE = "hooks.env";
const PROJECT = "hooks";

interface Options {
  to: string;
  force?: boolean;
}

/** Defines the command. */
export function defineImport(command: Command): void {
  command.command("webhook")
    .summary("Convert the hooks of adnanh/webhook")
    .description(
      "Convert hooks of adnanh/webhook, a hooks.json or hooks.yaml, into a configuration file, a project with a " +
        "step for each command, and a file with the secrets. Tells what is different. Needs no service.",
    )
    .argument("<file>", "the hooks; - reads standard input")
    .option("--to <folder>", "where the files are written", ".")
    .option("--force", "replace files that are there")
    .action(importWebhook);
}

async function importWebhook(path: string, { to, force = false }: Options): Promise<void> {
  // The commands that convert nothing do not need these.
  const { parseHooks } = await import("./webhook/hook_file.ts");
  const { convertHooks } = await import("./webhook/convert.ts");
  const text = new TextDecoder().decode(await readInput(path, "hooks"));
  const hooks = parseHooks(text, isStandardInput(path) ? "standard input" : path);
  const { secrets, notes, ...conversion } = convertHooks(hooks, PROJECT);
  await Deno.mkdir(join(to, PROJECT), { recursive: true });
  const write = (name: string, content: string, mode?: number) =>
    writeNew(join(to, name), content, force, mode);
  await write(
    CONFIG_FILE,
    yaml({
      projects: [{ name: PROJECT, directory: `./${PROJECT}` }],
      triggers: conversion.triggers,
    }),
  );
  await write(`${PROJECT}/valohai.yaml`, yaml(conversion.steps.map((step) => ({ step }))));
  const lines = [...secrets].map(([name, secret]) => `${name}=${quoted(secret)}\n`);
  if (lines.length > 0) await write(ENV_FILE, lines.join(""), 0o600);
  for (const [id, note] of notes) console.error(harmless(`${id}: ${note}`));
  const env = lines.length > 0 ? ` --env-file ${shellQuote(join(to, ENV_FILE))}` : "";
  const next = `hooklaunch${env} check ${shellQuote(join(to, CONFIG_FILE))}`;
  console.log(harmless(`${counted(hooks.length, "hook")}. Next: ${next}`));
}

/** Writes a file that is not there yet, or replaces it. */
async function writeNew(
  path: string,
  content: string,
  force: boolean,
  mode?: number,
): Promise<void> {
  try {
    await Deno.writeTextFile(path, content, {
      createNew: !force,
      ...(mode !== undefined && { mode }),
    });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new InvalidInputError(
      path,
      "It is there already; --force replaces it, --to names another folder",
    );
  }
  console.log(harmless(`Wrote ${path}`));
}

function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 100, aliasDuplicateObjects: false });
}

/** Writes a value as readers of such files take it: in quotes that it does not have. */
function quoted(value: string): string {
  const quote = ["'", '"', "`"].find((each) => !value.includes(each));
  if (quote === undefined) {
    throw new InvalidInputError(
      "a secret",
      "It has all three kinds of quotes, which no file of variables can hold",
    );
  }
  return quote + value + quote;
}
