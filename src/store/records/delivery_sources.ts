/**
 * The lists that hold deliveries: runs that have ended and runs that have not, the entries of trigger logs,
 * and the list by the sender's id. A search reads some of them side by side.
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../keys.ts";
import { newestEntries, type Page } from "../read/lists.ts";
import { type FoundEntry, whole } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { type PendingIds, runIdsOf } from "./run_lists.ts";
import {
  endedIn,
  type EndedRun,
  getPending,
  PENDING_KINDS,
  pendingIn,
  type Run,
  withoutBody,
} from "./runs.ts";
import {
  type DeliveryEntry,
  type EntrySummary,
  isDelivery,
  isEntry,
  NO_RUN_OUTCOMES,
  type NoRunOutcome,
  shownId,
  summaryOf,
  type TriggerLogEntry,
} from "./trigger_log_entries.ts";

/** The outcomes of deliveries. */
export const DELIVERY_OUTCOMES = ["accepted", ...NO_RUN_OUTCOMES] as const;

/** The outcome of a delivery. */
export type DeliveryOutcome = typeof DELIVERY_OUTCOMES[number];

/** Which deliveries are wanted. All that are given must hold. */
export interface DeliveryFilter {
  trigger_id?: string | undefined;
  outcome?: DeliveryOutcome | undefined;
  /** The cause of the refusal. */
  condition?: string | undefined;
  /** The sender's id. */
  delivery_id?: string | undefined;
  /** A part of an id of the delivery, or of its body. */
  text?: string | undefined;
  /** Only those whose run is dead: see `isDeadRun`. */
  dead?: boolean | undefined;
  /** Made at this time or later, in milliseconds since the epoch. */
  from_ms?: number | undefined;
  /** Made before this time. */
  to_ms?: number | undefined;
}

/** A delivery: the run that it made, or the entry of its trigger's log. */
export type FoundDelivery = { run: Run } | { trigger_id: string; entry: DeliveryEntry };

/** The number of deliveries of a minute that were left out of a trigger's log. */
export interface OmittedDeliveries {
  id: string;
  trigger_id: string;
  /** Absent in counts of earlier versions. */
  project?: string;
  deliveries: Partial<Record<NoRunOutcome, number>>;
}

/** A delivery that a search may want. */
export interface CandidateDelivery {
  id: string;
  trigger_id: string;
  outcome: DeliveryOutcome;
  condition?: string | undefined;
  delivery_id?: string | undefined;
  /** The run of an accepted one, with its body where that lies in its record. */
  run?: EndedRun;
  /** Bytes of the body of one that made no run, where it is kept. */
  kept_size?: number | undefined;
  /** Reads what is shown of it; undefined when it is gone or damaged. */
  load(): Promise<FoundDelivery | undefined>;
}

/** A place in a list of deliveries. */
export type Candidate = CandidateDelivery | { id: string; omitted: OmittedDeliveries };

/** Some of a list, newest first. */
interface CandidatePage {
  candidates: Candidate[];
  /** The last id that was read; undefined when there is nothing behind it. */
  next: string | undefined;
}

/** A list of deliveries. */
export type DeliverySource = (page: Page) => Promise<CandidatePage>;

/**
 * Returns the lists that hold what a filter may want. The one of pending runs comes before that of ended ones.
 *
 * @param pending the ids of the trigger's pending runs, where the filter names a trigger
 */
export function sourcesOf(
  store: Store,
  { trigger_id, outcome, condition, delivery_id, dead }: DeliveryFilter,
  pending: PendingIds,
): DeliverySource[] {
  const hasRuns = (outcome === undefined || outcome === "accepted") && condition === undefined;
  const hasEntries = outcome !== "accepted" && dead !== true;
  if (delivery_id !== undefined) {
    return [...hasRuns ? pendingRuns(store) : [], sentWithId(store, delivery_id)];
  }
  if (trigger_id !== undefined) {
    return [
      ...hasRuns ? [runsOfTrigger(store, trigger_id, pending)] : [],
      ...hasEntries ? [entriesOfTrigger(store, trigger_id)] : [],
    ];
  }
  return [
    ...hasRuns ? [...pendingRuns(store), endedRuns(store)] : [],
    ...hasEntries ? [entries(store)] : [],
  ];
}

/** Reads the delivery of an id; undefined when there is none, or its record is damaged. */
export async function readCandidate(
  store: Store,
  id: string,
): Promise<Candidate | undefined> {
  const [run, summary] = await Promise.all([
    readRun(store, id),
    store.reads.read(keys.deliveryEntry(id)),
  ]);
  if (run !== undefined) return ofRun(run);
  return summary === null
    ? undefined
    : ofSummary(store, { key: keys.deliveryEntry(id), value: summary });
}

