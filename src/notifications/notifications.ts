/**
 * Notifications of a service. Nothing that makes or sends them is loaded before there is a notifier.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type Cause, newCause } from "../attention/cause.ts";
import { messageOf } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { Write } from "../store/commit/change.ts";
import type { NotifierState, StoredNotifier } from "../store/records/notifiers.ts";
import { listNotifiers } from "../store/records/notifiers.ts";
import type { Notice, NoticeKind } from "../store/notice.ts";
import { noticeWrite } from "../store/records/notices.ts";
import type { Notification } from "../store/records/notifications.ts";
import type { LookParts, Looks } from "./looks.ts";
import { concerns } from "./matching.ts";
import type { Statuses, StatusParts } from "./statuses.ts";
import type { Teller, TellerParts } from "./teller.ts";

const CODES: Readonly<Record<NoticeKind, string>> = {
  run: "run_error",
  execution: "execution_error",
  http_request: "execution_error",
  pipeline: "pipeline_error",
};

const log = getLogger(["hooklaunch", "notifications"]);

/** The parts of the service that notifications use. */
interface NotificationsParts extends Omit<TellerParts, "onOpen">, LookParts, StatusParts {
  /** Returns the name of a trigger that is in memory. */
  nameInMemory(id: string): string | undefined;
}

interface Loaded {
  teller: Teller;
  looks: Looks;
  statuses: Statuses;
  causeIdOf(notice: Pick<Notice, "kind" | "trigger_id" | "part">): string;
}

/** All notifications of a service. */
export class Notifications {
  readonly #parts: () => NotificationsParts;
  #loaded: Promise<Loaded> | undefined;
  #now: Loaded | undefined;
  #codes: ReadonlySet<string> = new Set();
  /** The ids of causes that may not be over. */
  #open: ReadonlySet<string> = new Set();
  /** Those of which a notice is on its way. */
  readonly #fresh = new Set<string>();
  /** The number of changes of notifiers that are known here, where several instances share the database. */
  #known = -1;
  #reading: Promise<void> | undefined;
  #leads = false;
  #isClosing = false;

  constructor(parts: () => NotificationsParts) {
    this.#parts = parts;
  }

  /** True while an attempt to send is under way. */
  get isSending(): boolean {
    return this.#now?.teller.sender.isSending === true;
  }

  /** Continues what an earlier process has left. Call it where the work is performed. */
  async start(): Promise<void> {
    this.#leads = true;
    await this.changed();
  }

