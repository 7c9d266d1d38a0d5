/**
 * The form of a trigger's settings: its fields as a merge patch, and the mistakes at the fields that they come
 * from. Filters have fields of their own; the other conditions are JSON.
 *
 * @module
 */
import type { Problem } from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import type { ShownTrigger } from "../api/triggers.ts";
import { readSettings } from "../../platform/text/exact_integers.ts";
import { ApiCallError } from "./client.ts";
import { filterOf, filterText } from "./filter_tries.ts";
import type { Settings } from "./triggers.ts";

/** The fields that are JSON, and their hints. */
export const JSON_FIELDS = {
  conditions: "All must pass, the filter too. A secret that is shown as ******** stays as it is",
  actions: "What it launches",
  response: "The answer to an accepted request; the usual one when empty",
  retention:
    'The time for which records, payloads, logs and outputs are kept, such as {"records": "90d", "payloads": "7d"}; that of the project, or of the service, when empty',
  coalesce:
    'Runs of one key that come together become one, such as {"key": "{body.number}", "window": 30}',
  concurrency:
    'At most so many runs of one key at work, such as {"key": "{body.repository.full_name}", "limit": 1}',
  schedule:
    'Times at which it launches by itself, such as [{"cron": "0 3 * * *", "timezone": "Europe/Helsinki"}]',
} as const;
/** The fields that are text. An empty one is removed. */
export const TEXT_FIELDS = {
  name: "Its address in the console follows it; its URL stays",
  project: "The project whose steps it runs",
  keep_refused: "The time for which refused requests are kept, such as 24h; none when empty",
  delay:
    "The time before a run begins: seconds, or an expression of CEL such as timestamp(body.run_at)",
} as const;
/** Those of them that are its pace. */
export const PACE_FIELDS: ReadonlySet<string> = new Set([
  "coalesce",
  "concurrency",
  "delay",
  "schedule",
]);

/** The field of the filter that has this place among the conditions. */
const FILTER_FIELD = /^filter_(\d+)$/;

/** The fields of a form, by name, as text. */
type FormTexts = ReadonlyMap<string, string>;

/** Returns the fields of a trigger. One without a filter has an empty field for one. */
export function textsOf(trigger: ShownTrigger): FormTexts {
  const { conditions } = trigger;
  const settings: Record<string, unknown> = { ...trigger };
  const isFilter = ({ type }: Settings) => type === "payload_filter";
  const filters = conditions.flatMap((each, place): [string, string][] =>
    isFilter(each) ? [[`filter_${place}`, filterText(each)]] : []
  );
  settings.conditions = conditions.filter((each) => !isFilter(each));
  return new Map([
    ...Object.keys(TEXT_FIELDS).map((name) => [name, String(settings[name] ?? "")] as const),
    ...filters.length > 0 ? filters : [[`filter_${conditions.length}`, ""] as const],
    ...Object.keys(JSON_FIELDS).map((name) => [name, jsonText(settings[name])] as const),
  ]);
}

/** Lists the names of the fields of filters. */
export function filterFieldsOf(texts: Iterable<readonly [string, string]>): string[] {
  return [...texts].map(([name]) => name).filter((name) => FILTER_FIELD.test(name));
}

/**
 * Makes a merge patch of the form: what is empty is removed.
 *
 * @param stored the trigger as it is
 * @throws {ApiCallError} with the fields whose text is no JSON
 */
export function patchOf(form: URLSearchParams, stored: ShownTrigger): Record<string, unknown> {
  const texts = Object.keys(TEXT_FIELDS).map((name) => {
    const text = form.get(name)?.trim() || null;
    return [name, name === "delay" && /^\d+$/.test(text ?? "") ? Number(text) : text];
  });
  const before: Record<string, unknown> = { ...stored };
  const values = Object.keys(JSON_FIELDS).map((name) => {
    const text = form.get(name)?.trim();
    return [name, text ? replacing(before[name], parsed(name, text)) : null];
  });
  const patch = Object.fromEntries([...texts, ...values]);
  const conditions = placedConditions(form, patch.conditions ?? []);
  // What is no list is refused by the API.
  if (conditions !== undefined) patch.conditions = conditions.map(({ settings }) => settings);
  return patch;
}

/** Returns a value as a merge patch writes it in the place of another one: without the fields that it lacks. */
function replacing(before: unknown, value: unknown): unknown {
  if (!isObject(before) || !isObject(value)) return value;
  const removed = Object.keys(before).filter((name) => !(name in value));
  return { ...value, ...Object.fromEntries(removed.map((name) => [name, null])) };
}

/** Returns the mistakes by field; those of no field by their pointers. */
export function problemsByField(
  problems: readonly Problem[],
  form: URLSearchParams,
): Map<string, Problem[]> {
  const byField = new Map<string, Problem[]>();
  for (const problem of problems) {
    const { field, pointer, detail } = fieldOf(problem, form);
    const said = pointer === "" ? detail : `${pointer}: ${detail}`;
    byField.set(field, [...byField.get(field) ?? [], { pointer, detail: said }]);
  }
  return byField;
}

/** A condition, and the field that it comes from, with its place in that field's list. */
interface Placed {
  settings: unknown;
  field: string;
  place?: number;
}

/** Puts the filters among the other conditions, at the places that they had; undefined for what is no list. */
function placedConditions(form: URLSearchParams, others: unknown): Placed[] | undefined {
  if (!Array.isArray(others)) return undefined;
  const placed: Placed[] = others.map((settings, place) => ({
    settings,
    field: "conditions",
    place,
  }));
  for (const field of filterFieldsOf(form)) {
    const text = form.get(field)?.trim();
    const place = Number(FILTER_FIELD.exec(field)?.[1]);
    if (text) placed.splice(place, 0, { settings: filterOf(text), field });
  }
  return placed;
}

function fieldOf(
  { pointer, detail }: Problem,
  form: URLSearchParams,
): Problem & { field: string } {
  const [, field = "", index, ...rest] = pointer.split("/");
  const condition = field === "conditions" && index !== undefined
    ? placedConditions(form, parsed(field, form.get(field) || "[]"))?.[Number(index)]
    : undefined;
  const below = rest.map((part) => `/${part}`).join("");
  if (condition === undefined) {
    return { field, pointer: index === undefined ? "" : pointer, detail };
  }
  return condition.place === undefined
    ? { field: condition.field, pointer: below === "/expression" ? "" : below, detail }
    : { field, pointer: `/${field}/${condition.place}${below}`, detail };
}

/** @throws {ApiCallError} with the field, when the text is no JSON */
function parsed(name: string, text: string): unknown {
  try {
    return readSettings(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = { pointer: `/${name}`, detail: `Expected JSON: ${why}` };
    throw new ApiCallError(422, "The trigger is not saved", [problem]);
  }
}

function jsonText(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}
