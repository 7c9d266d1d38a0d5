/**
 * The parts of a diagnosis that every kind of condition uses.
 *
 * @module
 */
import type { Refusal } from "../check.ts";
import type { Field } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { resolveSecret, secretEnd_ms, type SecretSetting, secretText } from "../secret.ts";
import type { Budget } from "./budget.ts";
import type { Clue } from "./finding.ts";

/** A secret in clear. */
export interface KnownSecret {
  text: string;
  /** The text in the settings, where that only names the variable with the secret. */
  literal?: string;
  /** A sentence where the condition does not accept this secret. */
  difference?: string;
}

/** The request and the trigger that a diagnosis is about. */
export interface DiagnosisContext {
  request: LaunchRequest;
  /** The reason why the condition refuses the request. */
  refusal: Refusal;
  /** The URL that the sender called. */
  calledUrl: string;
  /** The time of receipt is known. Else it is the time of the diagnosis. */
  isReceiptKnown: boolean;
  /** The fields in which timestamp conditions read the time. */
  times: readonly Field[];
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  budget: Budget;
  now_ms: number;
  /** Reads the secrets of other conditions and triggers. */
  otherSecrets(): Promise<readonly KnownSecret[]>;
}

/** Diagnoses one condition that refuses a request. */
export type Diagnose<Settings> = (settings: Settings, context: DiagnosisContext) => Promise<Clue[]>;

/** Returns the secrets of a condition's settings, also those that have ended. */
export function knownSecrets(
  settings: readonly SecretSetting[],
  { env, now_ms }: Pick<DiagnosisContext, "env" | "now_ms">,
): KnownSecret[] {
  const advice = settings.some((setting) => secretEnd_ms(setting) > now_ms)
    ? "give the sender the current one"
    : "none of the condition is current, so set a new one on both sides";
  return settings.flatMap((setting): KnownSecret[] => {
    const written = secretText(setting);
    const text = resolveSecret(written, env);
    if (!text) return [];
    const end_ms = secretEnd_ms(setting);
    return [{
      text,
      ...(text !== written && { literal: written }),
      ...(end_ms <= now_ms && {
        difference: `The secret is one that ended at ${
          new Date(end_ms).toISOString()
        } (\`until\`): ${advice}.`,
      }),
    }];
  });
}
