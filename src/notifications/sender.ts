/**
 * Sending notifications: each until it has arrived, for a day. A process that ends during an attempt leaves the
 * notification open, and the next one sends it again.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { getLogger } from "@logtape/logtape";
import { send as sendRequest } from "../http_requests/exchange.ts";
import { Turns } from "../http_requests/turns.ts";
import { InTurn } from "../platform/waiting/in_turn.ts";
import { type Clock, timeText } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import type { Network } from "../platform/network/connection.ts";
import { within } from "../platform/waiting/timers.ts";
import type { Write } from "../store/commit/change.ts";
import {
  getNotification,
  hasNotificationEnded,
  type Notification,
  notificationWrites,
} from "../store/records/notifications.ts";
import type { StoredNotifier } from "../store/records/notifiers.ts";
import type { Store } from "../store/store.ts";
import { targetKind } from "./targets/mod.ts";
import type { Sent } from "./targets/target.ts";

/** The time of one attempt. */
const TIMEOUT_MS = 15_000;
/** Attempts of one notifier that are under way at once. */
const OF_NOTIFIER_MAX = 2;
const UNDER_WAY_MAX = 1_000;
/** The pause before the second attempt, which doubles until it is the longest. */
const PAUSE_MS = 4_000;
const PAUSE_MAX_MS = 30 * 60_000;
/** The longest pause that a receiver may ask for. */
const ASKED_MAX_MS = 60 * 60_000;
/** The time for which a notification is sent. */
const TRYING_MS = 24 * 60 * 60_000;
/** The pause after an error of the service's own, such as one of the database. */
const TROUBLE_MS = 1_000;
const REASON_LENGTH_MAX = 500;

const log = getLogger(["hooklaunch", "notifications"]);

/** The parts of the service that sending uses. */
interface SenderParts {
  store: Store;
  clock: Clock;
  network: Network;
  /** Returns a notifier; undefined when it was removed. */
  notifierOf(name: string): StoredNotifier | undefined;
  /** Returns the text of a stored secret of a notifier. */
  reveal(secret: string, notifier: string): string | undefined;
  /** Notes an attempt. Returns what is stored with it, and is done then. */
  noteAttempt(notification: Notification, sent: Sent): Noted;
  /** Called when a notification has ended, once that is on disk. */
  onEnd(notification: Notification): void;
}

/** The note of an attempt. */
export interface Noted {
  writes?: Write[];
  /** Called once these are stored. */
  onStored?(): void;
}

/** A notification as it is to be stored, and what is stored with it. */
interface Changed extends Noted {
  notification: Notification;
}

