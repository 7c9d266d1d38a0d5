/**
 * `/api/v0/attention/`: failures and warnings of set-ups. `/api/v0/triggers/<id>/warnings/<warning>/dismissal/`: their end.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { type Cause, CAUSE_CODES, CAUSE_GROUPS, SUBJECT_KINDS } from "../../attention/cause.ts";
import { serviceCauses } from "../../attention/service_causes.ts";
import { setupCauses, triggerCauses } from "../../attention/trigger_causes.ts";
import { NotFoundError } from "../../platform/errors.ts";
import { putDismissal, removeDismissal } from "../../store/records/dismissals.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import { answer, input, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import { authorOf } from "./origins.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { attentionQuery, triggerIdOf } from "./queries.ts";
import type { Records } from "./records.ts";

/** The triggers that one request looks at: `next` goes on with those behind them. */
const TRIGGERS_MAX = 200;
const REASON_LENGTH_MAX = 1_000;

const author = z.object({ name: text, id: text.exactOptional() });

const cause = answer<Cause>()(
  "Cause",
  z.object({
    id: text.describe(
      "Stays the same as long as the cause lasts; that of a warning is another one when what it says changes",
    ),
    code: z.enum(CAUSE_CODES),
    group: z.enum(CAUSE_GROUPS).describe(
      "`failure`: something fails; `setup`: a weakness of a setting, or of how a trigger is set up, which can be dismissed",
    ),
    subject: z.object({
      kind: z.enum(SUBJECT_KINDS),
      name: text.describe(
        "The name of the trigger or project, the type of the engine, or the address of the instance",
      ),
      id: text.exactOptional().describe("The id of a trigger"),
      project: text.exactOptional().describe("The project of a trigger"),
    }),
    since: time.describe(
      "The first failure since it last worked, the first hour of the last 24 with a failure, or the last save " +
        "of the trigger",
    ),
    text: text.describe("What is wrong"),
    advice: text.describe("What to do"),
    pointers: z.array(text).exactOptional().describe(
      "Of a warning: JSON Pointers to the parts of the trigger that are meant",
    ),
    dismissed: z.object({ reason: text, author, time }).exactOptional(),
  }),
);

const dismissalSchema = z.strictObject({
  reason: z.string().min(1).max(REASON_LENGTH_MAX).regex(/\S/, {
    error: "Expected a reason: found a blank text",
  }).describe(
    "Why the warning needs no attention: others read it",
  ),
});

type Query = z.output<typeof attentionQuery>;

/** The operations that list causes, and dismiss warnings. */
export const attentionOperations = [
  operation({
    id: "listAttention",
    method: "get",
    answeredBy: "leader",
    path: "/attention/",
    summary: "List what needs attention: what fails, and warnings of how triggers are set up",
    description:
      "Failures of the service, its instances, its engines and its projects, and settings without which less works, come first, then each trigger's failures and warnings, " +
      "oldest trigger first. A page looks at 200 triggers at most, and may hold fewer than `limit`: follow `next` to " +
      "the end. Warnings that were dismissed are left out; `dismissed` lists them instead.",
    query: attentionQuery,
    answers: { 200: { schema: page(cause) } },
    async perform({ api, records, context, query }) {
      const { results, next } = await readPage(api, records, query);
      return pageAnswer(context, api.baseUrl(), results, next);
    },
  }),
  operation({
    id: "dismissWarning",
    method: "put",
    path: "/triggers/{id}/warnings/{warning}/dismissal/",
    summary: "Dismiss a warning of a trigger, with a reason",
    description:
      "The id of the warning comes from `/attention/`. The warning comes back when what it says changes. The audit log " +
      "has who dismissed it and why.",
    body: {
      schema: input("Dismissal", dismissalSchema),
      examples: {
        "A URL that only our own network reaches": { reason: "Reached from 10.0.0.0/8 alone" },
      },
    },
    answers: { 200: { schema: cause } },
    async perform({ api, context, params: { id, warning }, body }) {
      const { reason } = parseInput(dismissalSchema, body, "the dismissal");
      const trigger = await found("trigger", id, api.triggers.get(id));
      const all = await setupCauses(trigger, api);
      const cause = warningIn(all, warning);
      const { name, id: author } = authorOf(context);
      const dismissed = {
        reason,
        author: { name, ...(author !== undefined && { id: author }) },
        time: new Date(api.clock.now()).toISOString(),
      };
      const current = new Set(all.map((each) => each.id));
      await putDismissal(api.store, id, { id: warning, text: cause.text, ...dismissed }, current);
      return context.json({ ...cause, dismissed });
    },
  }),
  operation({
    id: "restoreWarning",
    method: "delete",
    path: "/triggers/{id}/warnings/{warning}/dismissal/",
    summary: "Bring a dismissed warning back",
    answers: { 204: {} },
    async perform({ api, context, params: { id, warning } }) {
      const trigger = await found("trigger", id, api.triggers.get(id));
      const { dismissed } = warningIn(await setupCauses(trigger, api), warning);
      if (dismissed === undefined) {
        throw new NotFoundError(`The warning ${warning} is not dismissed`);
      }
      await removeDismissal(api.store, id, warning);
      return context.body(null, STATUS_CODE.NoContent);
    },
  }),
];

