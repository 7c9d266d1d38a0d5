/**
 * `/api/v0/executions/`: reading and stopping executions.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { NotFoundError } from "../../platform/errors.ts";
import { idTime, lowestId } from "../../platform/ids.ts";
import { engineIdOf, isDead } from "../../store/records/attempts.ts";
import type { Attempt, Retry } from "../../store/records/execution_record.ts";
import {
  datumId,
  type Execution,
  EXECUTION_STATUSES,
  getAttempt,
  getExecution,
  hasEnded,
  type InputFile,
  listExecutions,
  listOpenExecutions,
} from "../../store/records/executions.ts";
import type { Page } from "../../store/read/lists.ts";
import type { Store } from "../../store/store.ts";
import { answer, count, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { origin, withOrigin } from "./origins.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { operation } from "./operation.ts";
import { pageAnswer } from "./page_answer.ts";
import { attemptQuery, executionQuery, triggerIdOf } from "./queries.ts";
import { search } from "./search.ts";

const inputFile = answer<InputFile>()(
  "InputFile",
  z.union([
    z.object({ name: text, payload_of: text, size: count, sha256: text.exactOptional() }),
    z.object({ name: text, output_of: text, path: text, size: count, sha256: text }),
    z.object({ name: text, url: text }),
  ]),
);

const retry = answer<Retry>()(
  "Retry",
  z.object({
    attempts: count,
    first: z.number().describe("Seconds between the first attempt and the second"),
    factor: z.number().describe("Growth of the pause"),
    exit_codes: z.union([z.array(z.int()), z.literal("*")]),
  }),
);

const attempt = answer<Attempt>()(
  "Attempt",
  z.object({
    attempt: count.describe("From 1"),
    execution_id: text.describe("Its own id: that of its log and outputs at the engine"),
    status: z.enum(EXECUTION_STATUSES),
    exit_code: z.int().exactOptional(),
    started_at: time.exactOptional(),
    ended_at: time.exactOptional(),
  }),
);

const execution = answer<ShownExecution>()(
  "Execution",
  z.object({
    id: text,
    run_id: text,
    trigger_id: text,
    ...origin,
    pipeline_id: text.exactOptional(),
    pipeline_title: text.exactOptional(),
    node: text.exactOptional(),
    project: text,
    engine: z.looseObject({ type: text }).describe("The project's when it was launched"),
    commit: text,
    step: text,
    title: text,
    image: text,
    command: text,
    inputs: z.record(text, z.array(inputFile)),
    parameters: z.record(text, z.unknown()),
    environment_variables: z.record(text, text),
    secrets: z.record(
      text,
      z.object({
        name: text,
        file: z.literal(true).exactOptional().describe("The variable holds the path of a file"),
      }),
    ).exactOptional().describe("The secrets of the project that it gets, by variable"),
    resources: z.object({
      cpu: z.number().exactOptional(),
      memory: z.number().exactOptional().describe("MiB"),
      devices: z.record(text, z.number()).exactOptional().describe("Such as nvidia.com/gpu"),
    }).exactOptional(),
    mounts: z.array(z.object({
      source: text,
      destination: text,
      readonly: z.boolean().exactOptional(),
      type: text.exactOptional(),
      options: z.record(text, z.unknown()).exactOptional(),
    })).exactOptional(),
    rerun: z.literal(true).exactOptional(),
    time_limit: z.number().exactOptional().describe("Seconds"),
    no_output_timeout: z.number().exactOptional().describe("Seconds"),
    stop_condition: text.exactOptional(),
    status: z.enum(EXECUTION_STATUSES),
    waiting: text.exactOptional().describe(
      "The engine's own reason why the command has not started",
    ),
    machine: text.exactOptional().describe("The machine of the engine that the command runs on"),
    reachable: z.literal(false).exactOptional().describe(
      "Set while the engine cannot be asked: the command may run on",
    ),
    retry: retry.exactOptional().describe("The rule by which it is tried again"),
    attempt: count.exactOptional().describe(
      "The number of the attempt that this shows: the last one, unless another was asked for",
    ),
    attempts: z.array(attempt).exactOptional().describe("All attempts, in their order"),
    retry_at: time.exactOptional().describe("When the attempt begins that waits for its time"),
    dead: z.literal(true).exactOptional().describe(
      "It has a `retry` and has failed: nothing tries it again",
    ),
    created_at: time,
    started_at: time.exactOptional(),
    ended_at: time.exactOptional(),
    duration: z.number().exactOptional().describe("Seconds"),
    exit_code: z.int().exactOptional(),
    reason: text.exactOptional().describe("Why it ended as it did; absent when it is complete"),
    metadata: z.record(text, z.unknown()).describe("The latest value of each key"),
    log_removed_at: time.exactOptional().describe("When its retention has removed its log"),
    outputs_removed_at: time.exactOptional().describe("When its retention has removed its outputs"),
    outputs: z.array(z.object({
      path: text,
      size: count,
      sha256: text,
      datum_id: text.describe("datum://<datum_id> makes it an input of later executions"),
    })),
  }),
);

/** The operations below `/executions/` that read and stop executions. */
export const executionOperations = [
  operation({
    id: "listExecutions",
    method: "get",
    path: "/executions/",
    summary: "List the executions, newest first",
    description: "The executions of a pipeline stand where the pipeline was created. " +
      "With a filter, a page may hold fewer than `limit`: follow `next` to the end.",
    query: executionQuery,
    answers: { 200: { schema: page(execution) } },
    async perform({ api, context, query }) {
      const { limit, cursor, pipeline, trigger, dead, ...filters } = query;
      const trigger_id = await triggerIdOf(api.store, trigger);
      const [oldest, newest] = idsOfPipeline(pipeline);
      const before = newest !== undefined && (cursor === undefined || cursor > newest)
        ? newest
        : cursor;
      const { status } = filters;
      const read = status === undefined || hasEnded(status)
        ? (part: Page) => listExecutions(api.store, part)
        : (part: Page) => listOpenExecutions(api.store, status, part);
      const { records, next } = await search(read, {
        limit,
        cursor: before,
        filters: { ...filters, pipeline_id: pipeline, trigger_id },
        ...(dead && { matches: isDead }),
        isPast: ({ id }) => id < oldest,
      });
      const labels = new TriggerLabels(api);
      const shown = await Promise.all(records.map((each) => show(labels, each)));
      return pageAnswer(context, api.baseUrl(), shown, next);
    },
  }),
  operation({
    id: "getExecution",
    method: "get",
    path: "/executions/{id}/",
    summary: "Read an execution, or one of its attempts",
    query: attemptQuery,
    answers: { 200: { schema: execution } },
    async perform({ api, records, context, params: { id }, query: { attempt } }) {
      const shown = await show(
        new TriggerLabels(api),
        await existingAttempt(api.store, id, attempt),
      );
      return context.json(await records.withoutForeignName(shown));
    },
  }),
  operation({
    id: "stopExecution",
    method: "post",
    path: "/executions/{id}/stop/",
    scope: "operate",
    summary: "Stop an execution",
    answers: { 202: { schema: execution } },
    async perform({ api, records, context, params: { id } }) {
      const { store, engines } = api;
      await engines.stop(await existing(store, id));
      const shown = await show(new TriggerLabels(api), await existing(store, id));
      return context.json(await records.withoutForeignName(shown), STATUS_CODE.Accepted);
    },
  }),
];

