/**
 * The warning of filters whose refusals make a provider stop to send.
 *
 * @module
 */
import type { WarningFacts } from "./condition.ts";

/** Warns of a filter where a provider disables endpoints that answer with errors. */
export function warnOfDisabling({ presets, ignoresFiltered }: WarningFacts): string[] {
  const provider = presets.find(({ disablesEndpoints }) => disablesEndpoints)?.title;
  if (provider === undefined || ignoresFiltered) return [];
  return [
    `${provider} disables an endpoint that answers with errors, and a filtered request is answered 400: ` +
    "set refused: { filter: 200 } in the trigger",
  ];
}
