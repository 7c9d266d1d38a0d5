/**
 * `/api/v0/runs/` and `/api/v0/triggers/<id>/runs/`: runs, their payloads, and replays.
 *
 * @module
 */
import { z } from "zod";
import { readPayload } from "../../store/records/payloads.ts";
import { isDeadRun } from "../../store/records/dead_runs.ts";
import { listRuns, listTriggerRuns } from "../../store/records/run_lists.ts";
import { getRun, type Run, RUN_STATUSES } from "../../store/records/runs.ts";
import type { Listed, Page } from "../../store/read/lists.ts";
import { expectPayload, replay, wholePayload } from "../../triggers/replay.ts";
import { maskedFieldsOfRun, shownPayload } from "../../triggers/shown_body.ts";
import { answer, count, page, text, time } from "./answer.ts";
import { found, presentOrFormer } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { answerReplay } from "./replay_answer.ts";
import { search } from "./search.ts";
import { waitingSchema, workState, workStates } from "./work_states.ts";
import { authorOf, origin, scheduleFields } from "./origins.ts";
import { type ShownRun, shownRun } from "./shown_run.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { pendingOf } from "./unended_runs.ts";
import { listQuery, runQuery, triggerIdOf } from "./queries.ts";

/** The object that an action created. */
const created = z.union([
  z.object({ execution_step: text, execution_id: text }),
  z.object({ pipeline_name: text, pipeline_id: text }),
  z.object({ url: text, http_request_id: text }),
]);

/** The schema of the names of values that a run does not keep. */
export const leftOut = z.object({ headers: z.array(text), query: z.array(text) }).describe(
  "The names of headers and parameters that were too long to keep",
);

/** The schema of {@linkcode ShownRun}. */
export const run = answer<ShownRun>()(
  "Run",
  z.object({
    id: text,
    trigger_id: text,
    ...origin,
    project: text,
    status: z.enum(RUN_STATUSES),
    created_at: time,
    ended_at: time.exactOptional(),
    remote_ip: text,
    request: z.object({
      headers: z.record(text, text).exactOptional()
        .describe("Without credentials, and without those of the connection and of the body"),
      query: text.exactOptional().describe("Without its ?, credentials masked"),
      left_out: leftOut.exactOptional(),
      status: z.int().exactOptional().describe("The status of the answer; 200 when absent"),
      masked: z.array(text).exactOptional().describe(
        "JSON Pointers to the fields of the body that carry credentials and are shown as ********",
      ),
      redacted: z.literal(true).exactOptional().describe(
        "The body was stored without its credentials: the payload is not what came",
      ),
    }).exactOptional().describe("Absent in replays"),
    delivery_id: text.exactOptional().describe("The sender's id of the delivery"),
    payload: z.object({
      size: count,
      sha256: text,
      content_type: text.exactOptional().describe("As the sender gave it; absent without one"),
      removed_at: time.exactOptional().describe("When its retention has removed it"),
    }),
    actions: z.array(z.object({
      action: text,
      created: created.exactOptional().describe(
        "Absent when the action creates nothing, or failed",
      ),
      error: text.exactOptional().describe("Absent when it did not fail"),
      skipped: text.exactOptional().describe("Why it was not performed; absent when it was"),
    })).describe("The outcome of each action, in order; empty while the run is pending"),
    replay_of: text.exactOptional().describe("The delivery whose payload was launched again"),
    replay_id: text.exactOptional().describe("The bulk replay that launched it again"),
    ...scheduleFields,
    waiting: waitingSchema.exactOptional(),
    superseded_by: text.exactOptional().describe("The run that was performed in its place"),
    skipped_by: text.exactOptional().describe(
      "The run of the same concurrency key whose work was under way, so that it was not performed",
    ),
    callback: z.literal(true).exactOptional().describe(
      "Set where its trigger has a callback, which is sent once its work has ended",
    ),
    ...workStates,
    work: workState,
  }),
);

const runPage = page(run);

/** The path of a replay, as OpenAPI documents and traces name it. */
const REPLAY_PATH = "/runs/{id}/replay/";