/** @throws {NotFoundError} when the trigger has no such warning now */
function warningIn(causes: readonly Cause[], id: string): Cause {
  const cause = causes.find((each) => each.id === id);
  if (cause !== undefined) return cause;
  throw new NotFoundError(`The trigger has no warning ${id} now: attention/ lists what it has`);
}

/** A cause, with the place behind it. */
interface Step {
  cause: Cause | undefined;
  place: string;
}

async function readPage(
  api: Operator,
  records: Pick<Records, "countedSince_ms">,
  query: Query,
): Promise<{ results: Cause[]; next: string | undefined }> {
  const { limit, cursor, group, code, project, dismissed: isDismissed } = query;
  const triggerId = await triggerIdOf(api.store, query.trigger);
  const isWanted = (cause: Cause) =>
    (cause.dismissed !== undefined) === isDismissed &&
    (group === undefined || cause.group === group) &&
    (code === undefined || cause.code === code) &&
    (project === undefined || projectOf(cause) === project);
  const results: Cause[] = [];
  let looked = 0;
  let before = cursor;
  for await (const { cause, place } of stepsFrom(api, records, { cursor, triggerId })) {
    if (cause === undefined) {
      if (looked++ === TRIGGERS_MAX) return { results, next: before };
    } else if (isWanted(cause)) {
      if (results.length === limit) return { results, next: before };
      results.push(cause);
    }
    before = place;
  }
  return { results, next: undefined };
}

function projectOf({ subject: { kind, name, project } }: Cause): string | undefined {
  return kind === "project" ? name : project;
}

/** Goes through all causes from a place on: first those of no trigger, then each trigger and its causes. */
async function* stepsFrom(
  api: Operator,
  records: Pick<Records, "countedSince_ms">,
  { cursor = ".0", triggerId }: { cursor: string | undefined; triggerId: string | undefined },
): AsyncGenerator<Step> {
  const [at = "", told = ""] = cursor.split(".");
  if (at === "" && triggerId === undefined) {
    // Those of schedules come with their triggers.
    const causes = (await serviceCauses(api)).filter(({ subject }) => subject.kind !== "trigger");
    yield* stepsOf("", causes, Number(told));
  }
  for await (const trigger of triggersFrom(api, triggerId ?? at, triggerId !== undefined)) {
    const { id } = trigger;
    const skipped = id === at ? Number(told) : 0;
    yield { cause: undefined, place: `${id}.${skipped}` };
    const causes = await triggerCauses(trigger, api, await records.countedSince_ms(id));
    yield* stepsOf(id, causes, skipped);
  }
}

function* stepsOf(id: string, causes: readonly Cause[], skipped: number): Generator<Step> {
  for (const [index, cause] of causes.entries()) {
    if (index >= skipped) yield { cause, place: `${id}.${index + 1}` };
  }
}

/** Reads the triggers from one on, oldest first. */
async function* triggersFrom(
  { triggers }: Pick<Operator, "triggers">,
  id: string,
  isOnly: boolean,
): AsyncGenerator<Trigger> {
  const first = id === "" ? undefined : await triggers.get(id);
  if (first !== undefined) yield first;
  if (isOnly) return;
  for (let after: string | undefined = id || undefined;;) {
    const { records, next } = await triggers.list({ after, limit: TRIGGERS_MAX });
    yield* records;
    if (next === undefined) return;
    after = next;
  }
}
