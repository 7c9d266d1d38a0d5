/**
 * `hooklaunch completion`: completes commands, options, and the names and values of a running service in a shell.
 *
 * @module
 */
import { Argument, type Command, type Option } from "commander";
import { apiOptions, clientOf } from "./api/options.ts";
import { SCRIPTS, type Shell, SHELLS, type Words } from "./console/completion_scripts.ts";
import { harmless } from "./console/table.ts";
import { readContexts } from "./input/contexts.ts";

/** The time that a shell waits for the names of a service. */
const VALUES_MS_MAX = 1_500;
const VALUES_MAX = 50;

/** The lists of the service whose elements have names. */
const NAMED = ["triggers", "projects"];
/** The lists whose elements have ids, newest first. */
const WITH_IDS = ["executions", "pipelines", "runs", "deliveries", "replays", "tokens"];
const KINDS = [...NAMED, ...WITH_IDS, "contexts"];

/** The kinds of first arguments, by their commands; the longest beginning counts. */
const FIRST_ARGUMENTS: Readonly<Record<string, string>> = {
  execution: "executions",
  pipeline: "pipelines",
  run: "runs",
  delivery: "deliveries",
  replay: "replays",
  "replay delivery": "deliveries",
  token: "tokens",
  project: "projects",
  context: "contexts",
};
/** The kinds of options' values, by the options. */
const OPTIONS: Readonly<Record<string, string>> = {
  "--trigger": "triggers",
  "--project": "projects",
  "--pipeline": "pipelines",
  "--context": "contexts",
};

/**
 * Defines the command.
 *
 * @param whole defines the command line with all commands
 */
export function defineCompletion(command: Command, whole: () => Promise<Command>): void {
  command.summary("Print a script that completes commands in a shell").description(
    "Print a script that completes commands and options in a shell, and the names and ids of the service: a " +
      "service that is away completes nothing.",
  )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
bash  source <(hooklaunch completion bash)            # in ~/.bashrc
zsh   source <(hooklaunch completion zsh)             # in ~/.zshrc, behind compinit
fish  hooklaunch completion fish | source             # in ~/.config/fish/config.fish`,
    )
    .action(async (shell: Shell) => console.log(SCRIPTS[shell](wordsOf(await whole(), ""))));
  // The scripts call it.
  apiOptions(command.command("values", { hidden: true }))
    .addArgument(new Argument("<kind>").choices(KINDS))
    .action(printValues);
}

function wordsOf(command: Command, after: string): Words[] {
  const help = command.createHelp();
  const inner = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const options = help.visibleOptions(command);
  const [argument] = command.registeredArguments;
  const values = argument && kindOf(argument.name(), after);
  return [
    {
      after,
      words: [
        ...inner.map((each) => each.name()),
        ...argument?.argChoices ?? [],
        ...options.flatMap(({ long }) => long ?? []),
      ],
      ...(values !== undefined && { values }),
      options: options.flatMap(optionWords),
    },
    ...inner.flatMap((each) => wordsOf(each, `${after} ${each.name()}`.trim())),
  ];
}

/** Returns what completes the value of an option. */
function optionWords({ long, short, required, argChoices }: Option): Words["options"] {
  if (!required) return [];
  const values = OPTIONS[long ?? ""];
  return [long, short].flatMap((name) =>
    name === undefined || name === null
      ? []
      : [{ name, ...(argChoices && { words: argChoices }), ...(values && { values }) }]
  );
}

/** Returns the kind of a command's first argument. */
function kindOf(argument: string, command: string): string | undefined {
  if (argument === "trigger" || argument === "project") return `${argument}s`;
  if (argument !== "id" && argument !== "name" || command === "context add") return undefined;
  const [parent = ""] = command.split(" ");
  return FIRST_ARGUMENTS[command] ?? FIRST_ARGUMENTS[parent];
}

/** Prints the names or ids of a kind, one a line. A service that is away, or slow, has none. */
async function printValues(kind: string, { url }: { url: string }): Promise<void> {
  const printed = valuesOf(kind, url).then((values) => {
    for (const value of values) console.log(harmless(value));
    return true;
  }).catch(() => true);
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), VALUES_MS_MAX);
  const isOver = await Promise.race([printed, late]);
  // Either would keep the process, for which the shell waits: the timer, and a request without an answer.
  clearTimeout(timer);
  if (!isOver) Deno.exit(0);
}

async function valuesOf(kind: string, url: string): Promise<string[]> {
  if (kind === "contexts") return Object.keys(readContexts().contexts);
  const found = await clientOf(url, VALUES_MS_MAX).list<{ id: string; name: string }>(`${kind}/`, {
    limit: VALUES_MAX * (NAMED.includes(kind) ? 4 : 1),
  });
  return found.map(({ id, name }) => NAMED.includes(kind) ? name : id);
}
