/**
 * Secrets in environment variables, `{env:NAME}`: those that the service does not have match nothing.
 *
 * @module
 */
import { valueOf, VARIABLE } from "../conditions/secret.ts";
import { mapSecrets } from "./secrets.ts";

/** A secret in an environment variable. */
export interface SecretVariable {
  /** JSON Pointer to the secret in the trigger. */
  pointer: string;
  /** The variable's name. */
  variable: string;
}

/** Finds the secrets of a trigger whose environment variables are not set, empty or blank. */
export function missingVariables(
  trigger: unknown,
  env: (name: string) => string | undefined,
): SecretVariable[] {
  return variablesOf(trigger).filter(({ variable }) => valueOf(variable, env) === undefined);
}

/** Finds the secrets of a trigger whose environment variables begin or end with white space. */
export function paddedVariables(
  trigger: unknown,
  env: (name: string) => string | undefined,
): SecretVariable[] {
  return variablesOf(trigger).filter(({ variable }) => {
    const text = valueOf(variable, env);
    return text !== text?.trim();
  });
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
