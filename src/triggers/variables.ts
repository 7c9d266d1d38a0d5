/**
 * Secrets in environment variables, `{env:NAME}`, and in files, `{file:PATH}`. Where the service does not have
 * the variable or the file, the secret matches nothing.
 *
 * @module
 */
import { SECRET_FILE, valueOf, VARIABLE } from "../conditions/secret.ts";
import { readSecretFile } from "../platform/files/secret_file.ts";
import type { Problem } from "../platform/errors.ts";
import { mapSecrets } from "./secrets.ts";

/** A shorter secret gets a warning. Providers' own secrets are longer, and so is an operator's token. */
const LENGTH_MIN = 16;

/** A secret that is in an environment variable or a file. */
interface SecretVariable {
  /** JSON Pointer to the secret in the trigger. */
  pointer: string;
  /** The variable's name, or the file's path. */
  variable: string;
}

/** A secret that is elsewhere, and what is found there. */
interface Source extends SecretVariable {
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

/** Returns warnings about a trigger's secrets that are elsewhere, each with a pointer to the secret. */
export function variableWarnings(
  trigger: unknown,
  env: (name: string) => string | undefined,
): Problem[] {
  return sourcesOf(trigger, env).flatMap(({ pointer, place, text }) =>
    flawsOf(place, text).map((detail) => ({ pointer, detail }))
  );
}

function flawsOf(place: string, text: string | undefined): string[] {
  if (text === undefined) {
    const why = place.startsWith("file ") ? "cannot be read, or is empty" : "is not set, or empty";
    return [`Matches nothing: the service's ${place} ${why}`];
  }
  const flaws: string[] = [];
  if (text !== text.trim()) {
    flaws.push(
      `The service's ${place} begins or ends with white space, as of a line's end: it counts`,
    );
  }
  if (text.length < LENGTH_MIN) {
    flaws.push(`The service's ${place} can be guessed: expected ${LENGTH_MIN} characters or more`);
  }
  return flaws;
}

function sourcesOf(trigger: unknown, env: (name: string) => string | undefined): Source[] {
  const found: Source[] = [];
  mapSecrets(trigger, (secret, pointer) => {
    const variable = VARIABLE.exec(secret)?.[1];
    const path = SECRET_FILE.exec(secret)?.[1];
    if (variable !== undefined) {
      const place = `environment variable ${variable}`;
      found.push({ pointer, variable, place, text: valueOf(variable, env) });
    } else if (path !== undefined) {
      found.push({ pointer, variable: path, place: `file ${path}`, text: readSecretFile(path) });
    }
    return secret;
  });
  return found;
}
