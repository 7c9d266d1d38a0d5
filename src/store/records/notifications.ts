/**
 * The records of notifications: messages of notifiers, and how far each is.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import {
  type Listed,
  listNewest,
  listOldestEnded,
  type OldestEnded,
  type Page,
  recordOf,
} from "../read/lists.ts";
import { scan } from "../read/scan.ts";
import { type CommitStatus, commitStatusKey } from "./commit_statuses.ts";
import { recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

/** The statuses of a notification. The last two are ends. */
export const NOTIFICATION_STATUSES = ["pending", "sent", "failed"] as const;

/** The status of a notification. */
export type NotificationStatus = typeof NOTIFICATION_STATUSES[number];

/** The thing that a cause is about. */
export interface CauseSubject {
  kind: string;
  name: string;
  /** The id of a trigger. */
  id?: string;
  /** The project of a trigger. */
  project?: string;
}

/** The states in which a notification tells of a cause. */
export const TOLD_STATES = ["began", "continues", "recovered"] as const;

/** A cause as a notification tells of it. Times are RFC 3339. */
export interface NotifiedCause {
  id: string;
  code: string;
  state: typeof TOLD_STATES[number];
  subject: CauseSubject;
  since: string;
  ended_at?: string;
  /** The failures since it began. */
  count: number;
  text: string;
  advice: string;
  /** The page that shows it. */
  url: string;
  run_id?: string;
  execution_id?: string;
  pipeline_id?: string;
  /** The beginning of the payload of the run, where the notifier includes it. */
  payload?: string;
}

/** A message of a notifier. Times are RFC 3339. */
export interface Notification {
  id: string;
  notifier: string;
  status: NotificationStatus;
  created_at: string;
  ended_at?: string;
  /** The number of times that it was sent, or was about to be. */
  attempts: number;
  next_at?: string;
  /** The reason of the last failure. */
  reason?: string;
  title: string;
  text: string;
  causes: NotifiedCause[];
  /** The status of a commit that it sets, as it is now. */
  commit?: CommitStatus;
  /** The causes that are not listed. */
  more?: number;
  is_test?: true;
  /** The notification that it sends again. */
  resend_of?: string;
}

/** Returns true for the statuses of a notification that is not sent any more. */
export function hasNotificationEnded(status: NotificationStatus): boolean {
  return status !== "pending";
}

/** The writes that store a notification and keep the list of open ones true. */
export function notificationWrites(notification: Notification): Write[] {
  const { id, notifier, status, commit } = notification;
  const open: Write = { key: keys.notificationOpen(id) };
  if (!hasNotificationEnded(status)) open.value = notifier;
  return [
    recordWrite(keys.notification(id), notification),
    open,
    ...commit ? [{ key: commitStatusKey(notifier, commit), value: id }] : [],
  ];
}

/** The writes that remove a notification. */
export function removeNotificationWrites({ id, notifier, commit }: Notification): Write[] {
  return [
    { key: keys.notificationOpen(id) },
    { key: keys.notification(id) },
    ...commit ? [{ key: commitStatusKey(notifier, commit) }] : [],
  ];
}

/** Reads a notification; undefined when there is none, or none that is whole. */
export async function getNotification(store: Store, id: string): Promise<Notification | undefined> {
  const key = keys.notification(id);
  const value = await store.reads.read(key);
  return value === null ? undefined : recordOf<Notification>({ key, value });
}

/** The ids of the notifications that have not ended, with their notifiers, oldest first. */
export async function openNotifications(
  { kv }: Store,
): Promise<{ id: string; notifier: string }[]> {
  const found: { id: string; notifier: string }[] = [];
  for await (const { key, value } of scan(kv, ["notification_open"])) {
    found.push({ id: String(key[1]), notifier: String(value) });
  }
  return found;
}

/** One page of the notifications, newest first. */
export function listNotifications(store: Store, page: Page): Promise<Listed<Notification>> {
  return listNewest<Notification>(store, ["notification"], page);
}

/** The ended ones among the oldest notifications that were made before a time. */
export function endedNotificationsMadeBefore(
  store: Store,
  before_ms: number,
  page: { after?: string | undefined; limit: number },
): Promise<OldestEnded<Notification>> {
  return listOldestEnded<Notification>(
    store,
    "notification",
    { before_ms, ...page },
    hasNotificationEnded,
  );
}
