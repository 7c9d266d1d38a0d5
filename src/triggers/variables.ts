/**
 * Secrets in environment variables, `{env:NAME}`. A variable that the service does not have matches nothing.
 *
 * @module
 */
import { valueOf, VARIABLE } from "../conditions/secret.ts";
import type { Problem } from "../platform/errors.ts";
import { mapSecrets } from "./secrets.ts";

/** A shorter secret gets a warning. Providers' own secrets are longer, and so is an operator's token. */
const LENGTH_MIN = 16;

/** A secret in an environment variable. */
export interface SecretVariable {
  /** JSON Pointer to the secret in the trigger. */
  pointer: string;
  /** The variable's name. */
  variable: string;
}

/** Returns the secrets of a trigger whose environment variables are not set, empty or blank. */
export function missingVariables(
  trigger: unknown,
  env: (name: string) => string | undefined,
): SecretVariable[] {
  return variablesOf(trigger).filter(({ variable }) => valueOf(variable, env) === undefined);
}

/**
 * Returns warnings about a trigger's secrets in environment variables, each with a pointer to the secret.
 */
export function variableWarnings(
  trigger: unknown,
  env: (name: string) => string | undefined,
): Problem[] {
  return variablesOf(trigger).flatMap(({ pointer, variable }) =>
    flawsOf(`environment variable ${variable}`, valueOf(variable, env))
      .map((detail) => ({ pointer, detail }))
  );
}

/** @param it the name of the variable, for the text */
function flawsOf(it: string, text: string | undefined): string[] {
  if (text === undefined) return [`Matches nothing: the service's ${it} is not set, or empty`];
  const flaws: string[] = [];
  if (text !== text.trim()) {
    flaws.push(
      `The service's ${it} begins or ends with white space, as of a line's end: it counts`,
    );
  }
  if (text.length < LENGTH_MIN) {
    flaws.push(`The service's ${it} can be guessed: expected ${LENGTH_MIN} characters or more`);
  }
  return flaws;
}

function variablesOf(trigger: unknown): SecretVariable[] {
  const found: SecretVariable[] = [];
  mapSecrets(trigger, (secret, pointer) => {
    const variable = VARIABLE.exec(secret)?.[1];
    if (variable !== undefined) found.push({ pointer, variable });
    return secret;
  });
  return found;
}