function pendingRuns(store: Store): DeliverySource[] {
  return PENDING_KINDS.map((kind) => async (page) =>
    pageOf(await newestEntries(store, [kind], page, 2), page, (entry) => {
      const pending = pendingIn(entry);
      return pending && ofRun({ ...pending.run, ...(pending.body && { body: pending.body }) });
    })
  );
}

function endedRuns(store: Store): DeliverySource {
  return async (page) =>
    pageOf(await newestEntries(store, ["run"], page), page, (entry) => {
      const run = endedIn(entry);
      return run && ofRun(run);
    });
}

function runsOfTrigger(store: Store, triggerId: string, pending: PendingIds): DeliverySource {
  return async (page) =>
    await pageOfIds(store, await runIdsOf(store, triggerId, { ...page, pending }), page.limit);
}

function sentWithId(store: Store, deliveryId: string): DeliverySource {
  const prefix = ["sent_id", hash("sha256", shownId(deliveryId))];
  return async (page) => {
    const found = await newestEntries(store, prefix, page);
    return await pageOfIds(store, found.map(({ key }) => String(key[2])), page.limit);
  };
}

function entries(store: Store): DeliverySource {
  return async (page) =>
    pageOf(
      await newestEntries(store, ["delivery_entry"], page),
      page,
      (entry) => ofSummary(store, entry),
    );
}

function entriesOfTrigger(store: Store, triggerId: string): DeliverySource {
  return async (page) =>
    pageOf(await newestEntries(store, ["trigger_log", triggerId], page), page, (found) => {
      const entry = whole(found, isEntry);
      return entry && ofEntry(triggerId, entry);
    });
}

async function pageOfIds(
  store: Store,
  ids: readonly string[],
  limit: number,
): Promise<CandidatePage> {
  const candidates = await Promise.all(ids.map((id) => readCandidate(store, id)));
  return {
    candidates: candidates.filter((candidate) => candidate !== undefined),
    next: ids.length < limit ? undefined : ids.at(-1),
  };
}

function pageOf(
  found: readonly FoundEntry[],
  { limit }: Page,
  candidateOf: (entry: FoundEntry) => Candidate | undefined,
): CandidatePage {
  return {
    candidates: found.flatMap((entry) => candidateOf(entry) ?? []),
    next: found.length < limit ? undefined : idOf(found.at(-1)?.key),
  };
}

/** The id in a key: the last part, but for runs that have not ended, whose trigger comes behind it. */
function idOf(key: Deno.KvKey = []): string {
  return String(PENDING_KINDS.some((kind) => kind === key[0]) ? key[1] : key.at(-1));
}

async function readRun(store: Store, id: string): Promise<EndedRun | undefined> {
  const readEnded = async () => {
    const value = await store.reads.read(keys.run(id));
    return value === null ? undefined : endedIn({ key: keys.run(id), value });
  };
  const ended = await readEnded();
  if (ended !== undefined) return ended;
  const pending = await getPending(store, id);
  if (pending !== undefined) return { ...pending.run, ...(pending.body && { body: pending.body }) };
  // It may have ended between the two looks.
  return await readEnded();
}

function ofRun(run: EndedRun): CandidateDelivery {
  const { id, trigger_id, delivery_id } = run;
  const load = () => Promise.resolve({ run: withoutBody(run) });
  return { id, trigger_id, outcome: "accepted", delivery_id, run, load };
}

function ofEntry(trigger_id: string, entry: TriggerLogEntry): Candidate | undefined {
  const summary = summaryOf(trigger_id, entry);
  if (summary === undefined) return undefined;
  const load = () => Promise.resolve(isDelivery(entry) ? { trigger_id, entry } : undefined);
  return candidateOf(entry.id, summary, load);
}

function ofSummary(store: Store, found: FoundEntry): Candidate | undefined {
  const summary = whole(found, isSummary);
  if (summary === undefined) return undefined;
  const { trigger_id } = summary;
  const id = idOf(found.key);
  return candidateOf(id, summary, async () => {
    const key = keys.triggerLog(trigger_id, id);
    const value = await store.reads.read(key);
    const entry = value === null ? undefined : whole({ key, value }, isEntry);
    return entry && isDelivery(entry) ? { trigger_id, entry } : undefined;
  });
}

function candidateOf(
  id: string,
  { trigger_id, project, outcome, deliveries = {}, ...rest }: EntrySummary,
  load: CandidateDelivery["load"],
): Candidate {
  if (outcome !== undefined) return { id, trigger_id, outcome, ...rest, load };
  return {
    id,
    omitted: { id, trigger_id, ...(project !== undefined && { project }), deliveries },
  };
}

function isSummary(value: unknown): value is EntrySummary {
  return typeof value === "object" && value !== null && "trigger_id" in value &&
    typeof value.trigger_id === "string";
}
