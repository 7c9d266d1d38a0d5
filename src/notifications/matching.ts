/**
 * The causes that a notifier tells of.
 *
 * @module
 */
import type { CauseSubject } from "../store/records/notifications.ts";
import type { NotifierSettings } from "../store/records/notifiers.ts";

/** Tells whether a notifier tells of a cause. Those of the service and its engines concern all triggers. */
export function tellsOf(
  notifier: Pick<NotifierSettings, "name" | "on" | "triggers" | "projects">,
  code: string,
  subject: CauseSubject,
): boolean {
  if (!notifier.on.includes(code)) return false;
  // It cannot tell of its own failure.
  if (subject.kind === "notifier") return subject.name !== notifier.name;
  return concerns(notifier, subject);
}

/** Tells whether a subject is among the triggers or projects of a notifier. */
export function concerns(
  { triggers, projects }: Pick<NotifierSettings, "triggers" | "projects">,
  { kind, name, id = "", project = "" }: CauseSubject,
): boolean {
  if (kind === "trigger") {
    if (triggers) return triggers.includes(name) || triggers.includes(id);
    return projects === undefined || projects.includes(project);
  }
  if (kind !== "project") return true;
  return triggers === undefined && (projects === undefined || projects.includes(name));
}
