/**
 * Words for origins and states on the command line.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Origin } from "../../http/api/origins.ts";
import { stateWord } from "../../runs/state_word.ts";

/** Describes who has launched something, such as `replay by ci`. Earlier versions of the service do not say it. */
export function launcherText({ launched_by }: Partial<Origin>): string | undefined {
  const { kind, name } = launched_by ?? {};
  return name === undefined ? kind : `${kind} by ${name}`;
}

/**
 * Makes the option that picks records by their status. It takes the words of runs and of executions alike.
 *
 * @param statuses those of the API
 */
export function statusOption(statuses: readonly string[]): Option {
  const words = statuses.map(stateWord);
  const made = new Option("--status <status>", "only those with this status").choices(words);
  return made.argParser((text) => {
    const index = words.indexOf(stateWord(text));
    if (index >= 0) return statuses[index];
    throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`);
  });
}

/** Options of the lists of what triggers launch. */
export interface OriginOptions {
  project?: string;
  trigger?: string;
  status?: string;
  limit: number;
}

/** Adds the options that pick records by their project, trigger and status. */
export function originOptions(command: Command, statuses: readonly string[]): Command {
  return command
    .option("--project <name>", "only those of this project")
    .option("--trigger <trigger>", "only those of this trigger, by its name or id")
    .addOption(statusOption(statuses));
}
