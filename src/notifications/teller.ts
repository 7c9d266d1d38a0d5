/**
 * Telling of causes: takes notices, decides what is due, and makes notifications of it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type CauseCode, newCause, type Subject } from "../attention/cause.ts";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { Network } from "../platform/network/connection.ts";
import type { Write } from "../store/commit/change.ts";
import { keys } from "../store/keys.ts";
import type { Notice, NoticeKind } from "../store/notice.ts";
import { oldestNotices } from "../store/records/notices.ts";
import {
  type Notification,
  notificationWrites,
  type NotifiedCause,
  openNotifications,
} from "../store/records/notifications.ts";
import {
  getNotifierState,
  listNotifiers,
  type NotifierState,
  type StoredNotifier,
  type ToldCause,
  toldCauses,
  toldCauseWrite,
} from "../store/records/notifiers.ts";
import { recordWrite } from "../store/records/record_size.ts";
import type { Store } from "../store/store.ts";
import { Book } from "./book.ts";
import { adviceOf, placeOf, textOf } from "./cause_words.ts";
import { tellsOf } from "./matching.ts";
import { type Noted, Sender } from "./sender.ts";
import type { Sent } from "./targets/target.ts";
import { wordsOf } from "./templates.ts";

/** The writes of one commit, at most about. */
const WRITES_MAX = 300;
/** The causes that a notification lists. */
const SHOWN_MAX = 20;
/** The least time between two looks at notices: what comes meanwhile is taken together. */
const PAUSE_MS = 100;
/** The pause after an error of the service's own, such as one of the database. */
const TROUBLE_MS = 1_000;
/** The longest time of a timer: a clock may jump. */
const TIMER_MAX_MS = 60_000;
/** The same where other instances may store notices. */
const SHARED_MAX_MS = 1_000;

/** The cause that a kind of work makes when it fails. */
export const CODE_OF: Readonly<Record<NoticeKind, CauseCode>> = {
  run: "run_error",
  execution: "execution_error",
  http_request: "execution_error",
  pipeline: "pipeline_error",
};

const log = getLogger(["hooklaunch", "notifications"]);

/** The parts of the service that telling uses. */
export interface TellerParts {
  store: Store;
  clock: Clock;
  network: Network;
  /** Returns the address of the service, without a slash at the end. */
  baseUrl(): string;
  /** Returns the name and the project of a trigger. */
  labelsOf(id: string): Promise<{ name: string; project: string } | undefined>;
  /** Returns the beginning of the payload of a run, its credentials masked. */
  payloadOf(runId: string): Promise<string | undefined>;
  /** Returns the text of a stored secret of a notifier. */
  reveal(secret: string, notifier: string): string | undefined;
  /** Called with the ids of the causes that are not over. */
  onOpen(ids: ReadonlySet<string>): void;
  /** Called with each notification that has ended. */
  onSent(notification: Notification): void;
}

/** Tells of causes. */
export class Teller {
  readonly #parts: TellerParts;
  readonly sender: Sender;
  readonly books = new Map<string, Book>();
  #work: Promise<void> = Promise.resolve();
  #isDue = false;
  #cancelTimer: (() => void) | undefined;
  #isClosing = false;

  constructor(parts: TellerParts) {
    this.#parts = parts;
    this.sender = new Sender({
      ...parts,
      notifierOf: (name) => this.books.get(name)?.notifier,
      noteAttempt: (notification, sent) => this.#noteAttempt(notification, sent),
      onEnd: (notification) => {
        parts.onSent(notification);
        this.wake();
      },
    });
  }

