/**
 * Events that say that deliveries have changed, and not which: `GET /api/v0/deliveries/?follow&only_changes`. All
 * streams share one look a second, however many there are.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { newestEntries } from "../../store/read/lists.ts";
import type { Store } from "../../store/store.ts";
import type { Engines } from "../../engines/mod.ts";
import type { DeliveryList } from "./delivery_views.ts";
import type { Events, Followed } from "./event_stream.ts";

/** The time for which one look is good. Streams look each second. */
const LOOK_MS = 900;
/** The executions, pipelines and requests under way that a look sees, where other instances may change them. */
const OPEN_MAX = 500;
/** The kinds of records that lists show, beside executions: of these the engines tell. */
const SHOWN = ["http_request", "pipeline", "run", "trigger"];

/** The parts of the service that are looked at. */
interface DeliveryChangesParts {
  store: Store;
  engines: Pick<Engines, "changes">;
  clock: Pick<Clock, "steady">;
}

/** Tells whether deliveries, or what they have launched, have changed. */
export class DeliveryChanges {
  readonly #parts: DeliveryChangesParts;
  #looked_ms = -Infinity;
  #state: Promise<string> = Promise.resolve("");
  /** The newest deliveries at a state, by their number. */
  readonly #newest = new Map<number, Promise<DeliveryList>>();
  #newestState = "";
  /** Counts writes of records of these kinds. */
  #written = 0;

  constructor(parts: DeliveryChangesParts) {
    this.#parts = parts;
    parts.store.committer.onWrite(([kind]) => {
      if (SHOWN.includes(String(kind))) this.#written++;
    });
  }

  /** Returns a text that differs from the one before when something has changed. */
  state(): Promise<string> {
    const now_ms = this.#parts.clock.steady();
    if (now_ms - this.#looked_ms >= LOOK_MS) {
      this.#looked_ms = now_ms;
      this.#state = this.#look();
    }
    return this.#state;
  }

  /**
   * Reads the newest deliveries once for all who ask while nothing is known to have changed. Those who follow the
   * changes hear of the next one later, and ask again then.
   */
  async newest(limit: number, read: () => Promise<DeliveryList>): Promise<DeliveryList> {
    // The look does not tell of all that other instances change.
    if (this.#parts.store.shared) return await read();
    const state = await this.state();
    if (this.#newestState !== state) this.#newest.clear();
    this.#newestState = state;
    const known = this.#newest.get(limit);
    if (known !== undefined) return await known;
    const reading = read();
    this.#newest.set(limit, reading);
    reading.catch(() => this.#newest.delete(limit));
    return await reading;
  }

  async #look(): Promise<string> {
    const { store, engines } = this.#parts;
    const open = store.shared ? await openWork(store) : "";
    return `${engines.changes} ${this.#written} ${await newestIds(store)} ${open}`;
  }
}

/** Follows the changes. */
export class ChangeSource implements Followed {
  readonly what = "the changes of deliveries";
  readonly isAllowed: Followed["isAllowed"];
  readonly #changes: DeliveryChanges;
  /** The state that the client knows: what came before its stream began is nothing new. */
  #seen: Promise<string>;

  constructor(changes: DeliveryChanges, isAllowed: Followed["isAllowed"]) {
    this.#changes = changes;
    this.#seen = changes.state();
    this.isAllowed = isAllowed;
  }

  async look(): Promise<Events | undefined> {
    const before = await this.#seen;
    this.#seen = this.#changes.state();
    return await this.#seen === before ? undefined : { text: "data: {}\n\n" };
  }
}

/** Returns the newest ids of all lists together, which tell whether anything came. */
export async function newestIds(store: Store): Promise<string> {
  const lists = await Promise.all([
    newestEntries(store, ["pending"], { limit: 1 }, 2),
    newestEntries(store, ["held"], { limit: 1 }, 2),
    newestEntries(store, ["run"], { limit: 1 }),
    newestEntries(store, ["delivery_entry"], { limit: 1 }),
  ]);
  return lists.flat().map(({ key }) => key.join("/")).join(" ");
}

/** Returns a text that differs when another instance has changed what is under way. */
async function openWork(store: Store): Promise<string> {
  const lists = await Promise.all(
    ["execution_open", "pipeline_open", "http_request_open"].map((kind) =>
      newestEntries(store, [kind], { limit: OPEN_MAX })
    ),
  );
  return lists.flat().map(({ key, value }) => `${key.join("/")} ${value}`).join(" ");
}
