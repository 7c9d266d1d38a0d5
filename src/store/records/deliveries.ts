/**
 * Deliveries: the requests at launch URLs, newest first. A delivery that was accepted is its run; the others
 * are entries of the trigger logs. A search reads both side by side. What no index serves is looked through
 * for a short time, and goes on behind the place that the search has come to.
 *
 * @module
 */
import { idTime, isId, lowestId } from "../../platform/ids.ts";
import type { Store } from "../store.ts";
import {
  type Candidate,
  type CandidateDelivery,
  type DeliveryFilter,
  type DeliverySource,
  type FoundDelivery,
  type OmittedDeliveries,
  readCandidate,
  sourcesOf,
} from "./delivery_sources.ts";
import { isDeadRun } from "./dead_runs.ts";
import { hasText } from "./delivery_text.ts";
import type { PendingIds } from "./run_lists.ts";

export {
  DELIVERY_OUTCOMES,
  type DeliveryFilter,
  type DeliveryOutcome,
  type FoundDelivery,
  type OmittedDeliveries,
} from "./delivery_sources.ts";

/** The time that one search takes, in milliseconds. */
const SEARCH_MS = 40;
/** Limit of the counts of one page. */
const COUNTS_MAX = 200;
/** Deliveries that are read at a time where only some are wanted. */
const BATCH_SIZE = 64;
const BATCH_SIZE_MAX = 256;
/** A next batch may take so many times as long as the one before: it may be read from the disk. */
const BATCH_TIMES = 1.5;

/** Options of {@linkcode searchDeliveries}. */
export interface SearchOptions {
  filter: DeliveryFilter;
  limit: number;
  /** Only those older than this id. */
  before?: string | undefined;
  /** The ids of the trigger's pending runs, where the filter names a trigger. */
  pending?: PendingIds;
  /** The time after which it ends. */
  search_ms?: number;
  /** Returns the body of a delivery, or the beginning of it, as it may be searched. */
  shown?(candidate: CandidateDelivery, body: Uint8Array): Promise<Uint8Array>;
  /** Deliveries that are read at first, where only some are wanted. */
  batchSize?: number;
}

/** Some deliveries. */
export interface DeliveriesPage {
  records: FoundDelivery[];
  /** Of the time that the page spans. */
  omitted: OmittedDeliveries[];
  /** The id behind which to go on; undefined when there are no more. */
  next: string | undefined;
  /** The time that the search has come to, in milliseconds; undefined when it was not cut short. */
  scannedTo_ms: number | undefined;
}

/** Searches the deliveries, newest first. */
export async function searchDeliveries(
  store: Store,
  options: SearchOptions,
): Promise<DeliveriesPage> {
  const search = new Search(store, options);
  await search.run();
  return await search.page();
}

/** Reads the delivery of an id: that of a run or of an entry; undefined when there is none. */
export async function readDelivery(store: Store, id: string): Promise<FoundDelivery | undefined> {
  const candidate = isId(id) ? await readCandidate(store, id) : undefined;
  return candidate && "load" in candidate ? await candidate.load() : undefined;
}

class Search {
  readonly #store: Store;
  readonly #filter: DeliveryFilter;
  readonly #limit: number;
  readonly #shown: SearchOptions["shown"];
  readonly #batchSize: number;
  readonly #sources: readonly DeliverySource[];
  readonly #oldest: string;
  readonly #until_ms: number;
  /** One more than is shown tells whether another page comes. */
  readonly #found: CandidateDelivery[] = [];
  readonly #omitted: OmittedDeliveries[] = [];
  #before: string | undefined;
  #next: string | undefined;
  #scannedTo_ms: number | undefined;

  constructor(store: Store, options: SearchOptions) {
    const { filter, limit, before, pending = [], search_ms = SEARCH_MS, batchSize = BATCH_SIZE } =
      options;
    this.#store = store;
    this.#filter = filter;
    this.#limit = limit;
    this.#shown = options.shown;
    this.#batchSize = batchSize;
    this.#sources = sourcesOf(store, filter, pending);
    this.#oldest = filter.from_ms === undefined ? "" : lowestId(filter.from_ms);
    this.#until_ms = performance.now() + search_ms;
    this.#before = earlier(before, filter.to_ms === undefined ? undefined : lowestId(filter.to_ms));
  }

