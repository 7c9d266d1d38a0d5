/**
 * The access that an operator's token gives: a scope, and the triggers and projects that it is limited to. Which
 * records these are is told by `records.ts`.
 *
 * @module
 */
import { ForbiddenError } from "../../platform/errors.ts";
import { hideUserInfo } from "../../platform/network/urls.ts";
import { type Scope, SCOPES } from "../../store/records/tokens.ts";
import type { Author } from "../../store/records/audit.ts";
import { type ReferenceHolder, referenceHolders } from "../../triggers/secrets.ts";
import type { TriggerSettings } from "../../triggers/trigger.ts";
import type { Declaration } from "./declaration.ts";

/** The access that the token of a request gives. */
export interface Access extends Author {
  scope: Scope;
  /** The triggers that it is limited to, by name or id. */
  triggers?: readonly string[];
  /** The projects that it is limited to. */
  projects?: readonly string[];
}

/** The scope that an operation needs: its own, else `read` for a GET, and `admin` for a change. */
export function scopeOf({ method, scope }: Pick<Declaration, "method" | "scope">): Scope {
  return scope ?? (method === "get" ? "read" : "admin");
}

/** Tells whether a token is limited to some triggers or projects. */
export function isLimited({ triggers, projects }: Access): boolean {
  return triggers !== undefined || projects !== undefined;
}

/**
 * Checks that a token is not limited: what it asks for tells of all triggers and projects.
 *
 * @throws {ForbiddenError} when it is
 */
export function requireUnlimited(access: Access): void {
  if (isLimited(access)) throw refused(access);
}

/**
 * Checks the scope of a token.
 *
 * @throws {ForbiddenError} when the operation needs a greater one
 */
export function requireScope(
  access: Access,
  declared: Pick<Declaration, "method" | "scope">,
): void {
  const needed = scopeOf(declared);
  if (SCOPES.indexOf(access.scope) >= SCOPES.indexOf(needed)) return;
  throw new ForbiddenError(
    `This needs a token with the scope "${needed}"; the scope of "${access.name}" is "${access.scope}"`,
  );
}

/**
 * Checks that a limited token may save a trigger with a project: a trigger stays in its project, or comes into one
 * that the token is limited to. A token that is limited to triggers makes no new ones.
 *
 * @param before the project that the trigger has; undefined for a new one
 * @throws {ForbiddenError} when it may not
 */
export function requireProject(access: Access, project: string, before?: string): void {
  if (!isLimited(access) || project === before) return;
  const mayCome = access.projects?.includes(project) ?? false;
  const mayMake = before !== undefined || access.triggers === undefined;
  if (!mayCome || !mayMake) throw refused(access);
}

/**
 * Checks that a limited token chooses no id for a new trigger: whether an id is taken tells of others.
 *
 * @throws {ForbiddenError} when it chooses one
 */
export function requireNoId(access: Access, { id }: { id?: string | undefined }): void {
  if (!isLimited(access) || id === undefined) return;
  throw new ForbiddenError(
    `${refused(access).message}: it cannot choose the id of a trigger. Leave the id out`,
  );
}

/**
 * Checks that a limited token opens no surroundings of the service by a trigger. What names a variable or a file of the
 * service stays as it is: elsewhere in the trigger, or read otherwise, its value could be told. And no address
 * leads into a private network that the trigger does not reach already.
 *
 * @throws {ForbiddenError} when it does
 */
export function requireReferences(
  access: Access,
  written: TriggerSettings,
  current: TriggerSettings | undefined,
): void {
  if (!isLimited(access)) return;
  const other = changedReference(referenceHolders(written), referenceHolders(current ?? {}));
  if (other !== undefined) {
    throw new ForbiddenError(
      `${
        refused(access).message
      }: it cannot let a trigger read ${other}, nor change the condition, the ` +
        "handshake or the action that does, but for literal secrets beside it. Send the secret itself",
    );
  }
  const address = newOf(privateUrlsIn(written), privateUrlsIn(current));
  if (address === undefined) return;
  throw new ForbiddenError(
    `${refused(access).message}: it cannot set private_networks, which ${address} stands beside`,
  );
}

/** Finds a reference in what was brought in, changed or left out. */
function changedReference(
  written: readonly ReferenceHolder[],
  current: readonly ReferenceHolder[],
): string | undefined {
  const left = [...current];
  for (const { form, references } of written) {
    const at = left.findIndex((each) => each.form === form);
    if (at === -1) return references[0];
    left.splice(at, 1);
  }
  return left[0]?.references[0];
}

/** Finds the first of what was written that was not there before, and describes it. */
function newOf(
  written: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, string>,
): string | undefined {
  for (const [each, description] of written) if (!known.has(each)) return description;
  return undefined;
}

/** Returns the URLs of an object with settings of requests. */
function urlsOf({ url, wait }: { url?: unknown; wait?: unknown }): string[] {
  const { poll }: { poll?: { url?: unknown } } = Object(wait);
  return [url, poll?.url].filter((each) => typeof each === "string");
}

/**
 * Finds the URLs that stand beside `private_networks: true`, by all that tells one place from another: the kind of
 * setting, since only some show what a server answers, and each URL as it is written.
 */
function privateUrlsIn(value: unknown): Map<string, string> {
  if (typeof value !== "object" || value === null) return new Map();
  const found = new Map(Object.values(value).flatMap((inner) => [...privateUrlsIn(inner)]));
  const { private_networks: isPrivate, jwks_url, url, wait }: Record<string, unknown> = {
    ...value,
  };
  if (isPrivate !== true) return found;
  const keys = urlsOf({ url: jwks_url });
  const urls = urlsOf({ url, wait });
  const description = [...keys, ...urls].map(hideUserInfo).join(" and ");
  return found.set(JSON.stringify({ keys, urls }), description);
}

/** Returns the error that says what a limited token may reach. */
export function refused({ name, triggers, projects }: Access): ForbiddenError {
  const limits = [...triggers?.map((each) => `trigger ${each}`) ?? []];
  limits.push(...projects?.map((each) => `project ${each}`) ?? []);
  return new ForbiddenError(`The token "${name}" is limited to ${limits.join(", ")}`);
}
