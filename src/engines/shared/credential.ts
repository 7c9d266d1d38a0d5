/**
 * Credentials of engines. A project's settings name where one is: they are stored, and shown to operators.
 *
 * @module
 */
import { ActionError } from "../../platform/errors.ts";
import { tryReadSecretFile } from "../../platform/files/secret_file.ts";

/** The form of a credential in settings: an environment variable of the service, or a file. */
export const CREDENTIAL_PLACE = /^\{(env):([A-Za-z_][A-Za-z0-9_]*)\}$|^\{(file):(\/[^{}]+)\}$/;

/**
 * Reads a credential.
 *
 * @throws {ActionError} when there is none
 */
export function readCredential(place: string): string {
  const [, , variable, , path] = CREDENTIAL_PLACE.exec(place) ?? [];
  if (variable !== undefined) {
    const value = Deno.env.get(variable);
    if (value) return value.trim();
    throw new ActionError(`Cannot read the credential ${place}: the variable is not set`);
  }
  const read = tryReadSecretFile(path ?? "");
  if ("text" in read) return read.text.trim();
  throw new ActionError(`Cannot read the credential ${place}: ${read.problem}`);
}
