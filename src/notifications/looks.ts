/**
 * The causes that are found by looking: those of the service, refusals, and silence.
 *
 * @module
 */
import { type Cause, CAUSE_CODES, newCause, type Subject } from "../attention/cause.ts";
import { timeSpan_ms } from "../platform/text/time_span.ts";
import type { Clock } from "../platform/clock.ts";
import type { DeliveryHour } from "../store/records/delivery_counts.ts";
import {
  getSilences,
  type NotifierSettings,
  silencesWrites,
  type ToldCause,
} from "../store/records/notifiers.ts";
import type { Store } from "../store/store.ts";
import type { Book } from "./book.ts";
import { concerns, tellsOf } from "./matching.ts";
import { Silences } from "./silences.ts";
import { factsOf } from "./cause_words.ts";
import { CODE_OF, type Teller } from "./teller.ts";

/** The longest time between two looks that counts as silence: a machine may have slept. */
const ELAPSED_MAX_MS = 5 * 60_000;
const HOUR_MS = 60 * 60_000;
/** The share of refused deliveries above which a notifier tells, unless it says otherwise. */
const REFUSED = { above: "10%", within: "24h" };

/** The codes that a look finds: all but those of ends of work. */
const LOOKED_CODES = new Set<string>(
  CAUSE_CODES.filter((code) => !Object.values(CODE_OF).includes(code)),
);

/** A trigger, as far as a look needs it. */
interface LookedTrigger {
  id: string;
  name: string;
  project: string;
  enabled: boolean;
}

/** The parts of the service that are looked at. */
export interface LookParts {
  store: Store;
  clock: Clock;
  serviceCauses(): Promise<Cause[]>;
  triggers(): AsyncIterable<LookedTrigger>;
  /** Reads the deliveries of a trigger in the last 24 hours, oldest hour first. */
  hoursOf(triggerId: string): Promise<DeliveryHour[]>;
  /**
   * Returns the id of the newest run that a delivery has made.
   *
   * @param after looks only behind this one; returned where there is none
   */
  newestDelivery(triggerId: string, after: string): Promise<string>;
}

/** Looks for causes. */
export class Looks {
  readonly #parts: LookParts;
  readonly #teller: Teller;
  readonly #silences = new Map<string, { key: string; silences: Silences }>();
  #last_ms: number | undefined;

  constructor(parts: LookParts, teller: Teller) {
    this.#parts = parts;
    this.#teller = teller;
  }

