/**
 * `/api/v0/notifiers/`: what is told to whom.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { saveNotifier } from "../../notifications/save.ts";
import { notifierSchema, parseNotifier } from "../../notifications/schema.ts";
import { notifierWarnings } from "../../notifications/warnings.ts";
import { ChangedError, InvalidInputError, type Problem } from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import {
  deleteNotifier,
  getNotifier,
  listNotifiers,
  type NotifierState,
  type StoredNotifier,
} from "../../store/records/notifiers.ts";
import { answer, count, input, page, problem, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { notification } from "./notifications.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { wholeListAnswer } from "./page_answer.ts";
import { notifierQuery, saveQuery } from "./queries.ts";
import { expectedRevisions, IF_MATCH, REVISION_HEADER, revisionHeader } from "./revisions.ts";

/** A notifier as the API shows it. */
export type ShownNotifier =
  & z.output<typeof notifierSchema>
  & Pick<StoredNotifier, "revision" | "created_at">
  & Pick<NotifierState, "failing_since" | "reason">
  & { warnings?: Problem[] };

const notifier = answer<ShownNotifier>()(
  "Notifier",
  z.strictObject({
    ...notifierSchema.shape,
    revision: count.describe("The number of times that it was saved"),
    created_at: time,
    failing_since: time.exactOptional().describe(
      "Set from the first failed attempt to tell until one succeeds",
    ),
    reason: text.exactOptional().describe("Why the last attempt has failed"),
    warnings: z.array(problem).exactOptional().describe(
      "In answers to a save: triggers, projects and secrets that are not there, and an address that is not public",
    ),
  }),
);

const notifierInput = {
  schema: input(
    "NotifierInput",
    z.strictObject({
      ...notifierSchema.shape,
      name: nameSchema.optional().describe("The name in the path; it can be left out"),
    }),
  ),
  examples: {
    "A signed webhook": {
      on: ["run_error", "execution_error", "recovered"],
      to: {
        type: "webhook",
        url: "https://ops.example.com/hooklaunch",
        sign: { preset: "standard_webhooks", secret: "{env:OPS_SECRET}" },
      },
    },
    "A status on the commit that each run is about": {
      triggers: ["retrain"],
      to: { type: "github_status", token: "{env:GITHUB_STATUS_TOKEN}" },
    },
    "Slack, when a trigger falls silent": {
      on: ["silent", "recovered"],
      triggers: ["retrain"],
      silent: "24h",
      quiet: ["sat", "sun", "20:00-08:00 Europe/Helsinki"],
      to: { type: "slack", url: "{env:SLACK_URL}" },
    },
  },
};

/** The operations below `/notifiers/`. */
export const notifierOperations = [
  operation({
    id: "listNotifiers",
    method: "get",
    answeredBy: "leader",
    path: "/notifiers/",
    summary: "List the notifiers, without their secrets",
    query: notifierQuery,
    answers: { 200: { schema: page(notifier) } },
    async perform({ api, context, query }) {
      const all = (await listNotifiers(api.store)).map((each) => shown(each, api));
      const keyOf = ({ name }: ShownNotifier) => name;
      return wholeListAnswer(context, api.baseUrl(), all, { ...query, keyOf });
    },
  }),
  operation({
    id: "getNotifier",
    method: "get",
    answeredBy: "leader",
    path: "/notifiers/{name}/",
    summary: "Read a notifier",
    answers: { 200: { schema: notifier, headers: REVISION_HEADER } },
    async perform({ api, context, params: { name } }) {
      const answer = shown(await existing(api, name), api);
      return context.json(answer, 200, revisionHeader(answer));
    },
  }),
  operation({
    id: "putNotifier",
    method: "put",
    path: "/notifiers/{name}/",
    summary: "Create or replace a notifier",
    description:
      "It tells of what happens from then on. A secret that is `********` stays as it is stored, unless it would go " +
      "to another server.",
    query: saveQuery,
    headers: IF_MATCH,
    body: notifierInput,
    answers: {
      200: { schema: notifier, headers: REVISION_HEADER },
      201: { description: "Created", schema: notifier, headers: REVISION_HEADER },
    },
    async perform({ api, context, params: { name }, query: { dry_run: isDryRun }, body }) {
      const made = parseNamed(name, body);
      const expected = expectedRevisions(context);
      const mustExist = context.req.header("if-match") !== undefined;
      const { before, after } = await api.triggers.between(async () => {
        const before = await getNotifier(api.store, name);
        expectRevision(name, before, { expected, mustExist });
        return { before, after: await saveNotifier(made, before, api, isDryRun) };
      });
      const answer = { ...shown(after, api), warnings: await notifierWarnings(after, api) };
      const status = before === undefined && !isDryRun ? STATUS_CODE.Created : STATUS_CODE.OK;
      return context.json(answer, status, revisionHeader(answer));
    },
  }),
  operation({
    id: "deleteNotifier",
    method: "delete",
    path: "/notifiers/{name}/",
    summary: "Delete a notifier",
    description: "Its notifications stay in the list. What has not been sent is not sent any more.",
    headers: IF_MATCH,
    answers: { 204: {} },
    async perform({ api, context, params: { name } }) {
      const expected = expectedRevisions(context);
      await api.triggers.between(async () => {
        const before = await existing(api, name);
        expectRevision(name, before, { expected, mustExist: true });
        await deleteNotifier(api.store, name);
        await api.notifications.changed();
      });
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
  operation({
    id: "testNotifier",
    method: "post",
    path: "/notifiers/{name}/test/",
    scope: "operate",
    summary: "Send a message that tries a notifier out",
    description: "It is sent once. The notification says how that went.",
    answers: { 202: { schema: notification } },
    async perform({ api, context, params: { name } }) {
      const made = await api.notifications.test(await existing(api, name));
      return context.json(made, STATUS_CODE.Accepted);
    },
  }),
];

function shown(
  stored: StoredNotifier,
  { notifierSecrets, notifications }: Pick<Operator, "notifierSecrets" | "notifications">,
): ShownNotifier {
  const { failing_since, reason } = notifications.stateOf(stored.name);
  // Its schema let through all that is stored.
  const masked = notifierSecrets.shown(stored) as ShownNotifier;
  return {
    ...masked,
    ...(failing_since !== undefined && { failing_since }),
    ...(reason !== undefined && { reason }),
  };
}

function existing({ store }: Operator, name: string): Promise<StoredNotifier> {
  return found("notifier", name, getNotifier(store, name));
}

/** Reads a notifier whose name is in the path, and may be in the body. */
function parseNamed(name: string, body: unknown): ReturnType<typeof parseNotifier> {
  const made = parseNotifier(isObject(body) ? { name, ...body } : body);
  if (made.name === name) return made;
  throw new InvalidInputError("the notifier", [{
    pointer: "/name",
    detail: `Expected "${name}", found "${made.name}": a notifier keeps its name`,
  }]);
}

/** @throws {ChangedError} when a notifier has none of the expected revisions */
function expectRevision(
  name: string,
  before: StoredNotifier | undefined,
  { expected, mustExist }: { expected: readonly number[] | undefined; mustExist: boolean },
): void {
  if (before === undefined && !mustExist) return;
  if (before && (expected?.includes(before.revision) ?? true)) return;
  const found = before === undefined ? "does not exist" : `has revision ${before.revision} by now`;
  throw new ChangedError(
    `Cannot change notifier "${name}": it ${found}. Read it again, and repeat the change with its ETag`,
    [],
  );
}
