/**
 * The events of `POST /api/v0/triggers/<id>/listen/`: each delivery of a trigger once, in order, with its request.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import {
  type DeliveryFilter,
  type FoundDelivery,
  searchDeliveries,
} from "../../store/records/deliveries.ts";
import { readWholePayload } from "../../store/records/payloads.ts";
import type { Run } from "../../store/records/runs.ts";
import type { DeliveryEntry } from "../../store/records/trigger_log_entries.ts";
import type { HeldRequest } from "../../triggers/listeners.ts";
import { shownKeptBody, shownPayload } from "../../triggers/shown_body.ts";
import type { Api } from "./api.ts";
import { type ShownDelivery, shownDelivery } from "./delivery_views.ts";
import { type Events, eventText, type Followed } from "./event_stream.ts";
import type { Records } from "./records.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { pendingOf } from "./unended_runs.ts";

/** The time in which a delivery can come that has an older id than one that came before: its commit takes up to 10 s. */
const WINDOW_MS = 15_000;
/** Limit of the deliveries that are read and not sent yet. The oldest of more are left out, which an event tells. */
const WAITING_MAX = 10_000;
const PAGE_SIZE = 200;
/** Events that come together end behind so many characters. */
const EVENTS_LENGTH = 512 * 1024;
/** Deliveries that come within this time are read together. */
const TOGETHER_MS = 50;
/** The longest body that an event has. */
const LISTENED_BODY_BYTES_MAX = 16 * 1024 * 1024;

/** A delivery and its request, for a copy of it to be sent elsewhere. */
export interface ListenedDelivery {
  delivery: ShownDelivery;
  /** True when headers and body are those that came; else they are as they are stored, without credentials. */
  exact: boolean;
  method: string;
  /** Without its `?`. */
  query: string;
  headers: [name: string, value: string][];
  /** In base64. */
  body?: string;
  /** The reason for which there is no body. */
  missing?: "not read" | "not kept" | "too long";
}

type Parts =
  & Pick<
    Api,
    "store" | "triggers" | "triggerLog" | "worker" | "listeners" | "keptRequests"
  >
  & { clock: Pick<Clock, "now" | "after"> };

/** The deliveries to send. */
interface Wanted extends Pick<Followed, "isAllowed"> {
  filter: DeliveryFilter & { trigger_id: string };
  /** Those from this time on, in milliseconds since the epoch. */
  from_ms: number;
  /** Only those behind this id; "" for all. */
  after: string;
  /** Tells whether the client may see the secrets that are in requests now: the trigger may have changed. */
  seesSecrets(): Promise<boolean>;
  records: Records;
}

/** Sends the deliveries of a trigger, each once. */
export class ListenSource implements Followed {
  readonly what = "the requests of a trigger";
  readonly isAllowed: Followed["isAllowed"];
  readonly #parts: Parts;
  readonly #wanted: Wanted;
  #from_ms: number;
  /** The time of the last read. */
  #read_ms: number;
  #waiting: FoundDelivery[] = [];
  /** The ids of the window that were found. */
  #known = new Set<string>();
  #isCut = false;

  constructor(parts: Parts, wanted: Wanted) {
    this.isAllowed = wanted.isAllowed;
    this.#parts = parts;
    this.#wanted = wanted;
    this.#from_ms = this.#read_ms = wanted.from_ms;
  }

