/**
 * Warnings of answers that providers need and that a trigger does not give.
 *
 * @module
 */
import { type NamedPreset, presetsOf } from "../conditions/mod.ts";
import { needsSecret } from "../conditions/handshake/settings.ts";
import type { Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import type { TriggerSettings } from "./trigger.ts";

/** The part of a trigger that the warnings depend on. */
export type AnswerSettings = Pick<
  TriggerSettings,
  "conditions" | "filtered" | "handshakes" | "refused" | "response"
>;

/** Returns what the providers of a trigger's conditions need of its answers. */
export function needsWarnings(trigger: AnswerSettings): Problem[] {
  const presets = presetsOf(trigger.conditions);
  return [
    ...presets.flatMap((each) => [...refusedNeeds(each, trigger), ...responseNeeds(each, trigger)]),
    ...presets.flatMap((each) => handshakeNeeds(each, trigger)),
    ...rateLimitNeeds(presets, trigger),
    ...responseFaults(trigger),
  ];
}

function refusedNeeds(
  { preset }: NamedPreset,
  { refused = {}, filtered }: AnswerSettings,
): Problem[] {
  const known: Readonly<Record<string, number | undefined>> = {
    ...refused,
    filter: refused.filter ?? filtered?.status,
  };
  return Object.entries(preset.needs?.refused ?? {}).flatMap(([cause, status]) => {
    if (known[cause] === status) return [];
    const found = known[cause] ?? 400;
    const detail =
      `${preset.title} needs refused: { ${cause}: ${status} }: the trigger answers ${found}`;
    return [{ pointer: "/refused", detail }];
  });
}

function responseNeeds({ preset }: NamedPreset, { response }: AnswerSettings): Problem[] {
  const { status, content_type } = preset.needs?.response ?? {};
  const problems: Problem[] = [];
  if (status !== undefined && response?.status !== status) {
    const detail = `${preset.title} needs a response with status: ${status}`;
    problems.push({ pointer: "/response", detail });
  }
  const type = response?.content_type ?? typeOf(response?.type);
  if (content_type !== undefined && !type.startsWith(content_type)) {
    const detail = `${preset.title} needs a response of ${content_type}`;
    problems.push({ pointer: "/response", detail });
  }
  return problems;
}

function typeOf(type: "text" | "xml" | "json" = "json"): string {
  return type === "text" ? "text/plain" : `application/${type}`;
}

/** The secret of such a handshake is the owner's to set. */
function handshakeNeeds(
  { index, name, preset }: NamedPreset,
  { handshakes = [] }: AnswerSettings,
): Problem[] {
  const isAnswered = handshakes.some((each) => each.preset === name || each.method);
  if (isAnswered || preset.handshakes === undefined || !needsSecret(name)) return [];
  const detail = `${preset.title} checks the URL with a secret of its own: ` +
    `add handshakes: [{ preset: ${name}, secret: "…" }]`;
  return [{ pointer: `/conditions/${index}/preset`, detail }];
}

function rateLimitNeeds(presets: readonly NamedPreset[], trigger: AnswerSettings): Problem[] {
  const provider = presets.find(({ preset }) => preset.disablesEndpoints)?.preset.title;
  if (provider === undefined || trigger.refused?.rate_limit !== undefined) return [];
  const detail =
    `${provider} disables an endpoint that answers with errors, and a launch over the limit is ` +
    "answered 400: set refused: { rate_limit: 429 } in the trigger";
  return trigger.conditions.flatMap(({ type }, index) =>
    type === "rate_limit" ? [{ pointer: `/conditions/${index}`, detail }] : []
  );
}

/** Mistakes in a response that are allowed. */
function responseFaults({ response }: AnswerSettings): Problem[] {
  if (response?.type !== "json") return [];
  const { json } = response;
  if (typeof json === "string" && isDocument(json)) {
    const detail =
      "Is a text that holds JSON, and is sent in quotes: write the JSON without quotes";
    return [{ pointer: "/response/json", detail }];
  }
  return keyFaults(json, "/response/json");
}

function isDocument(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

function keyFaults(value: unknown, at: string): Problem[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key.includes("{run_id}")
      ? [{ pointer: at + pointer(key), detail: "{run_id} is replaced in values, not in names" }]
      : []),
    ...keyFaults(inner, at + pointer(key)),
  ]);
}
