/**
 * Trying actions out: `POST /api/v0/triggers/<id>/try-actions/`.
 *
 * @module
 */
import { z } from "zod";
import { actionSchema } from "../../actions/mod.ts";
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { ID_PATTERN, newId } from "../../platform/ids.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { getProject } from "../../store/records/projects.ts";
import type { RecentRequest } from "../../triggers/recent_requests.ts";
import { reviewActions } from "../../triggers/review.ts";
import { type TriedActions, type TriedLaunch, tryActions } from "../../triggers/try_actions.ts";
import { answer, input, text } from "./answer.ts";
import type { Api } from "./api.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Records } from "./records.ts";
import {
  type OfDelivery,
  ofDelivery,
  ofDeliverySchema,
  REQUEST_BYTES_MAX,
  REQUESTS_MAX,
  requestsOrDeliveries,
  sentRequests,
} from "./tried_request.ts";

const file = z.object({
  name: text,
  url: text.exactOptional(),
  from: z.enum(["payload", "edge"]).exactOptional(),
});

const execution = z.object({
  node: text.exactOptional().describe("Its node, where it is one of a pipeline"),
  step: text,
  commit: text,
  title: text,
  parameters: z.array(z.object({
    name: text,
    type: text.describe("Such as `integer`, or `list of string`"),
    value: z.unknown(),
  })),
  inputs: z.record(text, z.array(file)),
  environment: z.record(text, text),
  metadata: z.record(text, z.unknown()),
});

const httpRequest = z.object({
  method: text,
  url: text,
  headers: z.record(text, text).describe("Secrets are masked; without those of the signature"),
  body: text.exactOptional(),
  sign: text.exactOptional().describe("The preset whose signature it would have"),
});

const results = answer<ActionsTry>()(
  "ActionsTry",
  z.object({
    results: z.array(z.object({
      ...ofDeliverySchema,
      not_tried: text.exactOptional().describe("Why no action was tried on it"),
      actions: z.array(z.object({
        action: text,
        skipped: text.exactOptional().describe("Why it would be skipped"),
        error: text.exactOptional().describe("Why it would fail"),
        pipeline: text.exactOptional(),
        executions: z.array(execution).exactOptional().describe(
          "What it would launch; of a pipeline each node, without what edges bring",
        ),
        http_request: httpRequest.exactOptional().describe("What it would send"),
      })).describe("In the order of the actions"),
    })).describe("In the order of the requests; deliveries are newest first"),
  }),
);

const body = input(
  "ActionsTryInput",
  z.strictObject({
    actions: z.array(actionSchema).max(100).optional().describe(
      "Actions in place of the trigger's own",
    ),
    requests: requestsOrDeliveries,
    delivery_id: z.string().regex(ID_PATTERN).optional().describe(
      "A delivery of the trigger in their place",
    ),
  }),
);

/** The operation that tries actions out. */
export const tryActionsOperations = [
  operation({
    id: "tryTriggerActions",
    method: "post",
    path: "/triggers/{id}/try-actions/",
    scope: "operate",
    isTrial: true,
    summary: "Show what actions would launch for the newest requests of a trigger",
    description:
      "Launches, stores, fetches and counts nothing. Conditions are not checked. Of the trigger's deliveries, " +
      "accepted ones are tried, and filtered ones that are kept (`keep_refused`), without their credentials. " +
      "No further request is tried after 2 s, and none with a body of more than 1 MiB.",
    body: {
      schema: body,
      limit_bytes: REQUEST_BYTES_MAX,
      examples: {
        "The trigger's own actions, on its newest deliveries": {},
        "Another action, on a request": {
          actions: [{ type: "run_execution", step: "train", parameters: { ref: "{body.ref}" } }],
          requests: [{
            headers: { "content-type": "application/json" },
            body: '{"ref":"refs/heads/main"}',
          }],
        },
      },
    },
    answers: { 200: { schema: results } },
    async perform({ api, records, context, params: { id }, body: sent }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      const { trigger } = prepared;
      const { actions = trigger.actions, requests, delivery_id } = readInput(sent);
      await records.requireSources(actions, trigger.actions);
      const project = await getProject(api.store, trigger.project);
      if (project === undefined) {
        throw new ConflictError(
          `Cannot try the actions of trigger "${trigger.name}": there is no project "${trigger.project}"`,
        );
      }
      const stored = requests === undefined
        ? await storedRequests(records, trigger.id, delivery_id)
        : [];
      const launches = requests === undefined
        ? stored.map((request): TriedLaunch => ({ ...request, runId: request.id }))
        : sentRequests(requests, api, trigger.id)
          .map((request): TriedLaunch => ({ ...request, runId: newId(api.clock.now()) }));
      const tried = await tryActions(actions, prepared, launches, partsOf(api, project));
      return context.json({
        results: tried.map((each, index) => ({ ...ofDelivery(stored[index]), ...each })),
      });
    },
  }),
];

/** The actions of a trigger on one stored or sent request. */
export interface TriedRun extends TriedActions, OfDelivery {}

/** The answer of the operation. */
export interface ActionsTry {
  results: TriedRun[];
}

function readInput(sent: unknown): z.output<typeof body> {
  const read = parseInput(body, sent, "the actions to try");
  if (read.requests !== undefined && read.delivery_id !== undefined) {
    const detail = "Expected either requests or a delivery, found both";
    throw new InvalidInputError("the actions to try", [{ pointer: "/delivery_id", detail }]);
  }
  reviewActions(read.actions ?? [], "the actions to try");
  return read;
}

function partsOf(
  { projects, store, heavyWork, baseUrl }: Api,
  project: Parameters<typeof tryActions>[3]["project"],
) {
  return { projects, store, heavyWork, baseUrl, project };
}

/** @throws {ConflictError} when the delivery is not kept */
async function storedRequests(
  records: Records,
  triggerId: string,
  deliveryId: string | undefined,
): Promise<RecentRequest[]> {
  if (deliveryId === undefined) return await records.recentRequests(triggerId, REQUESTS_MAX);
  const request = await records.storedRequest(triggerId, deliveryId);
  if (request !== undefined) return [request];
  throw new ConflictError(
    `Cannot try actions on delivery ${deliveryId}: the trigger has no request of it that is kept`,
  );
}
