/**
 * Warnings of answers that providers need and that a trigger does not give.
 *
 * @module
 */
import { type NamedPreset, presetsOf } from "../conditions/mod.ts";
import { needsSecret } from "../conditions/handshake/settings.ts";
import type { Preset } from "../conditions/signing/preset.ts";
import type { Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import type { TriggerSettings } from "./trigger.ts";

const SHOWN_ANSWER_CHARACTERS_MAX = 80;

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

/** The settings that a trigger lacks for the providers of its conditions, as a merge patch. */
export interface NeededSettings {
  refused?: Record<string, number>;
  filtered?: null;
  response?: Record<string, unknown>;
}

/** Returns what a trigger lacks for the providers of its conditions; undefined where it lacks nothing. */
export function neededSettings(trigger: AnswerSettings): NeededSettings | undefined {
  const presets = presetsOf(trigger.conditions);
  const has = (kind: string) => trigger.conditions.some(({ type }) => type === kind);
  const disables = presets.some(({ preset }) => preset.disablesEndpoints);
  const isFiltered = has("payload_filter") || has("json_schema");
  const { filter } = statusesOf(trigger);
  const refused = {
    ...(disables && has("rate_limit") && trigger.refused?.rate_limit === undefined &&
      { rate_limit: 429 }),
    ...(disables && isFiltered && (filter ?? 400) > 299 && { filter: 200 }),
    ...Object.fromEntries(presets.flatMap((each) => refusedLacks(each, trigger))),
  };
  const response = presets.find((each) => responseNeeds(each, trigger).length > 0)?.preset;
  const needed = {
    ...(Object.keys(refused).length > 0 && { refused }),
    ...("filter" in refused && trigger.filtered && { filtered: null }),
    ...(response && { response: responseFor(response.needs?.response ?? {}, trigger) }),
  };
  return Object.keys(needed).length === 0 ? undefined : needed;
}

/** Changes a response that is there, but for its type, which comes with a text of its own. */
function responseFor(
  { status, content_type, text }: NonNullable<NonNullable<Preset["needs"]>["response"]>,
  { response }: AnswerSettings,
): Record<string, unknown> {
  const isOther = (content_type ?? text) !== undefined || response === undefined;
  const type = content_type === "application/xml" ? "xml" : "text";
  return {
    ...(isOther && { type, text: text ?? "" }),
    ...(status !== undefined && { status }),
  };
}

function statusesOf(
  { refused = {}, filtered }: AnswerSettings,
): Readonly<Record<string, number | undefined>> {
  return { ...refused, filter: refused.filter ?? filtered?.status };
}

/** Lists the causes of refusals whose statuses a provider needs and does not get. */
function refusedLacks({ preset }: NamedPreset, trigger: AnswerSettings): [string, number][] {
  const known = statusesOf(trigger);
  return Object.entries(preset.needs?.refused ?? {})
    .filter(([cause, status]) => known[cause] !== status);
}

function refusedNeeds(each: NamedPreset, trigger: AnswerSettings): Problem[] {
  const { preset } = each;
  const known = statusesOf(trigger);
  return refusedLacks(each, trigger).flatMap(([cause, status]) => {
    const found = known[cause] ?? 400;
    const detail =
      `${preset.title} needs refused: { ${cause}: ${status} }: the trigger answers ${found}`;
    return [{ pointer: "/refused", detail }];
  });
}

function responseNeeds({ preset }: NamedPreset, { response }: AnswerSettings): Problem[] {
  const { status, content_type, text } = preset.needs?.response ?? {};
  const problems: Problem[] = [];
  if (text === "" && hasBody(response)) {
    const detail = `${preset.title} takes no answer with a body: ` +
      'set response: { type: text, text: "" }';
    problems.push({ pointer: "/response", detail });
  }
  if (status !== undefined && response?.status !== status) {
    const detail = `${preset.title} needs a response with status: ${status}`;
    problems.push({ pointer: "/response", detail });
  }
  const type = response?.content_type ?? typeOf(response?.type);
  if (content_type !== undefined && !isOfType(type, content_type)) {
    const what = `${preset.title} needs a response of ${content_type}`;
    problems.push({ pointer: "/response", detail: what + emptyAnswer(preset) });
  }
  return problems;
}

function hasBody(response: AnswerSettings["response"]): boolean {
  if (response?.status === 204 || response?.status === 205) return false;
  return response === undefined || response.type === "json" || response.text !== "";
}

/** Tells whether a Content-Type is the one that a provider needs; XML has two names (RFC 7303 section 9.2). */
function isOfType(found: string, needed: string): boolean {
  const [type = ""] = found.toLowerCase().split(";");
  return (type.trim() === "text/xml" ? "application/xml" : type.trim()) === needed;
}

/** Shows the settings of an answer that asks the provider for nothing, where it is short. */
function emptyAnswer({ needs }: Preset): string {
  const { text = "" } = needs?.response ?? {};
  return text === "" || text.length > SHOWN_ANSWER_CHARACTERS_MAX
    ? ""
    : `: set response: { type: xml, text: "${text}" } for an empty answer`;
}

function typeOf(type: "text" | "xml" | "json" = "json"): string {
  return type === "text" ? "text/plain" : `application/${type}`;
}

/** Returns the first provider that checks the URL with a secret that the trigger does not have. */
export function neededHandshake(
  trigger: AnswerSettings,
): Pick<NamedPreset, "name" | "preset"> | undefined {
  return presetsOf(trigger.conditions).find((each) => lacksHandshake(each, trigger));
}

function lacksHandshake(
  { name, preset }: NamedPreset,
  { handshakes = [] }: AnswerSettings,
): boolean {
  const isAnswered = handshakes.some((each) => each.preset === name || each.method);
  return !isAnswered && preset.handshakes !== undefined && needsSecret(name);
}

/** The secret of such a handshake is the owner's to set. */
function handshakeNeeds(each: NamedPreset, trigger: AnswerSettings): Problem[] {
  if (!lacksHandshake(each, trigger)) return [];
  const { index, name, preset } = each;
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
