/**
 * The command line: picks one command.
 *
 * @module
 */
import { Command } from "commander";
import { HooklaunchError, InvalidInputError } from "./errors.ts";
import config from "../deno.json" with { type: "json" };

type Define = (command: Command) => void;

/** The commands, each loaded when it is asked for. */
const COMMANDS: Readonly<Record<string, { says: string; load: () => Promise<Define> }>> = {
  serve: {
    says: "Run the service",
    load: async () => (await import("./commands/serve.ts")).defineServe,
  },
  demo: {
    says: "Show the main job: a signed webhook launches an execution",
    load: async () => (await import("./commands/demo.ts")).defineDemo,
  },
  trigger: {
    says: "List a running service's triggers, and say why requests were refused",
    load: async () => (await import("./commands/trigger.ts")).defineTrigger,
  },
  send: {
    says: "Send a file to a trigger, signed as its conditions ask for",
    load: async () => (await import("./commands/send.ts")).defineSend,
  },
  "secret-key": {
    says: "Change the key that stored secrets are encrypted with",
    load: async () => (await import("./commands/secret_key.ts")).defineSecretKey,
  },
  apply: {
    says: "Bring a running service's projects and triggers up to date with a file",
    load: async () => (await import("./commands/apply.ts")).defineApply,
  },
};

if (import.meta.main) await main(Deno.args);

/** Runs the command that the arguments name. */
async function main(args: readonly string[]): Promise<void> {
  const program = new Command("hooklaunch")
    .description("A self-hosted webhook trigger service")
    .version(config.version)
    .showHelpAfterError();
  for (const [name, { says, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(says);
    if (args[0] === name || (args[0] === "help" && args[1] === name)) (await load())(command);
  }
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof HooklaunchError)) throw error;
    console.error(`hooklaunch: ${explain(error)}`);
    Deno.exitCode = 1;
  }
}

/** An error as an operator reads it, one problem a line. */
function explain(error: HooklaunchError): string {
  if (!(error instanceof InvalidInputError) || error.problems.length < 2) return error.message;
  const [what] = error.message.split(": ", 1);
  return [`${what}:`, ...error.problems.map(({ pointer, detail }) => `${pointer}: ${detail}`)]
    .join("\n  ");
}
