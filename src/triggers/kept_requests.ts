/**
 * Requests that a trigger has refused, kept as they came, where the trigger says so: they can be looked into,
 * and sent again once the mistake is mended. Their headers and queries, in which credentials are, are
 * encrypted like secrets.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { idTime } from "../platform/ids.ts";
import {
  getKept,
  KEPT_BODY_BYTES_MAX,
  KEPT_HEAD_LENGTH_MAX,
  keptBytes,
  type KeptIndex,
  type KeptPlace,
  keptRequests,
  putKept,
  removeKeptOf,
  removeKeptWrites,
} from "../store/records/kept_requests.ts";
import type { Space } from "../store/file/space.ts";
import type { Store } from "../store/store.ts";
import { timeSpan_ms } from "../platform/text/time_span.ts";
import { type SecretBox, tryOpen } from "./secrets.ts";
import type { Trigger } from "./trigger.ts";

/** Limit of the requests that are kept of one trigger. The oldest make room. */
const KEPT_PER_TRIGGER = 100;
/** Limit of the bytes that are kept in all. The trigger with most makes room. */
const BYTES_MAX = 1024 ** 3;
/** Limits of the bytes that are kept in one minute: a flood of refused requests must not fill the disk's time. */
const BYTES_PER_MINUTE = 64 * 1024 * 1024;
const BYTES_PER_TRIGGER_MINUTE = 16 * 1024 * 1024;
const MINUTE_MS = 60_000;
/** The time after which all is read anew. */
const READ_AGAIN_MS = 60 * MINUTE_MS;

const log = getLogger(["hooklaunch"]);

/** The part of a trigger that says which of its requests are kept. */
type Keeping = Pick<Trigger, "id" | "keep_refused" | "conditions">;

/** A request as it came. */
export interface SentRequest {
  method: string;
  /** The path and the query as they were sent. */
  target: string;
  headers: Headers;
  remoteIp: string;
  /** Milliseconds since the epoch. */
  receivedAt_ms: number;
  body: Uint8Array;
  /** JSON Pointers to the fields of the body that carry credentials; views mask them. */
  masked?: readonly string[];
}

/** A kept request. */
export interface KeptRequest extends SentRequest {
  body: Uint8Array<ArrayBuffer>;
  until_ms: number;
}

/** The encrypted part of a request. */
interface Head {
  method: string;
  target: string;
  headers: [name: string, value: string][];
  remote_ip: string;
  received_at_ms: number;
  /** In records of earlier versions; the index has it now. */
  masked?: readonly string[];
}

/** The parts of a service that kept requests use. */
interface KeptRequestsParts {
  store: Store;
  secrets: SecretBox;
  clock: Clock;
  /** Knows when the disk has too little room left. */
  space?: Pick<Space, "isShort">;
  /** Limit of the bytes that are kept in all; 1 GiB when absent. */
  bytes_max?: number;
}

/** The bytes of one minute. */
interface MinuteBytes {
  minute: number;
  all: number;
  ofTrigger: Map<string, number>;
}

/** Tells whether a request that is kept as it came would hold what a condition takes out of others. */
function redacts(conditions: Keeping["conditions"]): boolean {
  return conditions.some((each) => "redact" in each && each.redact);
}

/** Says why a request of a trigger may not be kept, and how others are. */
export function whyNotKept({ keep_refused, conditions }: Omit<Keeping, "id">): string {
  if (redacts(conditions)) return "The trigger keeps none, as a condition has redact";
  return keep_refused === undefined
    ? "Set keep_refused in the trigger to keep the next ones"
    : `The trigger keeps the last ${KEPT_PER_TRIGGER}, with bodies of up to 1 MiB, for ${keep_refused}`;
}

/** Keeps refused requests, within limits. */
export class KeptRequests {
  readonly #parts: KeptRequestsParts;
  /** The index of each, by trigger and entry; undefined until it has been read. */
  #kept: Map<string, Map<string, KeptIndex>> | undefined;
  #bytes = 0;
  #reading: Promise<void> | undefined;
  /** The time of the latest read, by the steady clock. */
  #read_ms = 0;
  #signal: AbortSignal | undefined;
  #written: MinuteBytes = { minute: 0, all: 0, ofTrigger: new Map() };

  constructor(parts: KeptRequestsParts) {
    this.#parts = parts;
  }

