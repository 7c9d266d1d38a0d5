/**
 * Applying the text of a configuration file to the database of a service that is starting.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import type { Problem } from "../platform/errors.ts";
import { type AuditedChange, type Author, writeAudit } from "../store/records/audit.ts";
import { changesBetween } from "../store/records/audit_changes.ts";
import type { Engines } from "../engines/mod.ts";
import { getProject, listProjects, putProject } from "../store/records/projects.ts";
import { saveNotifier } from "../notifications/save.ts";
import type { Notifications } from "../notifications/notifications.ts";
import type { NotifierSecrets } from "../notifications/secrets.ts";
import { notifierWarnings } from "../notifications/warnings.ts";
import { getNotifier, listNotifiers } from "../store/records/notifiers.ts";
import type { ProjectSecrets } from "../project_secrets/settings.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { triggerWarnings } from "../triggers/review.ts";
import {
  savedProjectWarnings,
  savedTriggerWarnings,
  type WarningParts,
} from "../triggers/save_warnings.ts";
import type { Trigger } from "../triggers/trigger.ts";
import { type Applied, applyConfig, type ApplyTarget, type SavedTrigger } from "./apply.ts";
import { applyLogins } from "./apply_logins.ts";
import { parseConfig } from "./document.ts";
import { namesEngine } from "./project.ts";

/** The parts of a service that applying a file needs. */
interface LocalService extends WarningParts {
  projectSecrets: ProjectSecrets;
  notifierSecrets: NotifierSecrets;
  notifications: Notifications;
  triggers: TriggerRegistry;
  engines: Pick<Engines, "expectUsable">;
  clock: Clock;
}

/**
 * Applies the text of a configuration file.
 *
 * @param path the file that the text comes from
 * @param folder the folder that relative paths start at; the folder of `path` when absent
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export async function* applyText(
  written: string | Uint8Array,
  path: string,
  service: LocalService,
  folder?: string,
): AsyncGenerator<Applied> {
  const document = parseConfig(written, path, folder);
  yield* applyConfig(document, targetOf(service, path));
  const audit = auditOf(service, authorOf(path));
  const about = { operation: "applyLogins", path: "/oidc/" };
  yield* applyLogins(document.oidc, {
    ...service,
    audit: (changes) => audit({ ...about, changes }),
  });
}

function authorOf(file: string): Author {
  return { name: `serve --config ${file}` };
}

/** A change of a project, a trigger or a notifier, for the audit log. */
interface SavedChange {
  /** The operation of the API that makes the same change. */
  operation: string;
  /** The path of that operation, below `/api/v0`. */
  path: string;
  changes: AuditedChange[];
}

/** Makes the writer of the audit log for what a file changes. */
function auditOf({ store, clock }: LocalService, author: Author) {
  return async ({ operation, path, changes }: SavedChange): Promise<void> => {
    await writeAudit(store, { author, remote_ip: "", operation, path, changes }, clock.now());
  };
}

/** The database as a target of {@linkcode applyConfig}. */
function targetOf(service: LocalService, file: string): ApplyTarget {
  const { store, triggers, engines, projectSecrets } = service;
  const author = authorOf(file);
  const audit = auditOf(service, author);
  const saved = async (trigger: Trigger, ofSecrets: Problem[]): Promise<SavedTrigger> => ({
    ...trigger,
    warnings: [...ofSecrets, ...await savedTriggerWarnings(trigger, service)],
  });
  return {
    projects: () => listProjects(store),
    async putProject(project) {
      engines.expectUsable(project.engine, namesEngine(project));
      const before = await getProject(store, project.name);
      const stored = await putProject(store, projectSecrets.sealed(project, before));
      const after = projectSecrets.shown(stored);
      if (after.revision !== before?.revision) {
        const path = `/projects/${project.name}/`;
        const shown = before && projectSecrets.shown(before);
        await audit({ operation: "putProject", path, changes: changesBetween(shown, after) });
      }
      return { ...after, warnings: await savedProjectWarnings(stored, service) };
    },
    triggers: () => Array.fromAsync(triggers.all()),
    async createTrigger(settings) {
      const warnings: Problem[] = [];
      const after = await triggers.create(settings, {
        author,
        file,
        onWarnings: (found) => warnings.push(...found),
        onSharedSecrets: (found) => warnings.push(...found),
      });
      const changes = changesBetween(undefined, after);
      await audit({ operation: "createTrigger", path: "/triggers/", changes });
      return await saved(after, warnings);
    },
    async updateTrigger(id, settings) {
      const before = await triggers.get(id);
      const warnings: Problem[] = [];
      const after = await triggers.update(id, () => settings, {
        author,
        file,
        onWarnings: (found) => warnings.push(...found),
        onSharedSecrets: (found) => warnings.push(...found),
      });
      if (after.revision !== before?.revision) {
        const changes = changesBetween(before, after);
        await audit({ operation: "replaceTrigger", path: `/triggers/${id}/`, changes });
        return await saved(after, warnings);
      }
      // A look into its project at each start would take the longer the more triggers there are.
      return { ...after, warnings: [...warnings, ...triggerWarnings(after, service.env)] };
    },
    notifiers: () => listNotifiers(store),
    async putNotifier(settings) {
      const { notifierSecrets } = service;
      const before = await getNotifier(store, settings.name);
      const after = await triggers.between(() => saveNotifier(settings, before, service));
      if (after.revision !== before?.revision) {
        const path = `/notifiers/${settings.name}/`;
        const shown = before && notifierSecrets.shown(before);
        const changes = changesBetween(shown, notifierSecrets.shown(after));
        await audit({ operation: "putNotifier", path, changes });
      }
      return { ...after, warnings: await notifierWarnings(after, service) };
    },
  };
}
