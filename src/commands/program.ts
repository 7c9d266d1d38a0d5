/**
 * The command line: the list of the commands, and the one that the arguments name.
 *
 * @module
 */
import { Command } from "commander";
import { ENV_FILE_OPTION, readEnvFiles } from "./input/env_file.ts";
import { reachOwnMachineDirectly } from "./process/own_machine.ts";
import { harmless } from "./console/table.ts";
import { HooklaunchError, InvalidInputError, problemText } from "../platform/errors.ts";
import { refuseAutomaticSpans } from "../telemetry/automatic_spans.ts";
import config from "../../deno.json" with { type: "json" };

type Define = (command: Command) => void;

/** The commands, each loaded when it is asked for. */
const COMMANDS: Readonly<Record<string, { says: string; load: () => Promise<Define> }>> = {
  serve: {
    says: "Run the service",
    load: async () => (await import("./serve.ts")).defineServe,
  },
  demo: {
    says: "Show the main job: a signed webhook launches an execution",
    load: async () => (await import("./demo.ts")).defineDemo,
  },
  trigger: {
    says: "List and show a running service's triggers, and say why requests were refused",
    load: async () => (await import("./trigger.ts")).defineTrigger,
  },
  execution: {
    says: "List a running service's executions, read and follow what they print",
    load: async () => (await import("./execution.ts")).defineExecution,
  },
  pipeline: {
    says: "List a running service's pipelines, show, approve and stop them",
    load: async () => (await import("./pipeline.ts")).definePipeline,
  },
  run: {
    says: "List a trigger's runs, read their payloads, and launch these again",
    load: async () => (await import("./run.ts")).defineRun,
  },
  token: {
    says: "List, make and revoke the tokens of a running service's operators",
    load: async () => (await import("./token.ts")).defineToken,
  },
  project: {
    says: "List a running service's projects, fetch them, and check a project configuration file",
    load: async () => (await import("./project.ts")).defineProject,
  },
  send: {
    says: "Send a file to a trigger, signed as its conditions ask for",
    load: async () => (await import("./send.ts")).defineSend,
  },
  "secret-key": {
    says: "Change the key that stored secrets are encrypted with",
    load: async () => (await import("./secret_key.ts")).defineSecretKey,
  },
  backup: {
    says: "Back up all data into one file, while the service runs or not",
    load: async () => (await import("./backup.ts")).defineBackup,
  },
  restore: {
    says: "Restore a backup to a data folder that no service has",
    load: async () => (await import("./restore.ts")).defineRestore,
  },
  apply: {
    says: "Bring a running service's projects and triggers up to date with a file",
    load: async () => (await import("./apply.ts")).defineApply,
  },
};

/** Runs the command that the arguments name. Prints an error that its user can mend, and exits with 1. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    refuseAutomaticSpans();
    const others = readEnvFiles(args);
    reachOwnMachineDirectly();
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
    .showHelpAfterError("--help says what there is");
  for (const [name, { says, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(says);
    if (isWanted(name)) (await load())(command);
  }
  return program;
}

/**
 * `help run show` as `run help show`, since commander looks no further than the first command; and of what
 * is not there, for which commander shows other help without a word on it, the arguments without `help`:
 * these are an error that names it.
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

/** Whether the system refused something, as to print to a full disk: where in the code says nothing. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && / \(os error \d+\)/.test(error.message);
}

/** An error as an operator reads it, one problem a line. */
function explain(error: Error): string {
  if (!(error instanceof InvalidInputError) || error.problems.length < 2) return error.message;
  const [what] = error.message.split(": ", 1);
  return [`${what}:`, ...error.problems.map(problemText)].join("\n  ");
}
