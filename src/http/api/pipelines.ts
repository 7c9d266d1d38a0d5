/**
 * `/api/v0/pipelines/`: the pipelines and the states of their nodes.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { copyPipeline, retryPipeline, type StartAgainParts } from "../../pipelines/mod.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { isDeadPipeline } from "../../store/records/dead_runs.ts";
import {
  getPipeline,
  getPlan,
  listPipelines,
  NODE_STATUSES,
  type NodeState,
  type Pipeline,
  PIPELINE_STATUSES,
  type PipelinePlan,
} from "../../store/records/pipelines.ts";
import type { Page } from "../../store/read/lists.ts";
import type { Store } from "../../store/store.ts";
import { answer, count, input, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { authorOf, origin, withOrigin } from "./origins.ts";
import type { Records } from "./records.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { pipelineQuery, triggerIdOf } from "./queries.ts";
import { search } from "./search.ts";

const node = answer<NodeState>()(
  "PipelineNode",
  z.object({
    name: text,
    step: text,
    status: z.enum(NODE_STATUSES),
    execution_id: text.exactOptional(),
    reused: z.literal(true).exactOptional(),
    attempts: count,
    approval: z.object({
      when: z.enum(["node-starting", "node-complete"]),
      approved_at: time.exactOptional(),
    }).exactOptional(),
    reason: text.exactOptional().describe("Why it did not complete"),
  }),
);

const pipelineSchema = z.object({
  id: text,
  run_id: text,
  trigger_id: text,
  ...origin,
  project: text,
  engine: z.looseObject({ type: text }).exactOptional()
    .describe("The project's when it was launched"),
  commit: text,
  name: text,
  title: text,
  copy_of: text.exactOptional(),
  status: z.enum(PIPELINE_STATUSES),
  ending: z.enum(["stopped", "error"]).exactOptional(),
  created_at: time,
  ended_at: time.exactOptional(),
  reason: text.exactOptional().describe("Why it ended as it did; absent when it is complete"),
  nodes: z.array(node),
});
const pipeline = answer<ShownPipeline>()("Pipeline", pipelineSchema);

const end = z.object({ node: text, type: text, key: text });
const pipelineDetails = answer<PipelineDetails>()(
  "PipelineDetails",
  pipelineSchema.extend({
    edges: z.array(z.object({ source: end, target: end })),
    parameters: z.record(text, z.unknown()),
  }),
);

const approval = input(
  "Approval",
  z.strictObject({
    node: z.string().min(1).max(256).optional()
      .describe("The node to approve; every node that waits, when absent"),
  }),
);

const LOCATION = { Location: "The address of the new pipeline" };

/** The operations below `/pipelines/`. */
export const pipelineOperations = [
  operation({
    id: "listPipelines",
    method: "get",
    path: "/pipelines/",
    summary: "List the pipelines, newest first",
    description: "With a filter, a page may hold fewer than `limit`: follow `next` to the end.",
    query: pipelineQuery,
    answers: { 200: { schema: page(pipeline) } },
    async perform({ api, context, query: { limit, cursor, trigger, dead, ...filters } }) {
      const trigger_id = await triggerIdOf(api.store, trigger);
      const { records, next } = await search((part: Page) => listPipelines(api.store, part), {
        limit,
        cursor,
        filters: { ...filters, trigger_id },
        ...(dead && { matches: (each) => isDeadPipeline(api.store, each) }),
      });
      const labels = new TriggerLabels(api);
      const shown = await Promise.all(records.map((each) => show(labels, each)));
      return pageAnswer(context, api.baseUrl(), shown, next);
    },
  }),
  operation({
    id: "getPipeline",
    method: "get",
    path: "/pipelines/{id}/",
    summary: "Read a pipeline with its nodes, edges and parameters",
    answers: { 200: { schema: pipelineDetails } },
    async perform({ api, records, context, params: { id } }) {
      const { store } = api;
      const shown = await show(new TriggerLabels(api), await existing(store, id));
      const pipeline = await records.withoutForeignName(shown);
      return context.json(withPlan(pipeline, await getPlan(store, id)));
    },
  }),
  operation({
    id: "stopPipeline",
    method: "post",
    path: "/pipelines/{id}/stop/",
    scope: "operate",
    summary: "Stop a pipeline",
    answers: { 202: { schema: pipeline } },
    async perform({ api, records, context, params: { id } }) {
      await existing(api.store, id);
      await api.pipelines.stop(id);
      return await answered(STATUS_CODE.Accepted, id, { api, records, context });
    },
  }),
  operation({
    id: "copyPipeline",
    method: "post",
    path: "/pipelines/{id}/copy/",
    scope: "operate",
    summary: "Run a pipeline again",
    description: "With the same commit, parameters and inputs, all its nodes are run.",
    answers: { 201: { schema: pipeline, headers: LOCATION } },
    async perform({ api, records, context, params: { id } }) {
      const source = await existing(api.store, id);
      const { id: copyId } = await copyPipeline(source, startParts(api, context));
      return await answered(STATUS_CODE.Created, copyId, { api, records, context });
    },
  }),
  operation({
    id: "retryPipeline",
    method: "post",
    path: "/pipelines/{id}/retry/",
    scope: "operate",
    summary: "Run again what of a pipeline has not completed",
    description:
      "Makes a new pipeline with the same commit, parameters and inputs. Nodes that have completed keep their " +
      "results, unless what they get from other nodes has changed, or an output is gone. 409 says that it has " +
      "not ended, or that all nodes have completed.",
    answers: { 201: { schema: pipeline, headers: LOCATION } },
    async perform({ api, records, context, params: { id } }) {
      const source = await existing(api.store, id);
      const { id: retryId } = await retryPipeline(source, startParts(api, context));
      return await answered(STATUS_CODE.Created, retryId, { api, records, context });
    },
  }),
  operation({
    id: "approvePipeline",
    method: "post",
    path: "/pipelines/{id}/approve/",
    scope: "operate",
    summary: "Let nodes continue that wait for approval",
    body: { schema: approval, isOptional: true, examples: { "One node": { node: "deploy" } } },
    answers: { 202: { schema: pipeline } },
    async perform({ api, records, context, params: { id }, body }) {
      const { store, pipelines } = api;
      const pipeline = await existing(store, id);
      const { node } = parseInput(approval, body === undefined ? {} : body, "the approval");
      if (node !== undefined) expectNode(pipeline, node);
      if ((await pipelines.approve(id, node)).length === 0) {
        throw new ConflictError(noApprovalReason(await existing(store, id), node));
      }
      return await answered(STATUS_CODE.Accepted, id, { api, records, context });
    },
  }),
];

