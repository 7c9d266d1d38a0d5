/**
 * The command line: the list of the commands, and the one that the arguments name.
 *
 * @module
 */
import { Command } from "commander";
import { ENV_FILE_OPTION, readEnvFiles } from "./input/env_file.ts";
import { reachOwnMachineDirectly } from "./process/own_machine.ts";
import { addFormats, setFormat } from "./console/format.ts";
import { harmless } from "./console/table.ts";
import { HooklaunchError, InvalidInputError, problemText } from "../platform/errors.ts";
import { keepPrinting } from "../telemetry/collector_console.ts";
import { refuseAutomaticSpans } from "../telemetry/automatic_spans.ts";
import config from "../../deno.json" with { type: "json" };

/**
 * Defines a command.
 *
 * @param whole defines the command line with all commands
 */
type Define = (command: Command, whole: () => Promise<Command>) => void;

/** The commands, each loaded when it is asked for. */
const COMMANDS: Readonly<Record<string, { summary: string; load: () => Promise<Define> }>> = {
  serve: {
    summary: "Run the service",
    load: async () => (await import("./serve.ts")).defineServe,
  },
  reload: {
    summary: "Have the service read configuration, secrets and certificate anew",
    load: async () => (await import("./reload.ts")).defineReload,
  },
  demo: {
    summary: "Show the main job: a signed webhook launches an execution",
    load: async () => (await import("./demo.ts")).defineDemo,
  },
  trigger: {
    summary: "Show and change triggers, and show why requests were refused",
    load: async () => (await import("./trigger.ts")).defineTrigger,
  },
  execution: {
    summary: "Show and stop executions, and read or follow their logs",
    load: async () => (await import("./execution.ts")).defineExecution,
  },
  pipeline: {
    summary: "Show, approve and stop pipelines",
    load: async () => (await import("./pipeline.ts")).definePipeline,
  },
  deliveries: {
    summary: "List the requests at launch URLs, and follow new ones",
    load: async () => (await import("./deliveries.ts")).defineDeliveries,
  },
  listen: {
    summary: "Send a copy of each request of a trigger to an address of your own",
    load: async () => (await import("./listen.ts")).defineListen,
  },
  delivery: {
    summary: "Show a request at a launch URL, from its headers to what it launched",
    load: async () => (await import("./delivery.ts")).defineDelivery,
  },
  runs: {
    summary: "List the runs of all triggers, newest first",
    load: async () => (await import("./run.ts")).defineRuns,
  },
  run: {
    summary: "Show runs and their payloads, and replay them",
    load: async () => (await import("./run.ts")).defineRun,
  },
  token: {
    summary: "List, create and revoke operators' tokens",
    load: async () => (await import("./token.ts")).defineToken,
  },
  login: {
    summary: "Log in to a service: you confirm it in the console",
    load: async () => (await import("./login.ts")).defineLogin,
  },
  logout: {
    summary: "End the login at a service, and revoke its token",
    load: async () => (await import("./login.ts")).defineLogout,
  },
  replay: {
    summary: "Launch deliveries again: one, or all that a filter finds",
    load: async () => (await import("./replay.ts")).defineReplay,
  },
  attention: {
    summary: "List what fails and warnings of set-ups, and dismiss warnings",
    load: async () => (await import("./attention.ts")).defineAttention,
  },
  notify: {
    summary: "Show what notifiers have told, and try them out",
    load: async () => (await import("./notify.ts")).defineNotify,
  },
  retention: {
    summary: "List what is past its retention, before it is removed",
    load: async () => (await import("./retention.ts")).defineRetention,
  },
  audit: {
    summary: "List the changes that operators made",
    load: async () => (await import("./audit.ts")).defineAudit,
  },
  project: {
    summary: "Show and fetch projects, and check a project configuration file",
    load: async () => (await import("./project.ts")).defineProject,
  },
  send: {
    summary: "Send a file to a trigger, signed as its conditions require",
    load: async () => (await import("./send.ts")).defineSend,
  },
  schema: {
    summary: "Make JSON Schemas of what triggers get",
    load: async () => (await import("./schema.ts")).defineSchema,
  },
  diagnose: {
    summary: "Say why the signature or the token of a request does not match",
    load: async () => (await import("./diagnose.ts")).defineDiagnose,
  },
  doctor: {
    summary: "Check a running service from outside and inside, and say what to do",
    load: async () => (await import("./doctor.ts")).defineDoctor,
  },
  "secret-key": {
    summary: "Change the key that encrypts stored secrets",
    load: async () => (await import("./secret_key.ts")).defineSecretKey,
  },
  backup: {
    summary: "Back up all data into one file, and list and make the service's own backups",
    load: async () => (await import("./backup.ts")).defineBackup,
  },
  restore: {
    summary:
      "Restore a backup, such as the newest of a bucket, to a data folder that no service uses",
    load: async () => (await import("./restore.ts")).defineRestore,
  },
  compact: {
    summary: "Make the database of a stopped service small, and free of removed data",
    load: async () => (await import("./compact.ts")).defineCompact,
  },
  apply: {
    summary: "Create and update projects and triggers from a file",
    load: async () => (await import("./apply.ts")).defineApply,
  },
  check: {
    summary: "Check a configuration file; needs no service",
    load: async () => (await import("./check.ts")).defineCheck,
  },
  export: {
    summary: "Print projects and triggers as a configuration file",
    load: async () => (await import("./export.ts")).defineExport,
  },
  import: {
    summary: "Convert the configuration of another receiver",
    load: async () => (await import("./import.ts")).defineImport,
  },
  context: {
    summary: "Name the services that commands speak to, and choose one",
    load: async () => (await import("./context.ts")).defineContext,
  },
  version: {
    summary: "Print the version",
    load: async () => (await import("./version.ts")).defineVersion,
  },
  completion: {
    summary: "Print a script that completes commands in a shell",
    load: async () => (await import("./completion.ts")).defineCompletion,
  },
};

