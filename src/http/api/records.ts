/**
 * The records as one operator may see them. A token that is limited to projects sees what belongs to these: a record
 * belongs to the project that its trigger was in when it was made, whatever has become of the trigger. What operators
 * read of runs, deliveries, logs and work goes through here.
 *
 * @module
 */
import { isId, lowestId } from "../../platform/ids.ts";
import { ForbiddenError } from "../../platform/errors.ts";
import { type FoundDelivery, readDelivery } from "../../store/records/deliveries.ts";
import { getExecution } from "../../store/records/executions.ts";
import { getHttpRequest } from "../../store/records/http_requests.ts";
import { getPipeline } from "../../store/records/pipelines.ts";
import { listReplaysOf } from "../../store/records/run_lists.ts";
import { type ActionSettings, getRun, type Run } from "../../store/records/runs.ts";
import { formerIdByName, getFormerTrigger, triggerIdByName } from "../../store/records/triggers.ts";
import {
  type RecentRequest,
  recentRequests,
  storedRequest,
} from "../../triggers/recent_requests.ts";
import { type Access, isLimited, refused } from "./access.ts";
import type { Declaration } from "./declaration.ts";
import type { Operator } from "./operator.ts";
import { sourcesOf } from "./sources.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { pendingOf } from "./unended_runs.ts";

/** The parts of the service that records are read from. */
type RecordParts = Pick<
  Operator,
  "store" | "triggers" | "triggerLog" | "keptRequests" | "worker" | "baseUrl"
>;

/** A record, as far as it tells whose it is. */
interface Owned {
  id: string;
  /** That of its run, when absent. */
  trigger_id?: string | undefined;
  run_id?: string | undefined;
  project?: string | undefined;
}

/** Readers of what limited tokens can reach, by the first part of its path: as far as it tells whose it is. */
const READERS = {
  triggers: ({ triggers }: RecordParts, id: string) => triggers.get(id),
  projects: (_parts: RecordParts, name: string) => Promise.resolve({ name }),
  deliveries: async (parts: RecordParts, id: string) => ownedDelivery(await deliveryOf(parts, id)),
  runs: ({ store }: RecordParts, id: string) => getRun(store, id),
  executions: ({ store }: RecordParts, id: string) => getExecution(store, id),
  pipelines: ({ store }: RecordParts, id: string) => getPipeline(store, id),
  "http-requests": ({ store }: RecordParts, id: string) => getHttpRequest(store, id),
  // A list alone: what changes a warning has its trigger in the path.
  attention: () => Promise.resolve(undefined),
};

/** A kind of what limited tokens can reach. */
export type RecordKind = keyof typeof READERS;

/** Reads the records that an operator may see. One request has one. */
export class Records {
  readonly #parts: RecordParts;
  readonly #access: Access;
  readonly #labels: TriggerLabels;

  constructor(parts: RecordParts, access: Access) {
    this.#parts = parts;
    this.#access = access;
    this.#labels = new TriggerLabels(parts);
  }

  /** Reads a run. Returns undefined when it does not exist, or the operator may not see it. */
  async run(id: string): Promise<Run | undefined> {
    return await this.#ifSeen(await getRun(this.#parts.store, id));
  }

