/**
 * Applying a configuration file: projects and triggers are created or brought up to date by name;
 * what the file does not mention stays as it is.
 *
 * @module
 */
import { ConflictError, InvalidInputError, type Problem } from "../platform/errors.ts";
import type { Project } from "../store/records/projects.ts";
import type { Trigger, TriggerSettings } from "../triggers/trigger.ts";
import type { ConfigDocument } from "./document.ts";

/** Where a file is applied to: the database itself, or the API of a running service. */
export interface ApplyTarget {
  /** All projects there are. */
  projects(): Promise<Project[]>;
  putProject(project: Project): Promise<void>;
  /** All triggers there are. */
  triggers(): Promise<Trigger[]>;
  /** @throws {ConflictError} when its name is taken */
  createTrigger(settings: TriggerSettings): Promise<SavedTrigger>;
  /** @throws {ConflictError} when its name is taken */
  updateTrigger(id: string, settings: TriggerSettings): Promise<SavedTrigger>;
}

/** A trigger as it was saved. Its warnings are the service's, which alone knows its environment. */
export type SavedTrigger = Trigger & { url?: string; warnings: Problem[] };

/** What was done with one project or trigger. */
export interface Applied {
  kind: "project" | "trigger";
  name: string;
  outcome: "created" | "updated" | "unchanged";
  /** Where a trigger's senders launch it, when the service has said so. */
  launchUrl?: string;
  /** What its owner should know, though it can work. */
  warnings: Problem[];
}

/**
 * Applies a configuration file, one project and trigger after the other, and tells of each when it is done.
 *
 * @throws {InvalidInputError} with line and column, when the service refuses one of its triggers
 */
export async function* applyConfig(
  document: ConfigDocument,
  target: ApplyTarget,
): AsyncGenerator<Applied> {
  const projects = new Map((await target.projects()).map((project) => [project.name, project]));
  for (const project of document.projects) {
    const before = projects.get(project.name);
    const isSame = JSON.stringify(before) === JSON.stringify(project);
    if (!isSame) await target.putProject(project);
    const outcome = isSame ? "unchanged" : before ? "updated" : "created";
    yield { kind: "project", name: project.name, outcome, warnings: [] };
  }
  const triggers = await target.triggers();
  for (const [index, settings] of document.triggers.entries()) {
    const before = findTrigger(triggers, settings);
    yield await applyTrigger(settings, before, target).catch(async (error) => {
      // Somebody may have made it meanwhile, as by applying the same file.
      const made = before === undefined
        ? findTrigger(await target.triggers(), settings)
        : undefined;
      if (made === undefined) throw error;
      return await applyTrigger(settings, made, target);
    }).catch((error) => {
      const wrong = error instanceof ConflictError ? nameTaken(settings) : error;
      throw wrong instanceof InvalidInputError ? document.locate(index, wrong) : wrong;
    });
  }
}

function nameTaken({ name }: TriggerSettings): InvalidInputError {
  const detail = `Expected a name of its own, found "${name}", which another trigger has`;
  return new InvalidInputError("the trigger", [{ pointer: "/name", detail }]);
}

/** The trigger that settings in a file mean: that of their id, or of their name. */
function findTrigger(
  triggers: readonly Trigger[],
  settings: TriggerSettings,
): Trigger | undefined {
  return triggers.find(({ id }) => id === settings.id) ??
    triggers.find(({ name }) => name === settings.name);
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