  /** Begins to read what is kept. Until that is known, nothing more is kept. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#reading = this.#read(signal);
  }

  /** Begins to keep beside the leader, which reads what all keep: so only its own are limited here. */
  follow(): void {
    this.#kept ??= new Map();
  }

  /** Waits until nothing more is read. */
  async close(): Promise<void> {
    await this.#reading;
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#read_ms = this.#parts.clock.steady();
    await this.#load(signal).catch((error) =>
      log.error("Cannot read the refused requests that are kept: {error}", { error })
    );
  }

  async #load(signal: AbortSignal): Promise<void> {
    const since_ms = this.#parts.clock.now() - MINUTE_MS;
    const kept = new Map<string, Map<string, KeptIndex>>();
    let bytes = 0;
    for await (const { triggerId, entryId, index } of keptRequests(this.#parts.store)) {
      if (signal.aborted) return;
      if (index === undefined) continue;
      bytes += keptBytes(index);
      ofTrigger(kept, triggerId).set(entryId, index);
    }
    // What was kept meanwhile may not have been read. What is older has been removed by another instance.
    for (const [triggerId, entries] of this.#kept ?? []) {
      for (const [entryId, index] of entries) {
        if (idTime(entryId) < since_ms || kept.get(triggerId)?.has(entryId)) continue;
        bytes += keptBytes(index);
        ofTrigger(kept, triggerId).set(entryId, index);
      }
    }
    this.#kept = kept;
    this.#bytes = bytes;
    await this.#removeEnded();
  }

  /** The number of the requests that are kept, and the bytes that count for them. */
  get size(): { requests: number; bytes: number } {
    let requests = 0;
    for (const entries of this.#kept?.values() ?? []) requests += entries.size;
    return { requests, bytes: this.#bytes };
  }

  /** Returns true when a refused request of this size would be kept. */
  hasRoom({ id, keep_refused, conditions }: Keeping, size: number): boolean {
    if (redacts(conditions)) return false;
    if (keep_refused === undefined || size > KEPT_BODY_BYTES_MAX || this.#kept === undefined) {
      return false;
    }
    const { all, ofTrigger } = this.#minuteBytes();
    const bytes = keptBytes({ size });
    return !this.#parts.space?.isShort && all + bytes <= BYTES_PER_MINUTE &&
      (ofTrigger.get(id) ?? 0) + bytes <= BYTES_PER_TRIGGER_MINUTE;
  }

  /** Returns the time up to which a request that is refused now is kept, in milliseconds since the epoch. */
  until_ms({ keep_refused = "" }: Keeping): number {
    return this.#parts.clock.now() + timeSpan_ms(keep_refused);
  }

  /**
   * Keeps a refused request. What cannot be stored is not kept; it resolves in any case.
   *
   * @param sha256 that of its body, in hex
   */
  async keep(
    place: KeptPlace,
    { body, masked = [], ...request }: SentRequest,
    { until_ms, sha256 }: Pick<KeptIndex, "until_ms" | "sha256">,
  ): Promise<void> {
    const { secrets, store } = this.#parts;
    const head = secrets.seal(JSON.stringify(headOf(request)), place.triggerId);
    if (head.length > KEPT_HEAD_LENGTH_MAX) return;
    const index = { until_ms, size: body.length, sha256, masked };
    try {
      await this.#makeRoom(place, index);
      await putKept(store, place, { ...index, head, body });
    } catch (error) {
      log.warn("Cannot keep a refused request: {error}", { error: messageOf(error) });
    }
  }

  /** Reads a kept request; undefined when none is kept under this id. */
  async read(place: KeptPlace): Promise<KeptRequest | undefined> {
    const { store, secrets, clock } = this.#parts;
    const stored = await getKept(store, place);
    if (stored === undefined || stored.until_ms <= clock.now()) return undefined;
    const opened = tryOpen(stored.head, secrets, place.triggerId);
    if (opened === undefined) return undefined;
    // This class has written it.
    const head: Head = JSON.parse(opened);
    const { method, target, headers, remote_ip, received_at_ms } = head;
    const masked = stored.masked ?? head.masked;
    return {
      method,
      target,
      headers: new Headers(headers),
      remoteIp: remote_ip,
      receivedAt_ms: received_at_ms,
      body: stored.body,
      ...(masked && { masked }),
      until_ms: stored.until_ms,
    };
  }

  /**
   * Removes what has been kept for its time. Call it each minute. Now and then it reads all anew: what an
   * instance has kept that is gone is removed by the others.
   */
  async sweep(): Promise<void> {
    const age_ms = this.#parts.clock.steady() - this.#read_ms;
    if (this.#signal && !this.#signal.aborted && age_ms > READ_AGAIN_MS) {
      this.#reading = this.#read(this.#signal);
      return await this.#reading;
    }
    await this.#removeEnded();
  }

  async #removeEnded(): Promise<void> {
    const now_ms = this.#parts.clock.now();
    for (const [triggerId, entries] of this.#kept ?? []) {
      for (const [entryId, index] of entries) {
        if (index.until_ms <= now_ms) await this.#remove({ triggerId, entryId }, index);
      }
    }
  }

  /** Removes all that is kept of a trigger that was deleted. What cannot be removed now goes at the end of its time. */
  async forget(triggerId: string): Promise<void> {
    for (const index of this.#kept?.get(triggerId)?.values() ?? []) this.#bytes -= keptBytes(index);
    this.#kept?.delete(triggerId);
    await removeKeptOf(this.#parts.store, triggerId).catch((error) =>
      log.warn(
        "Cannot remove the refused requests that are kept of trigger {trigger_id}: {error}",
        {
          trigger_id: triggerId,
          error: messageOf(error),
        },
      )
    );
  }

  /** Counts a request, and removes older ones until it has room. */
  async #makeRoom({ triggerId, entryId }: KeptPlace, index: KeptIndex): Promise<void> {
    const kept = this.#kept ??= new Map();
    const written = this.#minuteBytes();
    written.all += keptBytes(index);
    written.ofTrigger.set(triggerId, (written.ofTrigger.get(triggerId) ?? 0) + keptBytes(index));
    ofTrigger(kept, triggerId).set(entryId, index);
    this.#bytes += keptBytes(index);
    // While one is removed, all may be read anew, and a trigger may be deleted.
    const ofIt = () => this.#kept?.get(triggerId) ?? new Map<string, KeptIndex>();
    while (ofIt().size > KEPT_PER_TRIGGER) await this.#removeOldest(triggerId, ofIt());
    const { bytes_max = BYTES_MAX } = this.#parts;
    while (this.#bytes > bytes_max) await this.#removeOldest(...largest(this.#kept ?? kept));
  }

  async #removeOldest(triggerId: string, entries: Map<string, KeptIndex>): Promise<void> {
    const [oldest] = entries;
    if (oldest !== undefined) await this.#remove({ triggerId, entryId: oldest[0] }, oldest[1]);
  }

  /** Stops counting a request at once, and removes it. */
  async #remove(place: KeptPlace, index: KeptIndex): Promise<void> {
    const { triggerId, entryId } = place;
    const entries = this.#kept?.get(triggerId);
    if (entries?.delete(entryId)) this.#bytes -= keptBytes(index);
    if (entries?.size === 0) this.#kept?.delete(triggerId);
    // Beside the leader, too.
    await this.#parts.store.intake.write(removeKeptWrites(place, index));
  }

  #minuteBytes(): MinuteBytes {
    const minute = Math.floor(this.#parts.clock.now() / MINUTE_MS);
    if (this.#written.minute !== minute) {
      this.#written = { minute, all: 0, ofTrigger: new Map() };
    }
    return this.#written;
  }
}

function headOf(
  { method, target, headers, remoteIp, receivedAt_ms }: Omit<SentRequest, "body" | "masked">,
): Head {
  return {
    method,
    target,
    headers: [...headers],
    remote_ip: remoteIp,
    received_at_ms: receivedAt_ms,
  };
}

function ofTrigger(
  kept: Map<string, Map<string, KeptIndex>>,
  triggerId: string,
): Map<string, KeptIndex> {
  let entries = kept.get(triggerId);
  if (entries === undefined) kept.set(triggerId, entries = new Map());
  return entries;
}

/** Finds the trigger of which most bytes are kept. */
function largest(
  kept: Map<string, Map<string, KeptIndex>>,
): [triggerId: string, entries: Map<string, KeptIndex>] {
  let found: [string, Map<string, KeptIndex>] = ["", new Map()];
  let most = -1;
  for (const [triggerId, entries] of kept) {
    const bytes = [...entries.values()].reduce((sum, index) => sum + keptBytes(index), 0);
    if (bytes > most) [most, found] = [bytes, [triggerId, entries]];
  }
  return found;
}
