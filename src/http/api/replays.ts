/**
 * `/api/v0/replays/`: launching many runs again.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { InvalidInputError, prefixed } from "../../platform/errors.ts";
import { type FoundDelivery, searchDeliveries } from "../../store/records/deliveries.ts";
import { getReplay, listReplays, type Replay, REPLAY_STATES } from "../../store/records/replays.ts";
import { hasSuccess, REPLAY_DELIVERIES_MAX } from "../../triggers/replays.ts";
import { delivery } from "./deliveries.ts";
import { outcomeDifferences } from "./outcomes.ts";
import { type ReplayResult, replayResults } from "./replay_results.ts";
import { answer, count, input, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { authorOf } from "./origins.ts";
import { operation } from "./operation.ts";
import { searchable } from "../../triggers/shown_body.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { idQuery, replayFilter, triggerIdOf } from "./queries.ts";
import { pendingOf } from "./unended_runs.ts";

const RATE_MAX = 1_000;
const PAGE_SIZE = 200;
const BODY_BYTES_MAX = 64 * 1024;

/** A replay, as the API shows it. */
export interface ShownReplay extends Omit<Replay, "body" | "created_by"> {
  /** The name of the operator's token; absent in those of earlier versions. */
  created_by?: string;
  /** Its runs get another payload than their own. */
  has_body?: true;
}

/** The number of deliveries that a replay would launch again. */
export interface DryRun {
  state: "dry_run";
  count: number;
  /** Set when the count was cut short. */
  has_more?: true;
}

const replaySchema = answer<ShownReplay>()(
  "Replay",
  z.object({
    id: text,
    state: z.enum(REPLAY_STATES),
    created_by: text.exactOptional().describe("The name of the token of the operator who began it"),
    created_at: time,
    ended_at: time.exactOptional(),
    filter: z.record(text, text),
    rate: z.number().describe("Launches a second at most"),
    only_without_success: z.boolean(),
    commit: text.exactOptional(),
    has_body: z.literal(true).exactOptional().describe("Its runs get another payload"),
    count: count.describe("Deliveries to launch again"),
    done: count.describe("Of these, the ones that were launched, skipped or failed"),
    launched: count,
    skipped: count.describe("Removed or accepted meanwhile, or successful already"),
    failed: count.describe("Refused again, or not launched for another reason"),
    error: text.exactOptional().describe("The reason of the latest failure"),
  }),
);

const replayResult = answer<ReplayResult>()(
  "ReplayResult",
  z.object({
    before: delivery.describe("The delivery as it came, and what came of it then"),
    after: delivery.exactOptional().describe(
      "Its launch by this replay; absent where there is none",
    ),
    differences: outcomeDifferences,
  }),
);

const dryRun = answer<DryRun>()(
  "ReplayDryRun",
  z.object({
    state: z.literal("dry_run"),
    count,
    has_more: z.literal(true).exactOptional().describe(
      "The count was cut short: there may be more",
    ),
  }),
);

const replayInput = input(
  "ReplayInput",
  z.strictObject({
    filter: replayFilter.describe("The deliveries to launch again, as for the list"),
    dry_run: z.boolean().default(false).describe("Count them, and launch nothing"),
    briefly: z.boolean().default(false)
      .describe("With dry_run: count for a moment, from the newest one on"),
    rate: z.number().positive().max(RATE_MAX).default(10).describe("Launches a second at most"),
    only_without_success: z.boolean().default(false)
      .describe("Leave out those of which a run and its executions have completed"),
    commit: z.string().min(1).max(256).exactOptional()
      .describe("The commit that the actions run at, in place of their own"),
    body: z.base64().max(Math.ceil(BODY_BYTES_MAX / 3) * 4).exactOptional()
      .describe("The payload of every launch, in place of the run's own; at most 64 KiB"),
  }),
);

