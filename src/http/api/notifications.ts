/**
 * `/api/v0/notifications/`: what notifiers have told, and whether it has arrived.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError } from "../../platform/errors.ts";
import { COMMIT_STATES } from "../../store/records/commit_statuses.ts";
import {
  getNotification,
  hasNotificationEnded,
  listNotifications,
  type Notification,
  NOTIFICATION_STATUSES,
  TOLD_STATES,
} from "../../store/records/notifications.ts";
import { getNotifier } from "../../store/records/notifiers.ts";
import { answer, count, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { notificationQuery } from "./queries.ts";

/** The notifications that one request looks at: `next` goes on behind them. */
const LOOKED_MAX = 1_000;

const cause = z.object({
  id: text,
  code: text,
  state: z.enum(TOLD_STATES),
  subject: z.object({
    kind: text,
    name: text,
    id: text.exactOptional().describe("The id of a trigger"),
    project: text.exactOptional().describe("The project of a trigger"),
  }),
  since: time,
  ended_at: time.exactOptional(),
  count: count.describe("The failures since it began"),
  text,
  advice: text,
  url: text.describe("The page that shows it"),
  run_id: text.exactOptional(),
  execution_id: text.exactOptional(),
  pipeline_id: text.exactOptional(),
  payload: text.exactOptional().describe(
    "The beginning of the payload of the run, where the notifier includes it",
  ),
});

/** The schema of a notification. */
export const notification = answer<Notification>()(
  "Notification",
  z.object({
    id: text.describe("Also the id of the message that is sent: it stays the same in each attempt"),
    notifier: text,
    status: z.enum(NOTIFICATION_STATUSES).describe(
      "`pending` until it has arrived, or a day is over",
    ),
    created_at: time,
    ended_at: time.exactOptional(),
    attempts: count,
    next_at: time.exactOptional().describe("The next attempt"),
    reason: text.exactOptional().describe("Why the last attempt has failed"),
    title: text,
    text,
    causes: z.array(cause),
    commit: z.object({
      repository: text.describe("As its host names it"),
      sha: text,
      context: text.describe("The name of the status"),
      description: text.exactOptional().describe("The owner's words; absent for the usual ones"),
      state: z.enum(COMMIT_STATES),
      run_id: text.describe("The newest run that is about this commit"),
      since: time.describe("The time from which it has this state"),
      url: text.describe("The page of the run"),
    }).exactOptional().describe("The status of a commit that it sets, as it is now"),
    more: count.exactOptional().describe("Causes that are not listed"),
    is_test: z.literal(true).exactOptional(),
    resend_of: text.exactOptional().describe("The notification that it sends again"),
  }),
);

/** The operations below `/notifications/`. */
export const notificationOperations = [
  operation({
    id: "listNotifications",
    method: "get",
    path: "/notifications/",
    summary: "List notifications, newest first",
    description:
      "A page looks at 1,000 notifications at most, and may hold fewer than `limit`: follow `next` to the end.",
    query: notificationQuery,
    answers: { 200: { schema: page(notification) } },
    async perform({ api, context, query: { limit, cursor, notifier, status } }) {
      const results: Notification[] = [];
      let before = cursor;
      let looked = 0;
      do {
        const wanted = { before, limit: limit - results.length };
        const { records, next } = await listNotifications(api.store, wanted);
        looked += wanted.limit;
        results.push(
          ...records.filter((each) =>
            (notifier === undefined || each.notifier === notifier) &&
            (status === undefined || each.status === status)
          ),
        );
        before = next;
      } while (before !== undefined && results.length < limit && looked < LOOKED_MAX);
      return pageAnswer(context, api.baseUrl(), results, before);
    },
  }),
  operation({
    id: "getNotification",
    method: "get",
    path: "/notifications/{id}/",
    summary: "Read a notification",
    answers: { 200: { schema: notification } },
    async perform({ api, context, params: { id } }) {
      return context.json(await existing(api, id));
    },
  }),
  operation({
    id: "resendNotification",
    method: "post",
    path: "/notifications/{id}/resend/",
    scope: "operate",
    summary: "Send a notification again",
    description:
      "A new notification says the same; the status of a commit has one alone, which is sent again. One that is still being sent is refused.",
    answers: { 202: { schema: notification } },
    async perform({ api, context, params: { id } }) {
      const before = await existing(api, id);
      if (!hasNotificationEnded(before.status)) {
        throw new ConflictError("Cannot send the notification again: it is still being sent");
      }
      if (await getNotifier(api.store, before.notifier) === undefined) {
        throw new ConflictError(
          `Cannot send the notification again: notifier "${before.notifier}" was removed`,
        );
      }
      return context.json(await api.notifications.resend(before), STATUS_CODE.Accepted);
    },
  }),
];

function existing({ store }: Operator, id: string): Promise<Notification> {
  return found("notification", id, getNotification(store, id));
}
