/**
 * Applying a configuration file: projects, triggers and notifiers are created or updated by name. What the file
 * does not mention stays as it is.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { ConflictError, InvalidInputError, type Problem } from "../platform/errors.ts";
import { type Project, projectSettings, revisionOf } from "../store/records/projects.ts";
import type { NotifierSettings, StoredNotifier } from "../store/records/notifiers.ts";
import type { Trigger, TriggerSettings } from "../triggers/trigger.ts";
import type { ConfigDocument } from "./document.ts";

/** The target of a file: the database itself, or the API of a running service. */
export interface ApplyTarget {
  /** Lists all projects. */
  projects(): Promise<Project[]>;
  putProject(project: Project): Promise<SavedProject>;
  /** Lists all triggers. */
  triggers(): Promise<Trigger[]>;
  /** @throws {ConflictError} when its name is taken */
  createTrigger(settings: TriggerSettings): Promise<SavedTrigger>;
  /** @throws {ConflictError} when its name is taken */
  updateTrigger(id: string, settings: TriggerSettings): Promise<SavedTrigger>;
  /** Lists all notifiers. */
  notifiers(): Promise<StoredNotifier[]>;
  putNotifier(settings: NotifierSettings): Promise<SavedNotifier>;
}

/** A notifier as it was saved. */
export type SavedNotifier = StoredNotifier & { warnings: Problem[] };

/** A project as it was saved. */
export type SavedProject = Project & { warnings: Problem[] };

/** A trigger as it was saved. The warnings come from the service, which alone knows its environment. */
export type SavedTrigger = Trigger & { url?: string; warnings: Problem[] };

/** The outcome for one project, trigger, notifier or identity provider. */
export interface Applied {
  kind: "project" | "trigger" | "notifier" | "login";
  name: string;
  outcome: "created" | "updated" | "unchanged";
  /** The launch URL of a trigger; absent where the database is the target. */
  launchUrl?: string;
  /** Remarks for the owner: it can work, and not as expected. */
  warnings: Problem[];
}

/**
 * Applies a configuration file, one project, trigger and notifier after the other, and yields each outcome.
 *
 * @throws {InvalidInputError} with line and column, when the service refuses one of them
 */
export async function* applyConfig(
  document: ConfigDocument,
  target: ApplyTarget,
): AsyncGenerator<Applied> {
  const projects = new Map((await target.projects()).map((project) => [project.name, project]));
  for (const [index, project] of document.projects.entries()) {
    yield await applyProject(project, projects.get(project.name), target)
      .catch(document.located("projects", index));
  }
  const triggers = await target.triggers();
  const all = document.triggers;
  for (const { index, settings } of inOrder(triggers, all)) {
    const before = findTrigger(triggers, settings, all);
    yield await applyTrigger(settings, before, target).catch(async (error) => {
      // Another client may have created it meanwhile, such as by applying the same file.
      const made = before === undefined
        ? findTrigger(await target.triggers(), settings, all)
        : undefined;
      if (made === undefined) throw error;
      return await applyTrigger(settings, made, target);
    }).catch(async (error) => {
      const isTaken = error instanceof ConflictError &&
        (await target.triggers()).some(({ id, name }) =>
          name === settings.name && id !== before?.id
        );
      throw isTaken ? nameTaken(settings) : error;
    }).catch(document.located("triggers", index));
  }
  if (document.notifications.length === 0) return;
  const notifiers = await target.notifiers();
  for (const [index, settings] of document.notifications.entries()) {
    const before = notifiers.find(({ name }) => name === settings.name);
    const after = await target.putNotifier(settings)
      .catch(document.located("notifications", index));
    yield {
      kind: "notifier",
      name: after.name,
      outcome: before === undefined
        ? "created"
        : before.revision === after.revision
        ? "unchanged"
        : "updated",
      warnings: after.warnings,
    };
  }
}

async function applyProject(
  project: Project,
  before: Project | undefined,
  target: ApplyTarget,
): Promise<Applied> {
  const of = { kind: "project", name: project.name } as const;
  if (before !== undefined && isSameProject(project, before)) {
    return { ...of, outcome: "unchanged", warnings: [] };
  }
  const after = await target.putProject(project);
  const isUnchanged = before !== undefined && revisionOf(after) === revisionOf(before);
  const outcome = isUnchanged ? "unchanged" : before ? "updated" : "created";
  return { ...of, outcome, warnings: after.warnings };
}

/** Returns true where a project is known to be stored as it is written. Only the service can compare secrets. */
function isSameProject(written: Project, stored: Project): boolean {
  const { secrets: _, ...others } = projectSettings(stored);
  return written.secrets === undefined && isDeepStrictEqual(others, written);
}

function nameTaken({ name }: TriggerSettings): InvalidInputError {
  const detail = `Expected a unique name, found "${name}", which another trigger has`;
  return new InvalidInputError("the trigger", [{ pointer: "/name", detail }]);
}

/**
 * Returns the trigger that settings in a file mean, by their id or their name.
 *
 * @param all the settings in the file: a trigger whose id is among them is no other one's by its name
 */
export function findTrigger(
  triggers: readonly Trigger[],
  settings: TriggerSettings,
  all: readonly TriggerSettings[],
): Trigger | undefined {
  const named = triggers.find(({ id }) => id === settings.id);
  if (named !== undefined) return named;
  const holder = holderOf(triggers, settings);
  return renamed(holder, all) === undefined ? holder : undefined;
}

/** Returns the triggers of a file with their places in it, each behind the one that gives up its name. */
export function inOrder(
  triggers: readonly Trigger[],
  all: readonly TriggerSettings[],
): { index: number; settings: TriggerSettings }[] {
  // Those that change names among themselves, which cannot be, lead back to each other.
  const renamesBefore = (settings: TriggerSettings, max = all.length): number => {
    const before = renamed(holderOf(triggers, settings), all);
    return before === undefined || max === 0 ? 0 : 1 + renamesBefore(before, max - 1);
  };
  return all.map((settings, index) => ({ index, settings, order: renamesBefore(settings) }))
    .sort((a, b) => a.order - b.order);
}

/** Returns the trigger that has the name of settings in a file. */
function holderOf(triggers: readonly Trigger[], { name }: TriggerSettings): Trigger | undefined {
  return triggers.find((each) => each.name === name);
}

/** Returns the settings by which a file gives another name to a trigger, by its id. */
function renamed(
  trigger: Trigger | undefined,
  all: readonly TriggerSettings[],
): TriggerSettings | undefined {
  return all.find(({ id, name }) =>
    id !== undefined && id === trigger?.id && name !== trigger.name
  );
}

async function applyTrigger(
  settings: TriggerSettings,
  before: Trigger | undefined,
  target: ApplyTarget,
): Promise<Applied> {
  const after = before
    ? await target.updateTrigger(before.id, settings)
    : await target.createTrigger(settings);
  const outcome = before === undefined
    ? "created"
    : before.updated_at === after.updated_at
    ? "unchanged"
    : "updated";
  return {
    kind: "trigger",
    name: after.name,
    outcome,
    warnings: after.warnings,
    ...(after.url === undefined ? {} : { launchUrl: after.url }),
  };
}