/** The operations below `/replays/`. */
export const replayOperations = [
  operation({
    id: "createReplay",
    method: "post",
    path: "/replays/",
    scope: "operate",
    summary: "Launch many deliveries again",
    description:
      "Oldest first, with each trigger's actions and rate limits as they are now. Earlier replays are left " +
      "out. A launch " +
      "that finds its quota used up waits for it. Refused and filtered requests that are kept are checked " +
      "again by the trigger's conditions as they are now, at the time at which they came.",
    body: {
      schema: replayInput,
      examples: {
        "Count first": {
          filter: { trigger: "retrain", from: "2026-11-01T00:00:00Z" },
          dry_run: true,
        },
        "What was refused, once the secret is mended": {
          filter: { trigger: "retrain", outcome: "refused", condition: "hmac" },
        },
        "What is dead, once its cause is mended": { filter: { trigger: "retrain", dead: true } },
        "What has not succeeded, at another commit": {
          filter: { trigger: "retrain" },
          only_without_success: true,
          commit: "fix-42",
        },
      },
    },
    answers: {
      200: { description: "A dry run", schema: dryRun },
      201: { schema: replaySchema, headers: { Location: "The address of the new replay" } },
    },
    async perform({ api, context, body: sent }) {
      const { dry_run, briefly, filter, body, commit, ...rest } = parseInput(
        replayInput,
        sent,
        "the replay",
      );
      const { ids, isWhole } = await deliveriesOf(api, filter, {
        isBrief: dry_run && briefly,
        // A replay that runs looks at each delivery when its turn comes.
        leavesOutSuccess: dry_run && rest.only_without_success,
      });
      if (dry_run) {
        const counted: DryRun = { state: "dry_run", count: ids.length };
        return context.json(isWhole ? counted : { ...counted, has_more: true });
      }
      const made = await api.replays.create({
        created_by: authorOf(context),
        ...rest,
        filter: shownFilter(filter),
        ...(commit !== undefined && { commit }),
        ...(body !== undefined && { body: Uint8Array.fromBase64(body) }),
      }, ids);
      return context.json(shown(made), STATUS_CODE.Created, {
        location: `${api.baseUrl()}/api/v0/replays/${made.id}/`,
      });
    },
  }),
  operation({
    id: "listReplays",
    method: "get",
    path: "/replays/",
    summary: "List the replays, newest first",
    query: idQuery,
    answers: { 200: { schema: page(replaySchema) } },
    async perform({ api, context, query: { limit, cursor } }) {
      const { records, next } = await listReplays(api.store, { before: cursor, limit });
      return pageAnswer(context, api.baseUrl(), records.map(shown), next);
    },
  }),
  operation({
    id: "getReplay",
    method: "get",
    path: "/replays/{id}/",
    summary: "Read how far a replay is",
    answers: { 200: { schema: replaySchema } },
    async perform({ api, context, params: { id } }) {
      return context.json(shown(await found("replay", id, getReplay(api.store, id))));
    },
  }),
  operation({
    id: "listReplayResults",
    method: "get",
    path: "/replays/{id}/results/",
    summary: "Compare the deliveries of a replay with what came of them this time, oldest first",
    query: idQuery,
    answers: { 200: { schema: page(replayResult) } },
    async perform({ api, context, params: { id }, query: { limit, cursor } }) {
      const replay = await found("replay", id, getReplay(api.store, id));
      const { results, next } = await replayResults(api, replay, { after: cursor, limit });
      return pageAnswer(context, api.baseUrl(), results, next);
    },
  }),
  operation({
    id: "stopReplay",
    method: "post",
    path: "/replays/{id}/stop/",
    scope: "operate",
    summary: "Stop a replay",
    description: "Runs that it has launched go on.",
    answers: { 200: { schema: replaySchema } },
    async perform({ api, context, params: { id } }) {
      return context.json(shown(await found("replay", id, api.replays.stop(id))));
    },
  }),
];

/**
 * Finds the deliveries that a filter wants and that can be launched again, oldest first.
 *
 * @param isBrief only the newest of them, as many as a moment is enough for
 * @param leavesOutSuccess leaves out those that have succeeded by now
 */
async function deliveriesOf(
  api: Operator,
  { trigger, from, to, outcome = "accepted", ...filter }: z.output<typeof replayFilter>,
  { isBrief, leavesOutSuccess }: { isBrief: boolean; leavesOutSuccess: boolean },
): Promise<{ ids: string[]; isWhole: boolean }> {
  const { store, triggerLog, triggers } = api;
  await triggerLog.flush().catch(() => {});
  const wanted = {
    ...filter,
    outcome,
    trigger_id: await triggerIdOf(store, trigger).catch((error) => {
      if (!(error instanceof InvalidInputError)) throw error;
      throw new InvalidInputError("the replay", prefixed("/filter", error.problems));
    }),
    from_ms: from,
    to_ms: to,
  };
  const ids: string[] = [];
  let found = 0;
  let before: string | undefined;
  const pending = wanted.trigger_id && pendingOf(api, wanted.trigger_id);
  for (;;) {
    const { records, next } = await searchDeliveries(store, {
      shown: searchable({ triggers, store }),
      filter: wanted,
      limit: PAGE_SIZE,
      before,
      ...(pending && { pending }),
    });
    const replayable = records.filter(isReplayable);
    const succeeded = leavesOutSuccess
      ? await Promise.all(replayable.map((each) => hasSuccess(store, each)))
      : [];
    ids.push(...replayable.filter((_, index) => !succeeded[index]).map(idOf));
    found += replayable.length;
    if (found > REPLAY_DELIVERIES_MAX) {
      const detail =
        `Expected a filter that finds at most ${REPLAY_DELIVERIES_MAX} deliveries: narrow it`;
      throw new InvalidInputError("the replay", [{ pointer: "/filter", detail }]);
    }
    if (next === undefined || isBrief) return { ids: ids.reverse(), isWhole: next === undefined };
    before = next;
  }
}

/** Returns true for a delivery that its sender made, where its payload or its request is kept. */
function isReplayable(found: FoundDelivery): boolean {
  // A replay of replays would launch each payload once more for every replay before.
  if ("run" in found) return found.run.replay_of === undefined;
  const { entry } = found;
  return entry.kind === "refused" && entry.kept_until !== undefined;
}

function idOf(found: FoundDelivery): string {
  return "run" in found ? found.run.id : found.entry.id;
}

/** A filter as it was sent: the fields that it has, as text. */
function shownFilter(
  { from, to, dead, ...rest }: z.output<typeof replayFilter>,
): Record<string, string> {
  const texts = {
    ...rest,
    dead: dead === true ? "true" : undefined,
    from: from === undefined ? undefined : new Date(from).toISOString(),
    to: to === undefined ? undefined : new Date(to).toISOString(),
  };
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
}

function shown({ body, created_by, ...replay }: Replay): ShownReplay {
  return {
    ...replay,
    ...(created_by !== undefined && { created_by: created_by.name }),
    ...(body !== undefined && { has_body: true }),
  };
}
