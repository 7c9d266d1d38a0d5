/**
 * Planning what applying a configuration file would change. The service validates each change and stores nothing.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";
import { type Project, projectSettings } from "../store/records/projects.ts";
import {
  type NotifierSettings,
  notifierSettings,
  type StoredNotifier,
} from "../store/records/notifiers.ts";
import { withoutReadOnly } from "../triggers/read_only.ts";
import type { Trigger, TriggerSettings } from "../triggers/trigger.ts";
import { findTrigger, inOrder, type SavedNotifier, type SavedProject } from "./apply.ts";
import {
  newProjectText,
  newTriggerText,
  type PlannedDifference,
  plannedDifferences,
} from "./plan_words.ts";
import type { ConfigDocument } from "./document.ts";

/** A source of plans: the API of a running service. */
export interface PlanSource {
  projects(): Promise<Project[]>;
  triggers(): Promise<Trigger[]>;
  /** Returns the project that saving would make, without saving it. Its secrets are masked. */
  previewProject(project: Project): Promise<SavedProject>;
  /**
   * Returns the trigger that saving would make, without saving it.
   *
   * @param id of the trigger to be replaced; undefined for a new one
   */
  preview(id: string | undefined, settings: TriggerSettings): Promise<Trigger>;
  notifiers(): Promise<StoredNotifier[]>;
  /** Returns the notifier that saving would make, without saving it. Its secrets are masked. */
  previewNotifier(settings: NotifierSettings): Promise<SavedNotifier>;
}

/** A change of a plan. */
export interface PlannedChange {
  /** `+` creates, `~` updates, `-` deletes. */
  sign: "+" | "~" | "-";
  kind: "project" | "trigger" | "notifier";
  name: string;
  /** The id of a trigger that is there. */
  id?: string;
  /** The revision that it has. */
  revision?: number | undefined;
  /** A description of what is created; absent for other changes. */
  detail?: string;
  /** The fields of an update that change. Secrets are masked. */
  differences: PlannedDifference[];
}

/**
 * Plans the changes of a configuration file, in the order in which they are made.
 *
 * @param options `prunes`: projects, triggers and notifiers that the file does not mention are deleted
 * @throws {InvalidInputError} with line and column, when the service would refuse one of them
 */
export async function planConfig(
  document: ConfigDocument,
  source: PlanSource,
  { prunes }: { prunes: boolean },
): Promise<PlannedChange[]> {
  const [projects, triggers] = await Promise.all([source.projects(), source.triggers()]);
  const changes: PlannedChange[] = [];
  for (const [index, project] of document.projects.entries()) {
    const change = projectChange(project, projects, source);
    changes.push(...await change.catch(document.located("projects", index)));
  }
  const kept = new Set<string>();
  for (const { index, settings } of inOrder(triggers, document.triggers)) {
    const before = findTrigger(triggers, settings, document.triggers);
    if (before !== undefined) kept.add(before.id);
    changes.push(...await triggerChange(document, { index, settings, before }, source));
  }
  const notifiers = prunes || document.notifications.length > 0 ? await source.notifiers() : [];
  for (const [index, settings] of document.notifications.entries()) {
    changes.push(...await notifierChange(document, { index, settings, notifiers }, source));
  }
  if (!prunes) return changes;
  const named = document.notifications.map(({ name }) => name);
  const names = document.projects.map(({ name }) => name);
  return [
    ...changes,
    ...triggers.filter(({ id }) => !kept.has(id)).map(({ name, id, revision }) =>
      deletion("trigger", { name, id, revision })
    ),
    ...projects.filter(({ name }) => !names.includes(name)).map(({ name, revision }) =>
      deletion("project", { name, revision })
    ),
    ...notifiers.filter(({ name }) => !named.includes(name)).map(({ name, revision }) =>
      deletion("notifier", { name, revision })
    ),
  ];
}

function deletion(
  kind: PlannedChange["kind"],
  record: Pick<PlannedChange, "name" | "id" | "revision">,
): PlannedChange {
  return { sign: "-", kind, ...record, differences: [] };
}

async function projectChange(
  project: Project,
  all: readonly Project[],
  source: PlanSource,
): Promise<PlannedChange[]> {
  const { name } = project;
  const before = all.find((each) => each.name === name);
  if (before === undefined) {
    await previewed(project, source);
    return [{ sign: "+", kind: "project", name, detail: newProjectText(project), differences: [] }];
  }
  const { secrets, ...others } = projectSettings(before);
  // Only the service can compare secrets. A file without a list of them leaves them as they are.
  const differences = project.secrets === undefined
    ? plannedDifferences(others, projectSettings(project))
    : plannedDifferences(
      { ...others, ...(secrets && { secrets }) },
      await previewed(project, source),
    );
  if (differences.length === 0) return [];
  if (project.secrets === undefined) await previewed(project, source);
  return [{ sign: "~", kind: "project", name, differences }];
}

/** Returns the settings that a project would have. */
async function previewed(project: Project, source: PlanSource): Promise<Project> {
  const { warnings: _, ...made } = await source.previewProject(project);
  return projectSettings(made);
}

async function triggerChange(
  document: ConfigDocument,
  { index, settings, before }: {
    index: number;
    settings: TriggerSettings;
    before: Trigger | undefined;
  },
  source: PlanSource,
): Promise<PlannedChange[]> {
  const change = { kind: "trigger", name: settings.name } as const;
  const detail = newTriggerText(settings);
  const created: PlannedChange = { sign: "+", ...change, detail, differences: [] };
  try {
    const after = await source.preview(before?.id, settings);
    if (before === undefined) return [created];
    if (after.revision === before.revision) return [];
    return [{
      sign: "~",
      ...change,
      id: before.id,
      differences: plannedDifferences(written(before), written(after)),
    }];
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    // Its project is created first: the service cannot look further yet.
    const isNew = document.projects.some(({ name }) => name === settings.project) &&
      error.problems.every(({ pointer }) => pointer === "/project");
    if (!isNew) return document.located("triggers", index)(error);
    return [before === undefined ? created : { sign: "~", ...change, differences: [] }];
  }
}

async function notifierChange(
  document: ConfigDocument,
  { index, settings, notifiers }: {
    index: number;
    settings: NotifierSettings;
    notifiers: readonly StoredNotifier[];
  },
  source: PlanSource,
): Promise<PlannedChange[]> {
  const { name, to } = settings;
  const before = notifiers.find((each) => each.name === name);
  const after = await source.previewNotifier(settings)
    .catch(document.located("notifications", index));
  if (before === undefined) {
    const detail = `it tells by ${to.type}`;
    return [{ sign: "+", kind: "notifier", name, detail, differences: [] }];
  }
  if (after.revision === before.revision) return [];
  const differences = plannedDifferences(notifierSettings(before), notifierSettings(after));
  return [{ sign: "~", kind: "notifier", name, differences }];
}

/** Returns the fields that its owner writes. */
function written(trigger: object): Record<string, unknown> {
  return Object(withoutReadOnly(trigger));
}
