/**
 * The secrets of a step as its command finds them: in variables, and in files that variables name.
 *
 * @module
 */
import { join } from "node:path";
import { ActionError } from "../../platform/errors.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { SecretMasker } from "./secret_masker.ts";

/** The folder of the files, in the folder of the wrapper's files. */
export const SECRETS_FOLDER = "secrets";

/** The secrets of a command. */
interface CommandSecrets {
  /** Variables and their values. */
  variables: Record<string, string>;
  /** Files by their names, and their texts. */
  files: Map<string, string>;
}

/**
 * Reads the secrets of an execution that is prepared.
 *
 * @param folder the work folder as the command sees it
 * @throws {ActionError} when it does not get one of them
 */
export async function commandSecrets(
  execution: Execution,
  folder: string,
  source: SecretsOfSteps | undefined,
): Promise<CommandSecrets> {
  const { secrets: named } = execution;
  const found: CommandSecrets = { variables: {}, files: new Map() };
  if (named === undefined) return found;
  if (source === undefined) throw new ActionError("It names secrets, and there are none here");
  const values = await source.give(execution);
  for (const [variable, { name, file }] of Object.entries(named)) {
    const value = values.get(name) ?? "";
    found.variables[variable] = file ? join(folder, "control", SECRETS_FOLDER, name) : value;
    if (file) found.files.set(name, fileText(value));
  }
  return found;
}

/** Returns what masks the secrets that an execution was given; undefined where there are none. */
export async function maskerOf(
  execution: Execution,
  source: SecretsOfSteps | undefined,
): Promise<SecretMasker | undefined> {
  if (execution.secrets === undefined || source === undefined) return undefined;
  const given = await source.given(execution);
  const { SecretMasker } = await import("./secret_masker.ts");
  return new SecretMasker(given);
}

/** Ends the last of several lines: programs that read keys expect it. */
function fileText(value: string): string {
  return value.includes("\n") && !value.endsWith("\n") ? `${value}\n` : value;
}
