/**
 * Applying a configuration file: projects and triggers are created or updated by name. What the file
 * does not mention stays as it is.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { ConflictError, InvalidInputError, type Problem } from "../platform/errors.ts";
import { type Project, projectSettings } from "../store/records/projects.ts";
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
}

/** A project as it was saved. */
export type SavedProject = Project & { warnings: Problem[] };

/** A trigger as it was saved. The warnings come from the service, which alone knows its environment. */
export type SavedTrigger = Trigger & { url?: string; warnings: Problem[] };

/** The outcome for one project or trigger. */
export interface Applied {
  kind: "project" | "trigger";
  name: string;
  outcome: "created" | "updated" | "unchanged";
  /** The launch URL of a trigger; absent where the database is the target. */
  launchUrl?: string;
  /** Remarks for the owner: it can work, and not as expected. */
  warnings: Problem[];
}

/**
 * Applies a configuration file, one project and trigger after the other, and yields each outcome.
 *
 * @throws {InvalidInputError} with line and column, when the service refuses a trigger
 */
export async function* applyConfig(
  document: ConfigDocument,
  target: ApplyTarget,
): AsyncGenerator<Applied> {
  const projects = new Map((await target.projects()).map((project) => [project.name, project]));
  for (const project of document.projects) {
    const before = projects.get(project.name);
    const isSame = before !== undefined && isDeepStrictEqual(projectSettings(before), project);
    const warnings = isSame ? [] : (await target.putProject(project)).warnings;
    const outcome = isSame ? "unchanged" : before ? "updated" : "created";
    yield { kind: "project", name: project.name, outcome, warnings };
  }
  const triggers = await target.triggers();
  for (const [index, settings] of document.triggers.entries()) {
    const before = findTrigger(triggers, settings);
    yield await applyTrigger(settings, before, target).catch(async (error) => {
      // Another client may have created it meanwhile, such as by applying the same file.
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
  const detail = `Expected a unique name, found "${name}", which another trigger has`;
  return new InvalidInputError("the trigger", [{ pointer: "/name", detail }]);
}

/** Returns the trigger that settings in a file mean, by their id or their name. */
export function findTrigger(
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
