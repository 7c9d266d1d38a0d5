/**
 * Secrets in environment variables, `{env:NAME}`, that the service does not have: they match nothing.
 *
 * @module
 */
import { VARIABLE } from "../conditions/secret.ts";
import { mapSecrets } from "./secrets.ts";

/** A secret whose environment variable is not set, or empty. */
export interface MissingVariable {
  /** JSON Pointer to the secret in the trigger. */
  pointer: string;
  /** The variable's name. */
  variable: string;
}

/** Finds the secrets of a trigger whose environment variables are not set, or empty. */
export function missingVariables(
  trigger: unknown,
  env: (name: string) => string | undefined,
): MissingVariable[] {
  const missing: MissingVariable[] = [];
  mapSecrets(trigger, (secret, pointer) => {
    const variable = VARIABLE.exec(secret)?.[1];
    if (variable !== undefined && !env(variable)) missing.push({ pointer, variable });
    return secret;
  });
  return missing;
}
