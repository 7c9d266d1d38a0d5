/**
 * The access that an operator's token gives: a scope, and the triggers and projects that it is limited to.
 *
 * A limited token reaches a record only where this file can tell its trigger and its project, and is refused
 * everywhere else, such as at the tokens.
 *
 * @module
 */
import { ForbiddenError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { hideUserInfo } from "../../platform/network/urls.ts";
import { getExecution } from "../../store/records/executions.ts";
import { getPipeline } from "../../store/records/pipelines.ts";
import { getRun } from "../../store/records/runs.ts";
import { type Scope, SCOPES } from "../../store/records/tokens.ts";
import { triggerIdByName } from "../../store/records/triggers.ts";
import type { Author } from "../../store/records/audit.ts";
import { referencesIn } from "../../triggers/secrets.ts";
import type { TriggerSettings } from "../../triggers/trigger.ts";
import { findDelivery } from "./delivery_views.ts";
import type { Declaration } from "./declaration.ts";
import type { Operator } from "./operator.ts";

/** The access that the token of a request gives. */
export interface Access extends Author {
  scope: Scope;
  /** The triggers that it is limited to, by name or id. */
  triggers?: readonly string[];
  /** The projects that it is limited to. */
  projects?: readonly string[];
}

/** The parts of the service that tell which trigger and project a record belongs to. */
export type TargetParts = Pick<Operator, "store" | "triggers">;

/** The trigger and the project that a record belongs to, as far as they are known. */
interface Target {
  /** The names of its trigger: its id, and its name. */
  triggers: readonly string[];
  project: string | undefined;
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
 * Checks that a limited token may reach the record that a path names. A record that does not exist passes:
 * its operation answers that.
 *
 * @throws {ForbiddenError} when it may not, when the path names no record that could be checked, or when the
 * operation makes a record and does not check it itself
 */
export async function requireTarget(
  access: Access,
  { method, path, limitedTokens }: Declaration,
  params: Readonly<Record<string, string>>,
  operator: Operator,
): Promise<void> {
  if (!isLimited(access)) return;
  const [, kind = ""] = path.split("/");
  const read = READERS[kind];
  if (read === undefined || limitedTokens === "refused") throw refused(access);
  const name = params.id ?? params.name;
  if (name === undefined) {
    // A list is filtered by the caller; a new record belongs to nothing that the token names.
    if (method === "get" || limitedTokens === "checked") return;
    throw refused(access);
  }
  const record = await read(operator, name);
  if (record === undefined) return;
  if (!permits(access, await targetOf(kind, record, operator))) throw refused(access);
  // A replay runs in the project that the trigger has now.
  const isReplay = method !== "get" && (kind === "runs" || kind === "deliveries");
  if (isReplay && "trigger_id" in record) {
    const trigger = await operator.triggers.get(String(record.trigger_id));
    if (trigger && !permits(access, await targetOf("triggers", trigger, operator))) {
      throw refused(access);
    }
  }
}

/**
 * Checks that the filters of a list name what a limited token may see: whether there are other triggers and
 * projects of these names is nothing that it learns.
 *
 * @throws {ForbiddenError} when they name another
 */
export async function requireFilters(
  access: Access,
  { trigger, project }: { trigger?: unknown; project?: unknown },
  operator: Operator,
): Promise<void> {
  if (typeof project === "string" && access.projects?.includes(project) === false) {
    throw refused(access);
  }
  // An id is no name: the list is empty, whether the trigger exists or not.
  if (typeof trigger !== "string" || isId(trigger)) return;
  const id = await triggerIdByName(operator.store, trigger);
  const found = id === undefined ? undefined : await operator.triggers.get(id);
  if (!found || !permits(access, await targetOf("triggers", found, operator))) {
    throw refused(access);
  }
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
 * Checks that a limited token brings nothing into a trigger that opens the service's surroundings: no variable or
 * file of the service, as a trigger's secrets can be had by signing a request, and no address of a private network.
 * What the trigger has already may stay.
 *
 * @throws {ForbiddenError} when it names one
 */
export function requireReferences(
  access: Access,
  written: TriggerSettings,
  current: TriggerSettings | undefined,
): void {
  if (!isLimited(access)) return;
  const other = newOf(referencesIn(written), referencesIn(current));
  if (other !== undefined) {
    throw new ForbiddenError(
      `${refused(access).message}: it cannot let a trigger read ${other}. Send the secret itself`,
    );
  }
  const address = newOf(privateUrlsIn(written), privateUrlsIn(current));
  if (address === undefined) return;
  throw new ForbiddenError(
    `${refused(access).message}: it cannot set private_networks, which ${address} stands beside`,
  );
}

function newOf(written: ReadonlySet<string>, known: ReadonlySet<string>): string | undefined {
  return [...written].find((each) => !known.has(each));
}

/** Finds the URLs that stand beside `private_networks: true`. */
function privateUrlsIn(value: unknown): Set<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const found = new Set(Object.values(value).flatMap((inner) => [...privateUrlsIn(inner)]));
  const { private_networks: isPrivate, jwks_url, url = jwks_url }: Record<string, unknown> = {
    ...value,
  };
  if (isPrivate === true) found.add(hideUserInfo(String(url)));
  return found;
}

/**
 * Returns the records of a list that a token may see.
 *
 * @param kind the first part of the list's path
 */
export async function visible<T extends object>(
  access: Access,
  { kind, records }: { kind: string; records: readonly T[] },
  parts: TargetParts,
): Promise<T[]> {
  if (!isLimited(access)) return [...records];
  const kept: T[] = [];
  for (const record of records) {
    if (permits(access, await targetOf(kind, record, parts))) kept.push(record);
  }
  return kept;
}

/** Readers of the records whose targets are known, by the first part of their paths. */
const READERS: Readonly<
  Record<string, (operator: Operator, id: string) => Promise<object | undefined>>
> = {
  triggers: async ({ triggers }, id) => await triggers.get(id),
  deliveries: (operator, id) => findDelivery(operator, id),
  runs: ({ store }, id) => getRun(store, id),
  executions: ({ store }, id) => getExecution(store, id),
  pipelines: ({ store }, id) => getPipeline(store, id),
  projects: (_operator, name) => Promise.resolve({ name }),
};

async function targetOf(
  kind: string,
  record: object,
  { store, triggers }: TargetParts,
): Promise<Target> {
  const { id, name, project, trigger_id, run_id }: Record<string, unknown> = { ...record };
  if (kind === "projects") return { triggers: [], project: String(name) };
  const trigger = kind === "triggers"
    ? String(id)
    : trigger_id ?? (await getRun(store, String(run_id)))?.trigger_id;
  const triggerName = trigger === undefined
    ? undefined
    : (await triggers.get(String(trigger)))?.name;
  return {
    triggers: [trigger, triggerName].filter((each) => each !== undefined).map(String),
    project: typeof project === "string" ? project : undefined,
  };
}

function permits({ triggers, projects }: Access, target: Target): boolean {
  return (triggers === undefined || target.triggers.some((each) => triggers.includes(each))) &&
    (projects === undefined ||
      (target.project !== undefined && projects.includes(target.project)));
}

/** Returns the error that says what a limited token may reach. */
export function refused({ name, triggers, projects }: Access): ForbiddenError {
  const limits = [...triggers?.map((each) => `trigger ${each}`) ?? []];
  limits.push(...projects?.map((each) => `project ${each}`) ?? []);
  return new ForbiddenError(`The token "${name}" is limited to ${limits.join(", ")}`);
}
