/**
 * Previews of actions: what each would launch for a request. Nothing is launched, made or stored.
 *
 * @module
 */
import type { ActionSettings } from "../store/records/runs.ts";
import type { PreviewContext, PreviewedWork } from "./action.ts";
import { kindOf } from "./mod.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { stoppedBy, watchedValues, withValues } from "./values.ts";

/** The result that an action would have: work, none, or why it has failed or was skipped. */
export interface ActionPreview extends Partial<PreviewedWork> {
  action: string;
  skipped?: string;
  error?: string;
}

/** Previews the actions of a run in their order. */
export async function previewActions(
  actions: readonly ActionSettings[],
  evaluate: EvaluateValues,
  context: Omit<PreviewContext, "evaluate">,
): Promise<ActionPreview[]> {
  const previews: ActionPreview[] = [];
  let stopped: string | undefined;
  for (const [place, written] of actions.entries()) {
    const preview: ActionPreview = { action: written.type };
    previews.push(preview);
    const values = watchedValues(evaluate);
    try {
      const ready = stopped === undefined
        ? await withValues(written, values.evaluate)
        : { skipped: stopped };
      if ("skipped" in ready) preview.skipped = ready.skipped;
      else {Object.assign(
          preview,
          await kindOf(written)?.preview?.(ready.settings, {
            ...context,
            evaluate: values.evaluate,
          }),
        );}
    } catch (error) {
      preview.error = values.messageOf(error);
      if (written.on_failure === "stop") stopped = stoppedBy(place, written);
    }
  }
  return previews;
}
