/**
 * The events of deliveries that are followed: `GET /api/v0/deliveries/?follow`. Each new delivery is an
 * event. It comes again when it changes, such as when an execution that stands beside it ends.
 *
 * @module
 */
import type { DeliveryFilter } from "../../store/records/deliveries.ts";
import { idTime } from "../../platform/ids.ts";
import type { Api } from "./api.ts";
import { newestIds } from "./delivery_changes.ts";
import { listDeliveries, type ShownDelivery } from "./delivery_views.ts";
import { type Events, eventText, type Followed } from "./event_stream.ts";

/** The time for which a delivery that was sent is looked at again. */
const WINDOW_MS = 60_000;
/** The longest time between two looks at the deliveries themselves. */
const LOOK_MS = 2_000;

/** The deliveries to follow. */
interface FollowedDeliveries extends Pick<Followed, "isAllowed"> {
  filter: DeliveryFilter;
  /** Those behind this id are new. Of the others only changes are told, such as of what a page shows already. */
  after: string;
  /** Returns those that the client may see. */
  visible(deliveries: readonly ShownDelivery[]): Promise<ShownDelivery[]>;
}

type Parts = Pick<Api, "store" | "triggers" | "triggerLog" | "worker" | "clock">;

/** Follows the deliveries that a filter wants. */
export class DeliverySource implements Followed {
  readonly what = "the deliveries";
  readonly isAllowed: Followed["isAllowed"];
  readonly #parts: Parts;
  readonly #followed: FollowedDeliveries;
  readonly #limit: number;
  /** The newest deliveries, as the client knows them. */
  #known = new Map<string, string>();
  #newest = "";
  #looked_ms = -Infinity;
  /** The time of the last read, in milliseconds since the epoch. */
  #read_ms: number | undefined;

  /** @param limit the most deliveries of one read */
  constructor(parts: Parts, followed: FollowedDeliveries, limit: number) {
    this.isAllowed = followed.isAllowed;
    this.#parts = parts;
    this.#followed = followed;
    this.#limit = limit;
  }

  async look(): Promise<Events | undefined> {
    const { store, clock } = this.#parts;
    const newest = await newestIds(store);
    if (newest === this.#newest && clock.steady() - this.#looked_ms < LOOK_MS) return undefined;
    this.#newest = newest;
    this.#looked_ms = clock.steady();
    return await this.#read();
  }

  async #read(): Promise<Events | undefined> {
    const { filter, after, visible } = this.#followed;
    const now_ms = this.#parts.clock.now();
    // What came since the last read, and what is followed.
    const since_ms = Math.min(now_ms, this.#read_ms ?? idTime(after)) - WINDOW_MS;
    this.#read_ms = now_ms;
    const { results, next } = await listDeliveries(this.#parts, {
      filter: { ...filter, from_ms: Math.max(since_ms, filter.from_ms ?? 0) },
      limit: this.#limit,
      cursor: undefined,
    });
    const before = this.#known;
    this.#known = new Map();
    const isNew = ({ id }: ShownDelivery) => id > after && !before.has(id);
    const changed: ShownDelivery[] = [];
    for (const delivery of results) {
      const data = JSON.stringify(delivery);
      const known = before.get(delivery.id);
      this.#known.set(delivery.id, data);
      if (known === undefined ? isNew(delivery) : known !== data) changed.push(delivery);
    }
    const isGap = next !== undefined && results.every(isNew);
    const events = (await visible(changed)).reverse().map((data) =>
      eventText({ id: data.id, data })
    );
    if (isGap) {
      const [{ id = after } = {}] = await visible(results);
      events.unshift(eventText({ event: "gap", id, data: {} }));
    }
    return events.length === 0 ? undefined : { text: events.join("") };
  }
}
