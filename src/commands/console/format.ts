/**
 * The form of what commands print: tables for people, JSON or YAML for programs. A process runs one command, and its
 * form is set before that begins.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { harmlessJson } from "./harmless_json.ts";

/** The values of `-o`. `wide` prints tables with all their columns. */
const FORMATS = ["json", "yaml", "wide"] as const;

type Format = typeof FORMATS[number];

let isWide = false;
let yamlOf: ((value: unknown) => string) | undefined;

/** Gives a command that prints JSON, and those below it, the option `-o`. */
export function addFormats(command: Command): void {
  command.commands.forEach(addFormats);
  if (!command.options.some(({ long }) => long === "--json")) return;
  const described =
    "json is --json; yaml prints the same as YAML; wide prints all columns of a list";
  command
    .addOption(new Option("-o, --output <format>", described).choices(FORMATS))
    .hook("preAction", async () => {
      const { output }: { output?: Format } = command.opts();
      await setFormat(output);
      if (output === "json" || output === "yaml") command.setOptionValue("json", true);
    });
}

/** Sets the form of all that is printed from now on; without a value, JSON and tables as they always were. */
export async function setFormat(format?: Format): Promise<void> {
  isWide = format === "wide";
  // Commands that print no YAML do not load it.
  yamlOf = format === "yaml" ? (await import("./yaml_text.ts")).yamlText : undefined;
}

/** Tells whether tables have all their columns. */
export function showsAllColumns(): boolean {
  return isWide;
}

/** Writes a value for a program. */
export function dataText(value: unknown): string {
  return yamlOf?.(value) ?? harmlessJson(JSON.stringify(value, null, 2));
}

/** Writes one of several values that follow each other: a line of JSON, or a document of YAML. */
export function recordText(value: unknown): string {
  return yamlOf === undefined ? harmlessJson(JSON.stringify(value)) : `---\n${yamlOf(value)}`;
}
