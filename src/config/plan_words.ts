/**
 * The changes of a plan in words.
 *
 * @module
 */
import { SECRET_MASK } from "../conditions/secret.ts";
import { hideUserInfo } from "../platform/network/urls.ts";
import { type ChangedValue, changedValues } from "../platform/schema/differences.ts";
import { truncate } from "../platform/text/display.ts";
import type { Project } from "../store/records/projects.ts";
import type { TriggerSettings } from "../triggers/trigger.ts";

const VALUE_LENGTH_MAX = 120;

/** A field that changes. */
export interface PlannedDifference extends ChangedValue {
  /** The change in words. */
  detail: string;
}

/** Describes the fields in which two versions differ. A list of secrets is one field: its secrets have no places. */
export function plannedDifferences(before: unknown, after: unknown): PlannedDifference[] {
  return changedValues(before, after, isListOfSecrets).map((changed) => ({
    ...changed,
    detail: isListOfSecrets(changed) ? secretsText(changed) : valueText(changed),
  }));
}

/** Describes a new project, such as `its code is in ./digits`. */
export function newProjectText({ repository, directory, engine }: Project): string {
  const place = repository ?? directory;
  const code = place === undefined ? "it is without code" : `its code is in ${hideUserInfo(place)}`;
  return `${code}, its engine is ${engine.type}`;
}

/** Describes a new trigger, such as `run_execution train in project digits, with hmac`. */
export function newTriggerText({ project, conditions, actions }: TriggerSettings): string {
  const works = actions.map((action) =>
    [action.type, "step" in action && action.step, "pipeline" in action && action.pipeline]
      .filter(Boolean).join(" ")
  );
  const kinds = conditions.map(({ type }) => type);
  return `${works.join(", ")} in project ${project}, ` +
    (kinds.length === 0 ? "without conditions" : `with ${kinds.join(", ")}`);
}

/** Tells of a trigger's lists of secrets from the secrets of projects, which are no lists. */
function isListOfSecrets({ pointer, before, after }: ChangedValue): boolean {
  return pointer.endsWith("/secrets") && Array.isArray(before ?? after);
}

function valueText({ before, after }: ChangedValue): string {
  if (before === undefined) return `${shown(after)} is added`;
  if (after === undefined) return `${shown(before)} is removed`;
  return `${shown(before)} → ${shown(after)}`;
}

function secretsText({ before, after }: ChangedValue): string {
  const [old, now] = [before, after].map((list) => Array.isArray(list) ? list.map(secretName) : []);
  const removed = old?.filter((each) => !now?.includes(each)) ?? [];
  const added = now?.filter((each) => !old?.includes(each)) ?? [];
  const parts = [
    ...removed.map((each) => `${each} is removed`),
    ...added.map((each) => `${each} is added`),
  ];
  return parts.length === 0 ? "their order changes" : parts.join(", ");
}

/** Names a secret by its place, or by its name and fingerprint. */
function secretName(secret: unknown): string {
  if (typeof secret === "string") return secret;
  const { name, value, fingerprint, until } = Object(secret);
  const mark = value === SECRET_MASK ? `with fingerprint ${fingerprint ?? "unknown"}` : value;
  return ["secret", name, mark, until && `until ${until}`].filter(Boolean).join(" ");
}

function shown(value: unknown): string {
  return truncate(hideUserInfo(JSON.stringify(value) ?? "nothing"), VALUE_LENGTH_MAX);
}