  /** Reads a delivery. Returns undefined when it does not exist, or the operator may not see it. */
  async delivery(id: string): Promise<FoundDelivery | undefined> {
    const found = await deliveryOf(this.#parts, id);
    return found && await this.seesDelivery(found) ? found : undefined;
  }

  /** Reads the newest runs that launched a delivery again. */
  async replaysOf(deliveryId: string, limit: number): Promise<Run[]> {
    const runs = await listReplaysOf(this.#parts.store, deliveryId, { limit });
    const seen = await Promise.all(runs.map((run) => this.#ifSeen(run)));
    return seen.filter((run) => run !== undefined);
  }

  /** Lists the newest stored requests of a trigger, newest first. */
  async recentRequests(triggerId: string, limit: number): Promise<RecentRequest[]> {
    const { store, triggers, keptRequests, triggerLog, baseUrl } = this.#parts;
    await triggerLog.flush().catch(() => {});
    const pending = pendingOf(this.#parts, triggerId);
    const isVisible = (found: FoundDelivery) => this.seesDelivery(found);
    const parts = { store, triggers, keptRequests, baseUrl, pending, isVisible };
    return await recentRequests(parts, triggerId, limit);
  }

  /** Returns the stored request of a delivery of a trigger; undefined where there is none that the operator may see. */
  async storedRequest(triggerId: string, deliveryId: string): Promise<RecentRequest | undefined> {
    const found = await this.delivery(deliveryId);
    if (found === undefined) return undefined;
    const owner = "run" in found ? found.run.trigger_id : found.trigger_id;
    return owner === triggerId ? storedRequest(this.#parts, triggerId, found) : undefined;
  }

  /**
   * Returns the time from which on the operator may see what is counted of a trigger, in milliseconds since the
   * epoch: counts do not tell projects apart.
   */
  async countedSince_ms(triggerId: string): Promise<number> {
    if (this.#access.projects === undefined) return -Infinity;
    return (await this.#labels.of(triggerId))?.moved_ms ?? -Infinity;
  }

  /** Tells whether the operator may see a record of a trigger. */
  async sees({ id, project, ...owner }: Owned): Promise<boolean> {
    const { triggers, projects } = this.#access;
    if (triggers === undefined && projects === undefined) return true;
    const triggerId = owner.trigger_id ?? (await this.#runOf(owner.run_id))?.trigger_id ?? "";
    const labels = await this.#labels.ofRecord({ id }, triggerId);
    if (!await this.#isOfTriggers(triggerId, labels?.name)) return false;
    if (projects === undefined) return true;
    const own = await this.#labels.projectOf({ id, project }, triggerId);
    return own !== undefined && projects.includes(own);
  }

  /** Tells whether the operator may see a delivery. */
  seesDelivery(found: FoundDelivery): Promise<boolean> {
    return this.sees(ownedDelivery(found));
  }

  /** Tells whether the operator may see a trigger. */
  async seesTrigger({ id, name, project }: { id: string; name: string; project: string }) {
    const { projects } = this.#access;
    return await this.#isOfTriggers(id, name) && (projects?.includes(project) ?? true);
  }

  /**
   * Returns the records of a list that the operator may see.
   *
   * @param kind what is listed
   * @param records as the API shows them
   */
  async visible<T extends object>(kind: RecordKind, records: readonly T[]): Promise<T[]> {
    const seen = await Promise.all(records.map((record) => this.#seesShown(kind, record)));
    const kept = records.filter((_, index) => seen[index]);
    return await Promise.all(kept.map((record) => this.withoutForeignName(record)));
  }

  /** Returns those of some records of one trigger that the operator may see. */
  async visibleOfTrigger<T extends object>(
    trigger_id: string,
    records: readonly T[],
  ): Promise<T[]> {
    const seen = await Promise.all(
      records.map((record) => this.#seesShown("runs", { ...record, trigger_id })),
    );
    return records.filter((_, index) => seen[index]);
  }

  /** Leaves out the present name of a record's trigger where the operator may not see the trigger any more. */
  async withoutForeignName<T extends object>(record: T): Promise<T> {
    if (!isLimited(this.#access) || !("trigger" in record) || !("trigger_id" in record)) {
      return record;
    }
    const id = String(record.trigger_id);
    const labels = await this.#labels.of(id);
    if (labels && await this.seesTrigger({ id, ...labels })) return record;
    const { trigger: _name, ...rest } = record;
    // A name is absent where the trigger was deleted, too.
    return rest as T;
  }

  /**
   * Checks that the operator may reach the record that a path names. A record that does not exist passes: its
   * operation answers that.
   *
   * @throws {ForbiddenError} when a limited token may not, when the path names no record that could be checked, or
   * when the operation makes a record and does not check it itself
   */
  async requireTarget(
    { method, path, limitedTokens }: Declaration,
    params: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (!isLimited(this.#access)) return;
    const kind = kindOf(path);
    if (kind === undefined || limitedTokens === "refused") throw refused(this.#access);
    const name = params.id ?? params.name;
    if (name === undefined) {
      // A list is filtered by the caller; a new record belongs to nothing that the token names.
      if (method === "get" || limitedTokens === "checked") return;
      throw refused(this.#access);
    }
    const record: object | undefined = await READERS[kind](this.#parts, name);
    if (record === undefined) return;
    if (!await this.#seesShown(kind, record)) throw refused(this.#access);
    // A replay runs in the project that the trigger has now.
    if (method === "get" || (kind !== "runs" && kind !== "deliveries")) return;
    if (!("trigger_id" in record)) return;
    const id = String(record.trigger_id);
    const labels = await this.#labels.of(id);
    if (labels && !await this.seesTrigger({ id, ...labels })) throw refused(this.#access);
  }

  /**
   * Checks that the filters of a list name what the operator may see: whether there are other triggers and projects of
   * these names is nothing that a limited token learns.
   *
   * @throws {ForbiddenError} when they name another
   */
  async requireFilters(
    { trigger, project }: { trigger?: unknown; project?: unknown },
  ): Promise<void> {
    if (typeof project === "string" && this.#access.projects?.includes(project) === false) {
      throw refused(this.#access);
    }
    // An id is no name: the list is empty, whether the trigger exists or not.
    if (typeof trigger !== "string" || isId(trigger)) return;
    const { store } = this.#parts;
    const id = await triggerIdByName(store, trigger);
    const labels = id === undefined ? undefined : await this.#labels.of(id);
    const isSeen = id !== undefined && labels !== undefined
      ? await this.seesTrigger({ id, ...labels })
      : await this.#seesFormer(await formerIdByName(store, trigger));
    if (!isSeen) throw refused(this.#access);
  }

  /**
   * Checks that actions take no stored work that the operator may not see: what they launch would show it. What they
   * take already stays.
   *
   * @throws {ForbiddenError} when they do, or when there is no such work: what has not ended may make it
   */
  async requireSources(
    written: readonly ActionSettings[],
    current: readonly ActionSettings[] = [],
  ): Promise<void> {
    if (!isLimited(this.#access)) return;
    const known = new Set(sourcesOf(current).map(({ name }) => name));
    for (const { name, read } of sourcesOf(written)) {
      if (known.has(name)) continue;
      const work = await read(this.#parts.store);
      if (work !== undefined && await this.sees(work)) continue;
      throw new ForbiddenError(
        `${refused(this.#access).message}: it sees no ${name}, which an action takes`,
      );
    }
  }

  async #ifSeen(run: Run | undefined): Promise<Run | undefined> {
    return run && await this.sees(run) ? run : undefined;
  }

  async #seesShown(kind: RecordKind, record: object): Promise<boolean> {
    if (kind === "attention") {
      const { subject } = Object(record);
      if (subject.kind === "trigger") return await this.#seesShown("triggers", subject);
      return subject.kind === "project" && await this.#seesShown("projects", subject);
    }
    const { id, name, project, trigger_id, run_id, time }: Record<string, unknown> = { ...record };
    if (kind === "projects") {
      const { triggers, projects } = this.#access;
      return triggers === undefined && (projects?.includes(String(name)) ?? true);
    }
    if (kind === "triggers") {
      return await this.seesTrigger({
        id: String(id),
        name: String(name),
        project: String(project),
      });
    }
    return await this.sees({
      id: id === undefined ? lowestId(Date.parse(String(time))) : String(id),
      trigger_id: textOf(trigger_id),
      run_id: textOf(run_id),
      project: textOf(project),
    });
  }

  /** Tells whether the operator may know that there was a trigger. Its name may be another one's by now. */
  async #seesFormer(id: string | undefined): Promise<boolean> {
    const former = id === undefined ? undefined : await getFormerTrigger(this.#parts.store, id);
    if (former === undefined || !await this.#isOfTriggers(former.id, undefined)) return false;
    return this.#access.projects?.includes(former.project) ?? true;
  }

  async #runOf(id: string | undefined): Promise<Run | undefined> {
    return id === undefined ? undefined : await getRun(this.#parts.store, id);
  }

  /** Tells whether the token is limited to a trigger, by its id or its name. */
  async #isOfTriggers(id: string, name: string | undefined): Promise<boolean> {
    const { triggers } = this.#access;
    if (triggers === undefined || triggers.includes(id)) return true;
    if (name === undefined || !triggers.includes(name)) return false;
    // An earlier version took names like ids: an id wins over such a name.
    return !isId(name) || await this.#labels.of(name) === undefined;
  }
}

/** Returns the kind of the records below a path; undefined when limited tokens do not reach them. */
export function kindOf(path: string): RecordKind | undefined {
  const [, first = ""] = path.split("/");
  // A key of the readers.
  return Object.hasOwn(READERS, first) ? first as RecordKind : undefined;
}

async function deliveryOf(
  { store, triggerLog }: RecordParts,
  id: string,
): Promise<FoundDelivery | undefined> {
  // What cannot be stored keeps nobody from reading what is.
  await triggerLog.flush().catch(() => {});
  return await readDelivery(store, id);
}

function ownedDelivery(found: FoundDelivery): Owned;
function ownedDelivery(found: FoundDelivery | undefined): Owned | undefined;
function ownedDelivery(found: FoundDelivery | undefined): Owned | undefined {
  if (found === undefined) return undefined;
  return "run" in found ? found.run : { ...found.entry, trigger_id: found.trigger_id };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