  async run(): Promise<void> {
    const { outcome, condition, text, dead } = this.#filter;
    const isSlow = text !== undefined || dead === true;
    const isPlain = !isSlow && condition === undefined &&
      (outcome === undefined || outcome === "accepted");
    let size = isPlain ? this.#limit + 1 : this.#batchSize;
    for (;;) {
      const began_ms = performance.now();
      const { candidates, end } = await this.#read(size);
      for (const candidate of candidates) {
        if (candidate.id < this.#oldest) return;
        if (await this.#take(candidate)) return;
        this.#before = candidate.id;
        if (performance.now() > this.#until_ms && isSlow) return this.#cutShort();
      }
      if (end === undefined) return;
      this.#before = end;
      const now_ms = performance.now();
      const batch_ms = now_ms - began_ms;
      // Another batch of this size would end too late.
      if (now_ms + BATCH_TIMES * batch_ms > this.#until_ms) return this.#cutShort();
      if (now_ms + 3 * BATCH_TIMES * batch_ms < this.#until_ms) {
        size = Math.min(2 * size, BATCH_SIZE_MAX);
      }
    }
  }

  async page(): Promise<DeliveriesPage> {
    const loaded = await Promise.all(this.#found.slice(0, this.#limit).map(({ load }) => load()));
    return {
      records: loaded.filter((delivery) => delivery !== undefined),
      // Those behind the last one that is shown come with the next page.
      omitted: this.#omitted.filter(({ id }) => this.#next === undefined || id >= this.#next),
      next: this.#next,
      scannedTo_ms: this.#scannedTo_ms,
    };
  }

  #cutShort(): void {
    this.#next = this.#before;
    this.#scannedTo_ms = idTime(this.#before ?? "");
  }

  /** Reads the next candidates of all sources, as far down as each of them was read. */
  async #read(limit: number): Promise<{ candidates: Candidate[]; end: string | undefined }> {
    const byId = new Map<string, Candidate>();
    let end: string | undefined;
    // One after the other: a run that ends meanwhile is found by the source behind that of pending ones.
    for (const source of this.#sources) {
      const { candidates, next } = await source({ before: this.#before, limit });
      for (const candidate of candidates) byId.set(candidate.id, candidate);
      if (next !== undefined && (end === undefined || next > end)) end = next;
    }
    const candidates = [...byId.values()].filter(({ id }) => end === undefined || id >= end)
      .sort((a, b) => a.id < b.id ? 1 : -1);
    return { candidates, end };
  }

  /** Takes a candidate into the page if it is wanted; returns true when the page is full. */
  async #take(candidate: Candidate): Promise<boolean> {
    if ("omitted" in candidate) {
      if (this.#counts(candidate.omitted)) this.#omitted.push(candidate.omitted);
      if (this.#omitted.length < COUNTS_MAX) return false;
      this.#next = candidate.id;
      return true;
    }
    if (!await this.#isWanted(candidate)) return false;
    if (this.#found.length === this.#limit) {
      this.#next = this.#found.at(-1)?.id;
      return true;
    }
    this.#found.push(candidate);
    return false;
  }

  #counts({ deliveries }: OmittedDeliveries): boolean {
    const { outcome, condition, delivery_id, text, dead } = this.#filter;
    if (
      dead === true || condition !== undefined || delivery_id !== undefined || text !== undefined
    ) return false;
    return outcome === undefined || (outcome !== "accepted" && outcome in deliveries);
  }

  #isWanted(candidate: CandidateDelivery): boolean | Promise<boolean> {
    const { trigger_id, outcome, condition, delivery_id, text, dead } = this.#filter;
    const isWanted = (trigger_id === undefined || trigger_id === candidate.trigger_id) &&
      (outcome === undefined || outcome === candidate.outcome) &&
      (condition === undefined || condition === candidate.condition) &&
      (delivery_id === undefined || delivery_id === candidate.delivery_id);
    if (!isWanted) return false;
    if (dead === true) return this.#isDead(candidate);
    return text === undefined || this.#hasText(candidate, text);
  }

  async #isDead(candidate: CandidateDelivery): Promise<boolean> {
    const found = await candidate.load();
    if (found === undefined || !("run" in found)) return false;
    const { text } = this.#filter;
    if (!await isDeadRun(this.#store, found.run)) return false;
    return text === undefined || await this.#hasText(candidate, text);
  }

  #hasText(candidate: CandidateDelivery, text: string): Promise<boolean> {
    return hasText(this.#store, candidate, { text, shown: this.#shown });
  }
}

/** The earlier of two ids. */
function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