/** The operations of runs. */
export const runOperations = [
  operation({
    id: "listTriggerRuns",
    method: "get",
    path: "/triggers/{id}/runs/",
    summary: "List a trigger's runs, newest first",
    query: listQuery,
    answers: { 200: { schema: runPage } },
    async perform({ api, context, params: { id }, query: { limit, cursor } }) {
      await found("trigger", id, presentOrFormer(api, id));
      const { records, next } = await runsOf(api, id, { before: cursor, limit });
      return pageAnswer(context, api.baseUrl(), await allShown(api, records), next);
    },
  }),
  operation({
    id: "listRuns",
    method: "get",
    path: "/runs/",
    summary: "List the runs of all triggers, newest first",
    description: "With a filter, a page may hold fewer than `limit`: follow `next` to the end.",
    query: runQuery,
    answers: { 200: { schema: runPage } },
    async perform({ api, context, query: { limit, cursor, trigger, ...wanted } }) {
      const id = await triggerIdOf(api.store, trigger);
      const read = (part: Page) =>
        id === undefined ? listRuns(api.store, part) : runsOf(api, id, part);
      const { dead, ...filters } = wanted;
      const matches = (run: Pick<Run, "actions">) => isDeadRun(api.store, run);
      const part = { limit, cursor, ...(dead && { matches }) };
      if (filters.work === undefined) {
        const { work: _work, ...ofRuns } = filters;
        const { records, next } = await search(read, { ...part, filters: ofRuns });
        return pageAnswer(context, api.baseUrl(), await allShown(api, records), next);
      }
      const readStates = async (part: Page): Promise<Listed<ShownRun>> => {
        const { records, next } = await read(part);
        return { records: await allShown(api, records), next };
      };
      const { records, next } = await search(readStates, { ...part, filters });
      return pageAnswer(context, api.baseUrl(), records, next);
    },
  }),
  operation({
    id: "getRun",
    method: "get",
    path: "/runs/{id}/",
    summary: "Read a run",
    answers: { 200: { schema: run } },
    async perform({ api, records, context, params: { id } }) {
      const run = await found("run", id, getRun(api.store, id));
      const shown = await shownRun(api, new TriggerLabels(api), run);
      return context.json(await records.withoutForeignName(shown));
    },
  }),
  operation({
    id: "getRunPayload",
    method: "get",
    path: "/runs/{id}/payload/",
    summary: "Read a run's payload",
    description: "A credential in it is shown as `********`.",
    answers: {
      200: {
        media: { "application/octet-stream": undefined },
        headers: { "Content-Disposition": "A name for it as a file" },
      },
    },
    async perform({ api, context, params: { id } }) {
      const { store } = api;
      const run = await found("run", id, getRun(store, id));
      expectPayload(run);
      const { payload: { size, sha256 } } = run;
      const headers = (length: number) => ({
        // Never the sender's own type: a browser must not run a payload as a page of ours.
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="payload-${id}"`,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "content-length": String(length),
      });
      if ((await maskedFieldsOfRun(api, run)).length > 0) {
        const shown = await shownPayload(api, run, await wholePayload(store, run));
        return context.body(new Uint8Array(shown), 200, headers(shown.length));
      }
      const chunks = readPayload(store, id, size, sha256);
      // An error while the first chunk is read can still be answered as one.
      const first = await chunks.next();
      return context.body(ReadableStream.from(concatenated(first, chunks)), 200, headers(size));
    },
  }),
  operation({
    id: "replayRun",
    method: "post",
    path: REPLAY_PATH,
    scope: "operate",
    summary: "Launch a run's payload again",
    description: "With the trigger's actions and rate limits as they are now.",
    answers: { 201: { schema: run, headers: { Location: "The address of the new run" } } },
    async perform({ api, records, context, params: { id } }) {
      const run = await found("run", id, getRun(api.store, id));
      const asked = { api, records, context, id, path: REPLAY_PATH };
      return await answerReplay(asked, () => replay(api, run, { author: authorOf(context) }));
    },
  }),
];

function allShown(api: Operator, runs: readonly Run[]): Promise<ShownRun[]> {
  const labels = new TriggerLabels(api);
  return Promise.all(runs.map((run) => shownRun(api, labels, run)));
}

async function runsOf(api: Operator, triggerId: string, part: Page): Promise<Listed<Run>> {
  const pending = pendingOf(api, triggerId);
  return await listTriggerRuns(api.store, triggerId, { ...part, pending });
}

async function* concatenated<T>(
  first: IteratorResult<T>,
  rest: AsyncGenerator<T>,
): AsyncGenerator<T> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}
