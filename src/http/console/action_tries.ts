/**
 * The work that typed actions would launch, on the newest requests of a trigger. Nothing is launched.
 *
 * @module
 */
import type { ActionsTry, TriedRun } from "../api/try_actions.ts";
import { ApiCallError } from "./client.ts";
import type { View } from "./route.ts";

/** The work of actions on requests, or the mistakes in them. */
export type ActionTries = { results: readonly TriedRun[] } | { mistakes: readonly string[] };

/** Tries what was typed: a list of actions as JSON. */
export async function actionTriesOf(
  view: View,
  text: string,
  triggerId: string,
): Promise<ActionTries> {
  try {
    const actions: unknown = JSON.parse(text.trim() || "[]");
    const path = `triggers/${triggerId}/try-actions/`;
    const { results } = await view.api.send<ActionsTry>("POST", path, { actions });
    return { results };
  } catch (error) {
    if (error instanceof SyntaxError) return { mistakes: [`Expected JSON: ${error.message}`] };
    if (!(error instanceof ApiCallError)) throw error;
    const mistakes = error.problems.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    return { mistakes: mistakes.length > 0 ? mistakes : [error.message] };
  }
}
