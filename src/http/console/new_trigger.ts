/**
 * The form of a new trigger: its fields as settings, and the mistakes in settings at the fields that they come from.
 *
 * @module
 */
import { sendsTokenInBody } from "../../conditions/signing/presets/mod.ts";
import type { Problem } from "../../platform/errors.ts";
import type { ProjectContents } from "../api/project_contents.ts";
import { filterOf } from "./filter_tries.ts";
import type { Settings } from "./triggers.ts";

/** Stores the body without its token. */
const REDACT = { redact: true };

/** The fields of the form, with problems or without. */
const FIELDS = ["name", "provider", "secret", "work", "filter", "quota", "key"] as const;

export type FieldName = typeof FIELDS[number];

/** Work that a trigger can launch: a project, and an action. */
export interface Work {
  project: string;
  action: Settings;
}

/** Lists what a project's steps and pipelines can be launched as, each with a label. */
export function workOf(
  project: string,
  { steps, pipelines }: Pick<ProjectContents, "steps" | "pipelines">,
): { label: string; work: Work }[] {
  const ofSteps = steps.flatMap(({ name: step, inputs }) => {
    const action = { type: "run_execution", step };
    const withPayload = inputs.map((input) => ({
      label: `${step}, the payload as its input ${input}`,
      work: { project, action: { ...action, payload_input_name: input } },
    }));
    return [...withPayload, { label: step, work: { project, action } }];
  });
  const ofPipelines = pipelines.map(({ name: pipeline }) => ({
    label: `pipeline ${pipeline}`,
    work: { project, action: { type: "run_pipeline", pipeline } },
  }));
  return [...ofSteps, ...ofPipelines];
}

/** Returns the label of work that is not among what is offered now; undefined for what is none. */
export function labelOf(text: string): string | undefined {
  const { project, action } = workFrom(text) ?? {};
  return action && `${action.step ?? action.pipeline} of ${project}`;
}

/** Makes the settings of a trigger from the fields of the form. */
export function settingsOfForm(form: URLSearchParams): Record<string, unknown> {
  const work = workFrom(form.get("work") ?? "");
  return {
    name: form.get("name")?.trim() ?? "",
    project: work?.project ?? "",
    conditions: conditionsOf(form),
    actions: work === undefined ? [] : [work.action],
    ...(form.has("keep") ? { keep_refused: "24h" } : {}),
    ...(form.has("ignore") ? { filtered: { status: 200 } } : {}),
  };
}

/** Returns the kind of condition and the preset of the provider that was picked; empty for none. */
export function providerOf(form: URLSearchParams): { type: string; preset: string } {
  const [type = "", preset = ""] = (form.get("provider") ?? "").split("/");
  return { type, preset };
}

/** Returns the mistakes that the settings made of the form no longer show. */
export function problemsOfForm(form: URLSearchParams): Problem[] {
  if (!form.get("secret") || form.get("provider")) return [];
  const detail = "A secret checks nothing without a provider: choose who sends, or leave it empty";
  return [{ pointer: "/secret", detail }];
}

function conditionsOf(form: URLSearchParams): Settings[] {
  const { type, preset } = providerOf(form);
  const conditions: Settings[] = [];
  if (preset) {
    const secrets = [form.get("secret") ?? ""];
    conditions.push({ type, preset, secrets, ...(sendsTokenInBody(type, preset) && REDACT) });
  }
  const filter = form.get("filter")?.trim();
  if (filter) conditions.push(filterOf(filter));
  const key = form.get("key")?.trim();
  if (key) conditions.push({ type: "deduplication", key });
  else if (form.has("deduplication")) conditions.push({ type: "deduplication" });
  const quota = form.get("quota")?.trim();
  if (quota) {
    const count = Number(quota);
    // What is no number is refused by the API, which names it.
    conditions.push({ type: "rate_limit", quota: isNaN(count) ? quota : count, period: 60 });
  }
  return conditions;
}

function workFrom(text: string): Work | undefined {
  try {
    const { project, action } = JSON.parse(text);
    return { project: String(project), action: { ...Object(action) } };
  } catch {
    return undefined;
  }
}

/** Returns the field that a problem of the settings comes from; undefined for none. */
export function fieldOf(
  { pointer }: Problem,
  settings: Record<string, unknown>,
): FieldName | undefined {
  const [, part, place, name] = pointer.split("/");
  if (part === "name" || part === "secret") return part;
  if (part === "actions" || part === "project") return "work";
  if (part !== "conditions") return undefined;
  const condition = Array.isArray(settings.conditions)
    ? settings.conditions[Number(place)]
    : undefined;
  if (condition?.type === "deduplication" && name === "key") return "key";
  const fields: Readonly<Record<string, FieldName>> = {
    payload_filter: "filter",
    rate_limit: "quota",
  };
  return fields[condition?.type] ?? (name === "secrets" ? "secret" : "provider");
}
