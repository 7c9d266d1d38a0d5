/**
 * Secrets in environment variables, `{env:NAME}`, and in files, `{file:PATH}`. Where the service does not have
 * the variable or the file, the secret matches nothing.
 *
 * @module
 */
import { SECRET_FILE, valueOf, VARIABLE } from "../conditions/secret.ts";
import { readSecretFile } from "../platform/files/secret_file.ts";
import { mapSecrets } from "./secrets.ts";

/** A secret that is in an environment variable or a file. */
interface SecretVariable {
  /** JSON Pointer to the secret in the trigger. */
  pointer: string;
  /** The variable's name, or the file's path. */
  variable: string;
}

/** A secret that is elsewhere, and what is found there. */
interface Source extends SecretVariable {
  /** The reference as it is written. */
  written: string;
  /** The place in words, such as `environment variable TOKEN`. */
  place: string;
  /** Undefined where there is none, or an empty one. */
  text: string | undefined;
}

/** Returns the secrets of a trigger whose variables are not set or empty, or whose files cannot be read. */
export function missingVariables(
  trigger: unknown,
  env: (name: string) => string | undefined,
): SecretVariable[] {
  return sourcesOf(trigger, env).filter(({ text }) => text === undefined)
    .map(({ pointer, variable }) => ({ pointer, variable }));
}

/** Finds the secrets of a part of a trigger that are elsewhere, and what is there. */
export function sourcesOf(trigger: unknown, env: (name: string) => string | undefined): Source[] {
  const found: Source[] = [];
  mapSecrets(trigger, (secret, pointer) => {
    const variable = VARIABLE.exec(secret)?.[1];
    const path = SECRET_FILE.exec(secret)?.[1];
    if (variable !== undefined) {
      const place = `environment variable ${variable}`;
      found.push({ pointer, written: secret, variable, place, text: valueOf(variable, env) });
    } else if (path !== undefined) {
      const text = readSecretFile(path);
      found.push({ pointer, written: secret, variable: path, place: `file ${path}`, text });
    }
    return secret;
  });
  return found;
}