  /** Continues what an earlier process has left. */
  async start(): Promise<void> {
    await this.reload();
    for (const { id, notifier } of await openNotifications(this.#parts.store)) {
      this.sender.begin(id, notifier);
    }
    this.wake();
  }

  /** Reads the notifiers anew. */
  async reload(): Promise<void> {
    await this.exclusively(async () => {
      const { store } = this.#parts;
      const notifiers = await listNotifiers(store);
      const books = await Promise.all(notifiers.map(async (notifier) => {
        const known = this.books.get(notifier.name);
        if (known?.notifier.created_at === notifier.created_at) {
          return new Book(notifier, known.state, [...known.causes.values()]);
        }
        const { name } = notifier;
        const [state, causes] = await Promise.all([
          getNotifierState(store, name),
          toldCauses(store, name),
        ]);
        return new Book(notifier, state, causes);
      }));
      this.books.clear();
      for (const book of books) this.books.set(book.notifier.name, book);
      this.#tellOpen();
    });
    this.wake();
  }

  /** Looks soon for notices, and for what is due. Returns at once. */
  wake(): void {
    if (this.#isDue || this.#isClosing) return;
    this.#isDue = true;
    this.exclusively(async () => {
      this.#isDue = false;
      if (!this.#isClosing) this.#later(await this.#pass() ? PAUSE_MS : this.#nextDue_ms());
    }).catch((error) => {
      log.error("Cannot look for what is to be told, trying again: {error}", {
        error: messageOf(error),
      });
      this.#later(TROUBLE_MS);
    });
  }

  /** Does work on the books, after that which has begun. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.then(() => {}, () => {});
    return done;
  }

  /** Stores causes as they are now. */
  async save(changed: readonly { book: Book; cause: ToldCause }[]): Promise<void> {
    const writes = changed.map(({ book, cause }) => toldCauseWrite(book.notifier.name, cause));
    await this.#parts.store.committer.writeInParts(writes);
    this.#tellOpen();
    this.wake();
  }

  /** Stores a notification, and sends it. */
  async send(notification: Notification): Promise<void> {
    await this.#parts.store.committer.write(notificationWrites(notification));
    this.sender.begin(notification.id, notification.notifier);
  }

  /** Begins nothing more. What is under way may end until the deadline. */
  async close(deadline_ms: number): Promise<void> {
    this.#isClosing = true;
    this.#cancelTimer?.();
    await this.#work;
    await this.sender.close(deadline_ms);
  }

  /** Takes some notices, and tells what is due. Returns true when there are more notices. */
  async #pass(): Promise<boolean> {
    const hasMore = await this.#takeNotices();
    for (const book of this.books.values()) await this.#tell(book);
    return hasMore;
  }

  /** Takes the oldest notices. One commit removes them, and stores the causes that they make. */
  async #takeNotices(): Promise<boolean> {
    const { store } = this.#parts;
    const limit = Math.max(1, Math.floor(WRITES_MAX / (this.books.size + 1)));
    const { notices, damaged } = await oldestNotices(store, limit);
    const taken = [...damaged, ...notices.map(({ id }) => keys.notice(id))];
    if (taken.length === 0) return false;
    const before = new Map(Array.from(this.books.values(), (book) => [book, new Map(book.causes)]));
    const writes = new Map<string, Write>();
    for (const notice of notices) {
      for (const { book, cause } of await this.#take(notice)) {
        const { name } = book.notifier;
        writes.set(JSON.stringify([name, cause.id]), toldCauseWrite(name, cause));
      }
    }
    try {
      await store.committer.write([...taken.map((key) => ({ key })), ...writes.values()]);
    } catch (error) {
      for (const [book, causes] of before) book.restore(causes);
      throw error;
    }
    this.#tellOpen();
    return taken.length === limit;
  }

  /** Notes in each book what a notice says. Returns the causes that have changed. */
  async #take(notice: Notice): Promise<{ book: Book; cause: ToldCause }[]> {
    const { kind, of, run_id, trigger_id, part, status, reason = "" } = notice;
    const { clock, labelsOf } = this.#parts;
    const labels = await labelsOf(trigger_id);
    const name = labels?.name ?? trigger_id;
    const project = labels?.project ?? notice.project;
    const subject: Subject = { kind: "trigger", name, id: trigger_id, project };
    const code = CODE_OF[kind];
    const now_ms = clock.now();
    const id = causeIdOf(notice);
    const changed: { book: Book; cause: ToldCause }[] = [];
    for (const book of this.books.values()) {
      if (status === "complete") {
        const cause = book.end(id, now_ms);
        if (cause) changed.push({ book, cause });
      } else if (status === "error" && tellsOf(book.notifier, code, subject)) {
        const facts = {
          id,
          code,
          subject,
          text: textOf(kind, part, reason),
          run_id,
          ...(kind === "execution" && { execution_id: of }),
          ...(kind === "pipeline" && { pipeline_id: of }),
        };
        changed.push({ book, cause: book.fail(facts, 1, now_ms) });
      }
    }
    return changed;
  }

