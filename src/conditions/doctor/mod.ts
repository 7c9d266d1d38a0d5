/**
 * The signature doctor: finds out why a condition refuses a request whose sender means well. It tries the
 * trigger's secrets against every scheme, and says in words what would match.
 *
 * @module
 */
import type { ConditionSettings } from "../condition.ts";
import { CONDITION_TYPES, type ConditionType } from "../kinds.ts";
import type { Diagnose, DiagnosisContext } from "./context.ts";
import { resolveSecrets, type SecretSetting } from "../secret.ts";
import { type Clue, likely } from "./finding.ts";
import { diagnoseHmac } from "./hmac.ts";
import { diagnoseJwt } from "./jwt.ts";
import { diagnoseSignature } from "./signature.ts";
import { diagnoseTimestamp } from "./timestamp.ts";
import { diagnoseToken } from "./token.ts";

export { Budget } from "./budget.ts";
export type { KnownSecret } from "./context.ts";
export { knownSecrets } from "./context.ts";
export { bestFirst, type Finding } from "./finding.ts";

/** The diagnosis of each kind of condition that has one. */
const DIAGNOSES: Partial<Record<ConditionType, Diagnose<never>>> = {
  static_token: diagnoseToken,
  hmac: diagnoseHmac,
  jwt: diagnoseJwt,
  signature: diagnoseSignature,
  timestamp: diagnoseTimestamp,
};

/**
 * Diagnoses a condition that refuses a request.
 *
 * @returns what was found, the most certain first; undefined where this kind of condition has no diagnosis
 */
export async function diagnoseCondition(
  settings: ConditionSettings,
  context: DiagnosisContext,
): Promise<Clue[] | undefined> {
  const type = CONDITION_TYPES.find((name) => name === settings.type);
  const diagnose = type && DIAGNOSES[type];
  if (diagnose === undefined) return undefined;
  // The type of the settings goes with the kind: the schema of the condition has checked them.
  const clues = (await diagnose(settings as never, context))
    .filter(({ sentence }) => sentence !== "");
  if (clues.some(({ certainty }) => certainty === "matches")) return clues;
  const { usable, missing, unreadable } = resolveSecrets(secretsOf(settings), context.env);
  const unset = [
    ...missing.map((variable) =>
      `The environment variable ${variable} of the service is not set, or empty: its secret matches nothing. ` +
      "Set it in a file of --env-file and run hooklaunch reload, or set it and restart the service."
    ),
    ...unreadable.map((path) =>
      `The service cannot read the file ${path}, or it is empty: its secret matches nothing. Write the secret ` +
      "there, and let the user of the service read it."
    ),
  ].map(likely);
  // Without a secret nothing could be tried.
  return unset.length > 0 && usable.length === 0 ? unset : [...unset, ...clues];
}

/** Returns the secrets of a condition's settings; none where its kind has none. */
export function secretsOf(
  settings: ConditionSettings & { secrets?: readonly SecretSetting[] },
): readonly SecretSetting[] {
  return settings.secrets ?? [];
}