/** Reads the execution of an id, or throws that there is none. */
export function existing(store: Store, id: string): Promise<Execution> {
  return found("execution", id, getExecution(store, id));
}

/**
 * Reads an attempt of the execution of an id, under this id and with all attempts.
 *
 * @param attempt its number; the last one when absent
 * @throws {NotFoundError} when there is none
 */
export async function existingAttempt(
  store: Store,
  id: string,
  attempt: number | undefined,
): Promise<Execution> {
  const execution = await existing(store, id);
  if (attempt === undefined || attempt === execution.attempt) return execution;
  const found = await getAttempt(store, execution, attempt);
  if (found === undefined) {
    const last = execution.attempts?.length ?? 1;
    throw new NotFoundError(
      `There is no attempt ${attempt} of execution ${id}: the last is ${last}`,
    );
  }
  const { attempt_of: _of, attempts = [], ...fields } = found;
  const all = execution.attempts ?? attempts;
  return { ...fields, id, attempt_id: found.id, ...(all.length > 0 && { attempts: all }) };
}

/** The range of the ids that a pipeline's executions can have: they derive from its own and carry its time. */
function idsOfPipeline(pipeline: string | undefined): [oldest: string, newest: string | undefined] {
  if (pipeline === undefined) return ["", undefined];
  return [lowestId(idTime(pipeline)), lowestId(idTime(pipeline) + 1)];
}

/** An execution as the API shows it. */
export type ShownExecution = Awaited<ReturnType<typeof show>>;

/** Leaves out what concerns the service alone, and the credentials in the URLs of inputs. */
async function show(labels: TriggerLabels, record: Execution) {
  const {
    engine_state: _state,
    traceparent: _trace,
    note: _note,
    given_metadata: _given,
    attempt_id: _attempt,
    attempt_of: _attempt_of,
    outputs,
    inputs,
    ...execution
  } = await withOrigin(labels, record);
  const shown = Object.entries(inputs).map(([name, files]): [string, InputFile[]] => [
    name,
    files.map((file) => "url" in file ? { ...file, url: withoutCredentials(file.url) } : file),
  ]);
  return {
    ...execution,
    ...(isDead(record) && { dead: true as const }),
    inputs: Object.fromEntries(shown),
    outputs: outputs.map((output) => ({
      ...output,
      datum_id: datumId(engineIdOf(record), output.path),
    })),
  };
}

function withoutCredentials(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1********@");
}
