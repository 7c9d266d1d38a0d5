/**
 * Where a request says which delivery it is, so that a repeat can be told from a new one.
 *
 * @module
 */
import type { ConditionSettings } from "./condition.ts";
import type { Field } from "./field.ts";
import { signingScheme } from "./signing/signing_scheme.ts";
import { staticToken, type StaticTokenSettings } from "./static_token.ts";
import { tokenPresets } from "./signing/presets/mod.ts";

/**
 * What is the same when a delivery is repeated: what the first of the conditions that knows says.
 * Undefined when none does.
 */
export function deliveryIdField(conditions: readonly ConditionSettings[]): Field | undefined {
  for (const settings of conditions) {
    const field = signingScheme(settings)?.delivery_id ?? tokenDeliveryId(settings);
    if (field) return field;
  }
  return undefined;
}

function tokenDeliveryId(settings: ConditionSettings): Field | undefined {
  if (settings.type !== staticToken.type) return undefined;
  // The type of a condition says what its settings are.
  const { preset } = settings as StaticTokenSettings;
  return preset === undefined ? undefined : tokenPresets[preset]?.delivery_id;
}