  /** Makes a notification of what is due, unless the one before is still being sent. */
  async #tell(book: Book): Promise<void> {
    const { store, clock } = this.#parts;
    const { notifier } = book;
    const now_ms = clock.now();
    if (book.nextDue_ms(now_ms) > now_ms || this.sender.isBusy(notifier.name)) return;
    const due = book.due(now_ms);
    if (due.length === 0) return;
    const shown = await Promise.all(due.slice(0, SHOWN_MAX).map((each) => this.#shown(each, book)));
    const more = due.length - shown.length;
    const notification: Notification = {
      id: newId(now_ms),
      notifier: notifier.name,
      status: "pending",
      created_at: new Date(now_ms).toISOString(),
      attempts: 0,
      ...wordsOf(notifier, shown, more),
      causes: shown,
      ...(more > 0 && { more }),
    };
    const told = due.map((cause) => book.told(cause, now_ms));
    const state = { ...book.state, told_at: notification.created_at };
    const writes = told.map((cause) => toldCauseWrite(notifier.name, cause));
    await store.committer.write([
      ...notificationWrites(notification),
      recordWrite(keys.notifierState(notifier.name), state),
      ...writes.slice(0, WRITES_MAX),
    ]);
    book.state = state;
    for (const cause of told) book.causes.set(cause.id, cause);
    this.sender.begin(notification.id, notifier.name);
    await store.committer.writeInParts(writes.slice(WRITES_MAX));
    await this.#forget(book, now_ms);
  }

  async #forget(book: Book, now_ms: number): Promise<void> {
    const over = book.forgettable(now_ms);
    for (const { id } of over) book.causes.delete(id);
    const { name } = book.notifier;
    await this.#parts.store.committer.writeInParts(
      over.map(({ id }) => ({ key: keys.toldCause(name, id) })),
    );
  }

  /** Returns a cause as a notification tells of it. */
  async #shown(cause: ToldCause, book: Book): Promise<NotifiedCause> {
    const { payloadOf, baseUrl } = this.#parts;
    const { id, code, subject, since, ended_at, count, text } = cause;
    const { run_id, execution_id, pipeline_id } = cause;
    const state = book.stateOf(cause);
    const isWanted = book.notifier.include?.includes("payload") === true && state !== "recovered";
    const payload = isWanted && run_id !== undefined ? await payloadOf(run_id) : undefined;
    return {
      id,
      code,
      state,
      subject,
      since,
      ...(ended_at !== undefined && { ended_at }),
      count,
      text,
      advice: adviceOf(code),
      url: `${baseUrl()}${placeOf(cause)}`,
      ...(run_id !== undefined && { run_id }),
      ...(execution_id !== undefined && { execution_id }),
      ...(pipeline_id !== undefined && { pipeline_id }),
      ...(payload !== undefined && { payload }),
    };
  }

  #noteAttempt({ notifier }: Notification, sent: Sent): Noted {
    const book = this.books.get(notifier);
    if (book === undefined) return {};
    const { failing_since, reason: _, ...state } = book.state;
    if (sent.isSent && failing_since === undefined) return {};
    const now = new Date(this.#parts.clock.now()).toISOString();
    const next: NotifierState = sent.isSent
      ? state
      : { ...state, failing_since: failing_since ?? now, reason: sent.reason };
    return {
      writes: [recordWrite(keys.notifierState(notifier), next)],
      // They may have been read anew meanwhile.
      onStored: () => void ((this.books.get(notifier) ?? book).state = next),
    };
  }

  #nextDue_ms(): number {
    const now_ms = this.#parts.clock.now();
    const due = this.books.values().filter(({ notifier }) => !this.sender.isBusy(notifier.name))
      .map((book) => book.nextDue_ms(now_ms) - now_ms);
    const most_ms = this.#parts.store.shared ? SHARED_MAX_MS : TIMER_MAX_MS;
    return Math.max(PAUSE_MS, Math.min(most_ms, ...due));
  }

  #later(delay_ms: number): void {
    if (this.#isClosing) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#parts.clock.after(delay_ms, () => this.wake());
  }

  #tellOpen(): void {
    const open = this.books.values().flatMap(({ causes }) => causes.values())
      .filter(({ ended_at }) => ended_at === undefined).map(({ id }) => id);
    this.#parts.onOpen(new Set(open));
  }
}

/** Returns the id of the cause that a notice is about. */
export function causeIdOf(
  { kind, trigger_id, part }: Pick<Notice, "kind" | "trigger_id" | "part">,
): string {
  const subject: Subject = { kind: "trigger", name: trigger_id, id: trigger_id };
  return newCause(CODE_OF[kind], subject, { text: "", since_ms: 0, part }).id;
}

/** Returns the notification that tries a notifier out. */
export function testNotification(
  { name }: StoredNotifier,
  now_ms: number,
  baseUrl: string,
): Notification {
  return {
    id: newId(now_ms),
    notifier: name,
    status: "pending",
    created_at: new Date(now_ms).toISOString(),
    attempts: 0,
    title: `Test of notifier ${name}`,
    text: `This is a test: nothing has failed.\n  ${baseUrl}/`,
    causes: [],
    is_test: true,
  };
}