  /** Looks for causes, and stores what has changed. Call it each minute. */
  async look(): Promise<void> {
    const { clock } = this.#parts;
    const steady_ms = clock.steady();
    const elapsed_ms = Math.min(steady_ms - (this.#last_ms ?? steady_ms), ELAPSED_MAX_MS);
    this.#last_ms = steady_ms;
    await this.#teller.exclusively(async () => {
      const books = [...this.#teller.books.values()];
      const found = new Map<Book, Cause[]>(books.map((book) => [book, []]));
      const add = (book: Book, cause: Cause) => {
        if (tellsOf(book.notifier, cause.code, cause.subject)) found.get(book)?.push(cause);
      };
      for (const cause of await this.#parts.serviceCauses()) {
        for (const book of books) add(book, cause);
      }
      await this.#lookAtTriggers(books, elapsed_ms, add);
      const changed = books.flatMap((book) => this.#compare(book, found.get(book) ?? []));
      if (changed.length > 0) await this.#teller.save(changed);
    });
    this.#teller.wake();
  }

  async #lookAtTriggers(
    books: readonly Book[],
    elapsed_ms: number,
    add: (book: Book, cause: Cause) => void,
  ): Promise<void> {
    const { store, clock } = this.#parts;
    const looking = books.filter(({ notifier: { on } }) =>
      on.includes("silent") || on.includes("refused")
    );
    if (looking.length === 0) return;
    const silences = new Map<Book, { silences: Silences; seen: Set<string> }>();
    for (const book of looking.filter(({ notifier }) => notifier.silent !== undefined)) {
      const watched = await this.#silencesOf(book.notifier);
      watched.pass(elapsed_ms, clock.now());
      silences.set(book, { silences: watched, seen: new Set() });
    }
    for await (const { id, name, project, enabled } of this.#parts.triggers()) {
      const subject: Subject = { kind: "trigger", name, id, project };
      for (const book of looking.filter(({ notifier }) => concerns(notifier, subject))) {
        if (book.notifier.on.includes("refused")) {
          const cause = await this.#refused(book.notifier, subject, id);
          if (cause) add(book, cause);
        }
        const watched = enabled ? silences.get(book) : undefined;
        watched?.seen.add(id);
        const cause = watched && await this.#silent(book.notifier, watched.silences, subject);
        if (cause) add(book, cause);
      }
    }
    for (const [{ notifier: { name } }, { silences: watched, seen }] of silences) {
      watched.keepOnly(seen);
      const { toStore } = watched;
      if (toStore === undefined) continue;
      await store.committer.writeInParts(silencesWrites(name, toStore));
      watched.stored();
    }
  }

  async #silencesOf(notifier: NotifierSettings): Promise<Silences> {
    const { name, silent, quiet } = notifier;
    const key = JSON.stringify([silent, quiet]);
    const known = this.#silences.get(name);
    if (known?.key === key) return known.silences;
    const silences = new Silences(notifier, await getSilences(this.#parts.store, name));
    this.#silences.set(name, { key, silences });
    return silences;
  }

  async #silent(
    { silent = "" }: NotifierSettings,
    silences: Silences,
    subject: Subject,
  ): Promise<Cause | undefined> {
    const { id = "" } = subject;
    const newest = await this.#parts.newestDelivery(id, silences.newestOf(id));
    if (!silences.isSilent(id, newest)) return undefined;
    const text = `No delivery was accepted for ${silent}`;
    return newCause("silent", subject, { text, since_ms: this.#parts.clock.now() });
  }

  async #refused(
    { refused = REFUSED }: NotifierSettings,
    subject: Subject,
    id: string,
  ): Promise<Cause | undefined> {
    const { above, within } = refused;
    const now_ms = this.#parts.clock.now();
    const from_ms = now_ms - timeSpan_ms(within);
    const hours = (await this.#parts.hoursOf(id)).filter((hour) =>
      hour.from_ms + HOUR_MS > from_ms
    );
    const sumOf = (...names: (keyof DeliveryHour["counts"])[]) =>
      hours.reduce(
        (sum, { counts }) => names.reduce((all, each) => all + (counts[each] ?? 0), sum),
        0,
      );
    const count = sumOf("refused", "unavailable");
    const all = count + sumOf("accepted", "repeat", "filtered");
    const isAbove = typeof above === "number"
      ? count > above
      : count > 0 && count * 100 > Number.parseFloat(above) * all;
    if (!isAbove) return undefined;
    const text = `${count} of ${all} deliveries were refused in the last ${within}`;
    return newCause("refused", subject, { text, since_ms: now_ms });
  }

  /** Notes in a book which causes there are, and which are over. */
  #compare(book: Book, found: readonly Cause[]): { book: Book; cause: ToldCause }[] {
    const now_ms = this.#parts.clock.now();
    const present = new Map(found.map((cause) => [factsOf(cause).id, cause]));
    const begun = Array.from(present, ([id, cause]) => {
      const before = book.causes.get(id);
      const isKnown = before !== undefined && before.ended_at === undefined;
      return isKnown ? [] : [{ book, cause: book.fail(factsOf(cause), 1, now_ms) }];
    });
    const over = [...book.causes.values()].flatMap(({ id, code }) => {
      if (!LOOKED_CODES.has(code) || present.has(id)) return [];
      const cause = book.end(id, now_ms);
      return cause === undefined ? [] : [{ book, cause }];
    });
    return [...begun.flat(), ...over];
  }
}