function existing(store: Store, id: string): Promise<Pipeline> {
  return found("pipeline", id, getPipeline(store, id));
}

function startParts({ store, clock, pipelines }: Operator, context: Context): StartAgainParts {
  return { store, clock, author: authorOf(context), begin: (id) => pipelines.begin(id) };
}

/** Answers with a pipeline as it is now; of one that was just made, also its address. */
async function answered(
  status: typeof STATUS_CODE.Accepted | typeof STATUS_CODE.Created,
  id: string,
  { api, records, context }: { api: Operator; records: Records; context: Context },
): Promise<Response> {
  const pipeline = await show(new TriggerLabels(api), await existing(api.store, id));
  const location = `${api.baseUrl()}/api/v0/pipelines/${id}/`;
  const headers = status === STATUS_CODE.Created ? { location } : {};
  return context.json(await records.withoutForeignName(pipeline), status, headers);
}

/** A pipeline as a list shows it. */
export type ShownPipeline = Awaited<ReturnType<typeof show>>;

async function show(labels: TriggerLabels, record: Pipeline) {
  const { traceparent: _trace, ...pipeline } = await withOrigin(labels, record);
  return pipeline;
}

/** A pipeline as it is shown alone. */
export type PipelineDetails = ReturnType<typeof withPlan>;

/** Adds what the plan says of a pipeline; nothing where the plan is damaged. */
function withPlan(pipeline: ShownPipeline, plan: PipelinePlan | undefined) {
  const { edges, parameters }: Pick<PipelinePlan, "edges" | "parameters"> = plan ??
    { edges: [], parameters: {} };
  return { ...pipeline, edges, parameters };
}

function expectNode({ nodes }: Pipeline, name: string): void {
  if (nodes.some((node) => node.name === name)) return;
  const names = nodes.map(({ name }) => JSON.stringify(name)).join(", ");
  throw new InvalidInputError("the approval", [{
    pointer: "/node",
    detail: `Expected one of ${names}, found ${JSON.stringify(name)}`,
  }]);
}

function noApprovalReason({ id, status, nodes }: Pipeline, name: string | undefined): string {
  const node = nodes.find((each) => each.name === name);
  return node === undefined
    ? `Cannot approve pipeline ${id}, which is ${status}: none of its nodes waits for approval`
    : `Cannot approve node "${node.name}" of pipeline ${id}: it does not wait for approval, ` +
      `it is ${node.status}`;
}