  /** Reads the notifiers anew where another instance may have changed them; undefined where they are known. */
  refresh(): Promise<void> | undefined {
    const changes = this.#parts().store.shared?.triggers.notifierChanges;
    if (changes === undefined || changes === this.#known || this.#isClosing) return undefined;
    return this.#reading ??= this.changed()
      .then(() => void (this.#known = changes))
      .finally(() => this.#reading = undefined);
  }

  /** Reads the notifiers anew. */
  async changed(): Promise<void> {
    const { store } = this.#parts();
    const notifiers = await listNotifiers(store);
    this.#codes = new Set(notifiers.flatMap(({ on }) => on));
    const tellsEnds = Object.values(CODES).some((code) => this.#codes.has(code));
    store.tellEnd = tellsEnds ? (end) => this.#noticeOf(end) : undefined;
    // Of all targets, those that set statuses alone tell of no causes.
    const ofCommits = notifiers.filter(({ on }) => on.length === 0);
    store.tellsStatus = ofCommits.length > 0 ? (run) => this.#concerns(ofCommits, run) : undefined;
    if (!this.#leads || (notifiers.length === 0 && this.#loaded === undefined)) return;
    if (this.#now !== undefined) return await this.#now.teller.reload();
    const { teller, statuses } = await this.#load();
    await teller.start();
    await statuses.after.start();
  }

  /** Looks soon for what is to be told. Returns at once. Call it once an end of work is on disk. */
  wake(): void {
    this.#now?.teller.wake();
  }

  /** Tells that a run has ended, which is on disk. Returns at once. */
  runEnded(run: { id: string; trigger_id: string; project: string }): void {
    if (this.#parts().store.tellsStatus?.(run)) this.#now?.statuses.after.look(run.id);
    this.wake();
  }

  /** Tells that something that a run has launched has ended, which is on disk. Returns at once. */
  workEnded(runId: string): void {
    this.#now?.statuses.after.workEnded(runId);
  }

  /** Looks for causes that no work makes. Returns at once. Call it each minute. */
  sweep(): void {
    const work = this.#leads ? this.look() : this.changed();
    work.catch((error) =>
      log.error("Cannot look for causes to tell of: {error}", { error: messageOf(error) })
    );
  }

  /** Looks for causes that no work makes. Resolves when they are on disk. */
  async look(): Promise<void> {
    await this.#now?.statuses.after.sweep();
    await this.#now?.looks.look();
  }

  /** Lists the causes that notifications alone know: notifiers that fail, and triggers that are silent. */
  causes(): Cause[] {
    const books = [...this.#now?.teller.books.values() ?? []];
    const failing = books.flatMap(
      ({ notifier: { name }, state: { failing_since, reason = "" } }) => {
        if (failing_since === undefined) return [];
        const since_ms = Date.parse(failing_since);
        const text = `It cannot be told: ${reason}`;
        return [newCause("notifier_failed", { kind: "notifier", name }, { text, since_ms })];
      },
    );
    const silent = new Map(
      books.flatMap(({ causes }) => [...causes.values()]).flatMap((cause) => {
        const { id, code, subject, since, text, ended_at } = cause;
        if (code !== "silent" || ended_at !== undefined) return [];
        const { name, id: triggerId = name, project = "" } = subject;
        const trigger = { kind: "trigger", name, id: triggerId, project } as const;
        return [[id, newCause("silent", trigger, { text, since_ms: Date.parse(since) })]];
      }),
    );
    return [...failing, ...silent.values()];
  }

  /** Returns how far a notifier is. */
  stateOf(name: string): NotifierState {
    return this.#now?.teller.books.get(name)?.state ?? {};
  }

  /** Sends a message that tries a notifier out. Resolves when it is on disk. */
  async test(notifier: StoredNotifier): Promise<Notification> {
    const { clock, baseUrl } = this.#parts();
    const { testNotification } = await import("./teller.ts");
    const { teller } = await this.#load();
    const notification = testNotification(notifier, clock.now(), baseUrl());
    await teller.send(notification);
    return notification;
  }

  /** Sends a notification again. Resolves when that is on disk. */
  async resend(notification: Notification): Promise<Notification> {
    const { clock } = this.#parts();
    const { teller } = await this.#load();
    const { next_at: _next, ended_at: _end, reason: _reason, ...rest } = notification;
    const now_ms = clock.now();
    // A status has one notification, so that none is overtaken by an earlier state.
    if (notification.commit !== undefined) return await this.#resendStatus(notification, now_ms);
    const again: Notification = {
      ...rest,
      id: newId(now_ms),
      status: "pending",
      created_at: new Date(now_ms).toISOString(),
      attempts: 0,
      resend_of: notification.id,
    };
    await teller.send(again);
    return again;
  }

  async #resendStatus(notification: Notification, now_ms: number): Promise<Notification> {
    const { teller: { sender } } = await this.#load();
    const again = await sender.change(notification.id, (current) => {
      if (current.commit === undefined || current.status === "pending") return undefined;
      const { next_at: _next, ended_at: _end, reason: _reason, ...rest } = current;
      const commit = { ...current.commit, since: new Date(now_ms).toISOString() };
      return { notification: { ...rest, commit, status: "pending", attempts: 0 } };
    });
    sender.begin(notification.id, notification.notifier);
    return again ?? notification;
  }

  /** Begins nothing more. What is under way may end until the deadline. */
  async close(deadline_ms: number): Promise<void> {
    this.#isClosing = true;
    const { store } = this.#parts();
    store.tellEnd = undefined;
    store.tellsStatus = undefined;
    const loaded = await this.#loaded;
    await loaded?.statuses.after.close();
    await loaded?.teller.close(deadline_ms);
  }

  /** Tells whether a run may be about a commit that gets a status. A trigger that is not in memory may be any. */
  #concerns(
    notifiers: readonly StoredNotifier[],
    { trigger_id: id, project }: { trigger_id: string; project: string },
  ): boolean {
    const name = this.#parts().nameInMemory(id);
    return name === undefined ||
      notifiers.some((notifier) => concerns(notifier, { kind: "trigger", name, id, project }));
  }

  /** Makes the writes of an end of work. Ends without a failure count where a cause may be over. */
  #noticeOf(end: Omit<Notice, "id">): readonly Write[] {
    if (!this.#codes.has(CODES[end.kind]) || end.status === "stopped") return [];
    const place = JSON.stringify([CODES[end.kind], end.trigger_id, end.part]);
    if (end.status === "error") this.#fresh.add(place);
    else if (!this.#mayBeOpen(end, place)) return [];
    return [noticeWrite({ id: newId(this.#parts().clock.now()), ...end })];
  }

  #mayBeOpen(end: Omit<Notice, "id">, place: string): boolean {
    // Another instance may have stored a failure just now.
    if (this.#fresh.delete(place) || this.#parts().store.shared) return true;
    return this.#open.size > 0 && this.#now !== undefined &&
      this.#open.has(this.#now.causeIdOf(end));
  }

  #load(): Promise<Loaded> {
    return this.#loaded ??= this.#loadAll().then((loaded) => this.#now = loaded);
  }

  async #loadAll(): Promise<Loaded> {
    const [{ Teller, causeIdOf }, { Looks }, { Statuses }] = await Promise.all([
      import("./teller.ts"),
      import("./looks.ts"),
      import("./statuses.ts"),
    ]);
    const parts = this.#parts();
    const teller = new Teller({
      ...parts,
      onOpen: (ids) => {
        this.#open = ids;
      },
    });
    // It begins nothing after the end.
    if (this.#isClosing) await teller.close(0);
    const statuses = new Statuses(parts, {
      sender: teller.sender,
      notifiers: () => Array.from(teller.books.values(), ({ notifier }) => notifier),
    });
    return { teller, looks: new Looks(parts, teller), statuses, causeIdOf };
  }
}
