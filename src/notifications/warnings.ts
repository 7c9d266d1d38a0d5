/**
 * Warnings about a notifier that is saved, and that works all the same.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import { hasPublicHost } from "../platform/network/public_addresses.ts";
import { pointer } from "../platform/schema/pointer.ts";
import type { StoredNotifier } from "../store/records/notifiers.ts";
import { getProject } from "../store/records/projects.ts";
import { getStoredTrigger, triggerIdByName } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";
import type { NotifierSecrets } from "./secrets.ts";

/**
 * Finds what a stored notifier names and what is not there: triggers, projects and secrets; and an address that nothing
 * would be sent to.
 */
export async function notifierWarnings(
  notifier: StoredNotifier,
  { store, notifierSecrets }: { store: Store; notifierSecrets: NotifierSecrets },
): Promise<Problem[]> {
  const { triggers = [], projects = [] } = notifier;
  const ofTriggers = triggers.map(async (name, index) =>
    await triggerIdByName(store, name) ?? await getStoredTrigger(store, name)
      ? []
      : [absent(["triggers", index], `no trigger has the name or the id "${name}"`)]
  );
  const ofProjects = projects.map(async (name, index) =>
    await getProject(store, name)
      ? []
      : [absent(["projects", index], `there is no project "${name}"`)]
  );
  const found = await Promise.all([...ofTriggers, ...ofProjects]);
  return [
    ...found.flat(),
    ...notifierSecrets.warnings(notifier),
    ...addressWarnings(notifier, notifierSecrets),
  ];
}

function addressWarnings(notifier: StoredNotifier, secrets: NotifierSecrets): Problem[] {
  const { private_networks, url } = notifier.to;
  if (private_networks === true || hasPublicHost(secrets.addressOf(notifier) ?? "")) return [];
  const detail = "Its host has no public address, so nothing is sent to it: " +
    "to allow others, set to.private_networks of the notifier to true";
  return [{ pointer: pointer("to", url === undefined ? "host" : "url"), detail }];
}

function absent(path: [string, number], why: string): Problem {
  return { pointer: pointer(...path), detail: `Nothing is told of it: ${why}` };
}