  watch(onNew: () => void): () => void {
    const { listeners, clock } = this.#parts;
    let cancel: (() => void) | undefined;
    const end = listeners.listen(this.#wanted.filter.trigger_id, () => {
      cancel ??= clock.after(TOGETHER_MS, () => {
        cancel = undefined;
        onNew();
      });
    });
    return () => {
      cancel?.();
      end();
    };
  }

  async look(): Promise<Events | undefined> {
    if (this.#waiting.length === 0) await this.#read();
    // Behind the read: no request is older than the conditions that it has met.
    const seesSecrets = await this.#wanted.seesSecrets();
    let text = this.#isCut ? eventText({ event: "gap", id: "", data: {} }) : "";
    this.#isCut = false;
    while (text.length < EVENTS_LENGTH) {
      const found = this.#waiting.shift();
      if (found === undefined) break;
      text += await this.#eventOf(found, seesSecrets);
    }
    return text === "" ? undefined : { text };
  }

  /** Reads what came since the last read, oldest first. */
  async #read(): Promise<void> {
    const { clock, triggerLog, listeners } = this.#parts;
    const { filter, after } = this.#wanted;
    const now_ms = clock.now();
    // The clock may have been set back.
    this.#from_ms = Math.min(this.#from_ms, now_ms);
    const from_ms = Math.max(this.#from_ms, Math.min(now_ms, this.#read_ms) - WINDOW_MS);
    await triggerLog.flush().catch(() => {});
    const found = await this.#search({ ...filter, from_ms });
    // A run can be found before the launch that made it has gone on.
    await listeners.settled(filter.trigger_id);
    const known = new Set(found.map(idOf));
    this.#waiting = found.reverse().filter((each) =>
      idOf(each) > after && !this.#known.has(idOf(each))
    );
    this.#known = known;
    this.#read_ms = now_ms;
  }

  /** Searches the deliveries, newest first. */
  async #search(filter: Wanted["filter"]): Promise<FoundDelivery[]> {
    const { store } = this.#parts;
    const pending = pendingOf(this.#parts, filter.trigger_id);
    const found: FoundDelivery[] = [];
    let before: string | undefined;
    do {
      const page = await searchDeliveries(store, { filter, limit: PAGE_SIZE, before, pending });
      found.push(...page.records);
      before = page.next;
    } while (before !== undefined && found.length < WAITING_MAX);
    this.#isCut = before !== undefined;
    return found;
  }

  async #eventOf(found: FoundDelivery, seesSecrets: boolean): Promise<string> {
    const { records } = this.#wanted;
    if (!await records.seesDelivery(found)) return "";
    const { store, listeners } = this.#parts;
    const id = idOf(found);
    const shown = await shownDelivery(store, found, new TriggerLabels(this.#parts));
    const delivery = await records.withoutForeignName(shown);
    const held = seesSecrets ? listeners.held(id) : undefined;
    const request = held ? asItCame(held) : await this.#stored(found, seesSecrets);
    const data: ListenedDelivery = { delivery, ...request };
    return eventText({ id, data });
  }

  async #stored(
    found: FoundDelivery,
    seesSecrets: boolean,
  ): Promise<Omit<ListenedDelivery, "delivery">> {
    if ("run" in found) return await storedRun(this.#parts, found.run, seesSecrets);
    const { trigger_id: triggerId, entry } = found;
    const kept = await this.#parts.keptRequests.read({ triggerId, entryId: entry.id });
    if (kept === undefined) return storedEntry(entry);
    if (seesSecrets) return asItCame(kept);
    const { missing: _, ...head } = storedEntry(entry);
    return { ...head, body: (await shownKeptBody(this.#parts, triggerId, kept)).toBase64() };
  }
}

function asItCame(
  { method, target, headers, body }: HeldRequest,
): Omit<ListenedDelivery, "delivery"> {
  const question = target.indexOf("?");
  return {
    exact: true,
    method,
    query: question === -1 ? "" : target.slice(question + 1),
    headers: [...headers],
    body: body.toBase64(),
  };
}

async function storedRun(
  parts: Parts,
  run: Run,
  seesSecrets: boolean,
): Promise<Omit<ListenedDelivery, "delivery">> {
  const { id, request, payload } = run;
  const { size, content_type } = payload;
  const { headers = {}, query = "" } = request ?? {};
  const type = content_type === undefined ? {} : { "content-type": content_type };
  const head = {
    exact: false,
    method: "POST",
    query,
    headers: Object.entries({ ...type, ...headers }),
  };
  if (size > LISTENED_BODY_BYTES_MAX) return { ...head, missing: "too long" };
  // One that is past its retention, or damaged, is told of where it is asked for by itself.
  const body = await readWholePayload(parts.store, id, payload).catch(() => undefined);
  if (body === undefined) return { ...head, missing: "not kept" };
  const shown = seesSecrets ? body : await shownPayload(parts, run, body);
  return { ...head, body: shown.toBase64() };
}

function storedEntry(
  { request: { method, headers, query = "", sha256 } }: DeliveryEntry,
): Omit<ListenedDelivery, "delivery"> {
  return {
    exact: false,
    method,
    query,
    headers: Object.entries(headers),
    missing: sha256 === undefined ? "not read" : "not kept",
  };
}

function idOf(found: FoundDelivery): string {
  return "run" in found ? found.run.id : found.entry.id;
}