/** Runs the command that the arguments name. Prints an error that its user can mend, and exits with 1. */
export async function main(args: readonly string[]): Promise<void> {
  keepPrinting((name) => Deno.env.get(name));
  try {
    refuseAutomaticSpans();
    const others = readEnvFiles(args);
    reachOwnMachineDirectly();
    await setFormat();
    await run(others);
  } catch (error) {
    if (!(error instanceof HooklaunchError) && !isOfSystem(error)) throw error;
    console.error(`hooklaunch: ${explain(error).split("\n").map(harmless).join("\n")}`);
    Deno.exitCode = 1;
  }
}

async function run(args: readonly string[]): Promise<void> {
  const [first, second] = args;
  const program = await defineProgram((name) => name === (first === "help" ? second : first));
  await program.parseAsync(helped(args, program), { from: "user" });
}

/**
 * Defines the command line.
 *
 * @param isWanted picks the commands whose options and own commands are defined too: these are loaded
 */
export async function defineProgram(isWanted: (name: string) => boolean): Promise<Command> {
  const program = new Command("hooklaunch")
    .description("A self-hosted webhook trigger service")
    .version(config.version)
    .option(...ENV_FILE_OPTION)
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, "hooklaunch:")),
    })
    .showHelpAfterError("For help, add --help");
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(summary);
    if (!isWanted(name)) continue;
    (await load())(command, () => defineProgram(() => true));
    addFormats(command);
  }
  return program;
}

/**
 * Rewrites `help run show` as `run help show`: commander looks at the first command only. For an unknown
 * command it returns the arguments without `help`, which are an error that names the command: commander would
 * show other help.
 */
function helped(args: readonly string[], program: Command): string[] {
  const path = args.filter((word, index) => index > 1 || word !== "help");
  const [name, inner] = path;
  if (path.length === args.length || name === undefined) return [...args];
  const command = program.commands.find((known) => known.name() === name);
  if (command === undefined) return path;
  if (command.commands.length === 0 || inner === undefined) return [...args];
  return command.commands.some((known) => known.name() === inner) ? [name, "help", inner] : path;
}

/** Returns true for an error of the system, such as a full disk: its stack trace says nothing to a user. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && / \(os error \d+\)/.test(error.message);
}

/** Writes an error for an operator, one problem a line. */
function explain(error: Error): string {
  if (!(error instanceof InvalidInputError) || error.problems.length < 2) return error.message;
  const [what] = error.message.split(": ", 1);
  return [`${what}:`, ...error.problems.map(problemText)].join("\n  ");
}