/** Sends notifications. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #turns = new Turns(UNDER_WAY_MAX, OF_NOTIFIER_MAX);
  readonly #stop = new AbortController();
  /** The notifiers of the notifications that have not ended. */
  readonly #open = new Map<string, string>();
  readonly #timers = new Map<string, () => void>();
  readonly #active = new Map<string, Promise<void>>();
  /** Those that have changed while an attempt was under way. */
  readonly #again = new Set<string>();
  readonly #changes = new InTurn();
  #isClosing = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Tells whether a notifier has a notification that has not ended. */
  isBusy(notifier: string): boolean {
    return this.#open.values().some((each) => each === notifier);
  }

  /** Counts the notifications of a notifier that have not ended. */
  openOf(notifier: string): number {
    return this.#open.values().filter((each) => each === notifier).toArray().length;
  }

  /** True while an attempt is under way. */
  get isSending(): boolean {
    return this.#active.size > 0;
  }

  /** Sends a notification that is on disk. Returns at once. */
  begin(id: string, notifier: string): void {
    this.#open.set(id, notifier);
    if (this.#isClosing) return;
    if (this.#active.has(id)) return void this.#again.add(id);
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    const work: Promise<void> = this.#advance(id, notifier).catch((error) => {
      if (!this.#stop.signal.aborted) {
        log.error("Cannot continue notification {notification_id}, trying again: {error}", {
          notification_id: id,
          error: messageOf(error),
        });
      }
      return TROUBLE_MS;
    }).then((wait_ms) => {
      this.#active.delete(id);
      if (this.#again.delete(id)) this.begin(id, notifier);
      else if (wait_ms !== undefined) this.#later(id, notifier, wait_ms);
      else this.#open.delete(id);
    });
    this.#active.set(id, work);
  }

  /**
   * Changes a notification after its earlier changes. Resolves when that is on disk.
   *
   * @param make returns undefined to store nothing
   * @returns the notification as it is then; undefined when there is none
   */
  change(
    id: string,
    make: (current: Notification) => Changed | undefined,
  ): Promise<Notification | undefined> {
    return this.#changes.run(id, async () => {
      const { store } = this.#parts;
      const current = await getNotification(store, id);
      const changed = current && make(current);
      if (changed === undefined) return current;
      const { notification, writes = [] } = changed;
      await store.committer.write([...notificationWrites(notification), ...writes]);
      changed.onStored?.();
      return notification;
    });
  }

  /** Stores a notification that cannot be sent. */
  async refuse(notification: Notification, reason: string): Promise<void> {
    const { store, clock, noteAttempt, onEnd } = this.#parts;
    const ended_at = timeText(clock.now());
    const ended: Notification = { ...notification, status: "failed", ended_at, reason };
    const { writes = [], onStored } = noteAttempt(ended, failed(reason));
    await store.committer.write([...notificationWrites(ended), ...writes]);
    onStored?.();
    log.warn("Notification {notification_id} of {notifier} is not sent: {reason}", {
      notification_id: ended.id,
      notifier: ended.notifier,
      reason,
    });
    onEnd(ended);
  }

  /** Begins nothing more. What is under way may end until the deadline. */
  async close(deadline_ms: number): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#timers.values()) cancel();
    await within(this.#parts.clock, deadline_ms, Promise.all(this.#active.values()));
    this.#stop.abort();
    await Promise.all(this.#active.values());
  }

  /** Does what is due. Returns the time until the next step; undefined when there is none. */
  async #advance(id: string, notifier: string): Promise<number | undefined> {
    const { store, clock } = this.#parts;
    const endTurn = await this.#turns.take(notifier);
    try {
      if (this.#isClosing) return undefined;
      const notification = await getNotification(store, id);
      if (notification === undefined || hasNotificationEnded(notification.status)) return undefined;
      const { next_at } = notification;
      const wait_ms = next_at === undefined ? 0 : Date.parse(next_at) - clock.now();
      // No pause is longer: the clock was set back.
      if (wait_ms > 0 && wait_ms <= ASKED_MAX_MS) return wait_ms;
      return await this.#attempt(id);
    } finally {
      endTurn();
    }
  }

  async #attempt(id: string): Promise<number | undefined> {
    const { noteAttempt, onEnd } = this.#parts;
    const begun = await this.change(
      id,
      (each) =>
        hasNotificationEnded(each.status)
          ? undefined
          : { notification: { ...each, attempts: each.attempts + 1 } },
    );
    if (begun === undefined || hasNotificationEnded(begun.status)) return undefined;
    const sent = await this.#send(begun);
    let wait_ms: number | undefined;
    const next = await this.change(id, (current) => {
      const after = this.#after(current, begun, sent);
      wait_ms = after.wait_ms;
      return { notification: after.notification, ...noteAttempt(begun, sent) };
    });
    if (next === undefined) return undefined;
    const { id: notification_id, notifier, attempts, reason } = next;
    const details = { notification_id, notifier, attempts, reason };
    if (sent.isSent) log.info("Notification {notification_id} of {notifier} is sent", details);
    else {
      log.warn("Notification {notification_id} of {notifier} is not sent: {reason}", {
        ...details,
        reason: sent.reason,
      });
    }
    if (wait_ms === undefined) onEnd(next);
    return wait_ms;
  }

  /** Returns a notification as it is after an attempt, and the pause before the next one, if any. */
  #after(
    current: Notification,
    begun: Notification,
    sent: Sent,
  ): { notification: Notification; wait_ms: number | undefined } {
    // Another state was to be told meanwhile.
    if (!isDeepStrictEqual(current.commit, begun.commit)) {
      return { notification: current, wait_ms: 0 };
    }
    const now_ms = this.#parts.clock.now();
    const { next_at: _next, reason: _reason, ...rest } = current;
    const ended_at = timeText(now_ms);
    if (sent.isSent) {
      return { notification: { ...rest, status: "sent", ended_at }, wait_ms: undefined };
    }
    const reason = sent.reason.slice(0, REASON_LENGTH_MAX);
    const own_ms = PAUSE_MS * 2 ** Math.min(begun.attempts - 1, 20);
    const asked_ms = Math.min(sent.wait_ms ?? 0, ASKED_MAX_MS);
    const wait_ms = Math.max(Math.min(own_ms, PAUSE_MAX_MS), asked_ms);
    const since_ms = Date.parse(begun.commit?.since ?? begun.created_at);
    const isLast = begun.is_test || sent.isFinal || now_ms + wait_ms > since_ms + TRYING_MS ||
      this.#parts.notifierOf(begun.notifier) === undefined;
    if (isLast) {
      return { notification: { ...rest, status: "failed", ended_at, reason }, wait_ms: undefined };
    }
    return { notification: { ...rest, reason, next_at: timeText(now_ms + wait_ms) }, wait_ms };
  }

  async #send(notification: Notification): Promise<Sent> {
    const { clock, network, notifierOf, reveal } = this.#parts;
    const notifier = notifierOf(notification.notifier);
    if (notifier === undefined) return failed("Its notifier was removed");
    const kind = targetKind(notifier.to.type);
    if (kind === undefined) return failed(`This version knows no ${notifier.to.type}`);
    const { signal } = this.#stop;
    const secretOf = (secret: string) => reveal(secret, notifier.name);
    try {
      if (!("request" in kind)) {
        const parts = { clock, network, reveal: secretOf, signal, timeout_ms: TIMEOUT_MS };
        return await kind.send(notification, notifier.to, parts);
      }
      const plan = {
        ...kind.request(notification, notifier.to, secretOf),
        timeout_ms: TIMEOUT_MS,
      };
      const { id } = notification;
      const outcome = await sendRequest(
        { id, trigger_id: notifier.name },
        plan,
        { clock, network, reveal: secretOf },
        {
          left_ms: TIMEOUT_MS,
          signal,
          followsRedirects: false,
          setting: "to.private_networks of the notifier",
        },
      );
      if ("failure" in outcome) return failed(`It cannot be sent: ${outcome.failure}`);
      const { status, wait_ms } = outcome;
      if (status >= 200 && status <= 299) return { isSent: true };
      const judged = kind.judge?.(notification, {
        status,
        text: () => new TextDecoder().decode(outcome.body),
      });
      if (judged !== undefined) return judged.isSent ? judged : { wait_ms, ...judged };
      const more = status >= 300 && status <= 399 ? ": redirects are not followed" : "";
      return { ...failed(`It was answered with the status ${status}${more}`), wait_ms };
    } catch (error) {
      signal.throwIfAborted();
      return failed(`It cannot be sent: ${messageOf(error)}`);
    }
  }

  #later(id: string, notifier: string, delay_ms: number): void {
    if (this.#isClosing) return;
    const cancel = this.#parts.clock.after(delay_ms, () => {
      this.#timers.delete(id);
      this.begin(id, notifier);
    });
    this.#timers.set(id, cancel);
  }
}

function failed(reason: string): Extract<Sent, { isSent: false }> {
  return { isSent: false, reason };
}
