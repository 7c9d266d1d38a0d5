/**
 * Filters as forms have them, and their verdicts while they are typed: on the newest requests of a trigger, or
 * on one such as its provider sends.
 *
 * @module
 */
import { readSettings } from "../../platform/text/exact_integers.ts";
import type { Problem } from "../../platform/errors.ts";
import type { TriedDelivery, TriedFilter } from "../api/try_filter.ts";
import { ApiCallError } from "./client.ts";
import type { View } from "./route.ts";
import { bodyTextOf, type Sample, sampleOf } from "./samples.ts";
import type { Settings } from "./triggers.ts";

/** The form's name of the button that tries a filter: its value is the name of the filter's field. */
export const TRY = "try";

/** The verdicts of a filter, or the mistakes in it. */
export type Tries =
  | { results: readonly TriedDelivery[]; sample?: Sample }
  | { mistakes: readonly string[] };

/** The settings of a filter. */
type FilterSettings = Settings & { readonly type: "payload_filter" };

/** Makes a filter of what was typed: an expression, or a list of clauses as JSON. */
export function filterOf(text: string): FilterSettings {
  const expression = text.replaceAll("\r\n", "\n").trim();
  // No expression is an object of JSON: a map is never true or false.
  if (!expression.startsWith("{")) return { type: "payload_filter", expression };
  try {
    return { type: "payload_filter", ...Object(readSettings(expression)) };
  } catch {
    return { type: "payload_filter", expression };
  }
}

/** Writes a filter for its field. */
export function filterText({ type: _, expression, ...list }: Settings): string {
  return typeof expression === "string" ? expression : JSON.stringify(list, null, 2);
}

/** The subject of a filter: a trigger, and the preset of who sends. */
interface TriedOn {
  triggerId?: string;
  preset: string | undefined;
}

/** Tries what was typed. Nothing lets every request pass. */
export async function triesOf(
  view: View,
  text: string,
  { triggerId, preset }: TriedOn,
): Promise<Tries> {
  try {
    const filter = filterOf(text.trim() || "true");
    if (triggerId === undefined) return await tryOnSample(view, "try-filter/", { filter, preset });
    const path = `triggers/${triggerId}/try-filter/`;
    const { results } = await view.api.send<TriedFilter>("POST", path, { filter });
    return results.length > 0 ? { results } : await tryOnSample(view, path, { filter, preset });
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    const mistakes = error.problems.map(mistakeOf);
    return { mistakes: mistakes.length > 0 ? mistakes : [error.message] };
  }
}

/** Writes a problem of a filter beside its field, which shows what was found. */
function mistakeOf({ pointer, detail }: Problem): string {
  if (pointer === "/filter/expression") return detail.replace(/, found "[^]*$/, "");
  const place = pointer.replace(/^\/filter/, "");
  return place === "" ? detail : `${place}: ${detail}`;
}

async function tryOnSample(
  view: View,
  path: string,
  { filter, preset }: { filter: FilterSettings; preset: string | undefined },
): Promise<Tries> {
  const sample = sampleOf(preset);
  const headers = { "content-type": "application/json", ...sample.headers };
  const requests = [{ headers, body: bodyTextOf(sample) }];
  const { results } = await view.api.send<TriedFilter>("POST", path, { filter, requests });
  return { results, sample };
}
