/**
 * The secrets of steps, where nothing is loaded for a step without one.
 *
 * @module
 */
import type { SecretsOfSteps } from "../engines/engine.ts";
import type { StepSecretParts } from "../project_secrets/step_secrets.ts";

/** Returns the secrets of steps. What reads them is loaded with the first step that names one. */
export function secretsOfSteps(parts: StepSecretParts): SecretsOfSteps {
  let loaded: Promise<SecretsOfSteps> | undefined;
  const load = async () => {
    const { StepSecrets } = await import("../project_secrets/step_secrets.ts");
    return new StepSecrets(parts);
  };
  const source = () => loaded ??= load();
  return {
    give: async (execution) => await (await source()).give(execution),
    given: async (execution) => await (await source()).given(execution),
  };
}
