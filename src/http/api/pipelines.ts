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
    async perform({ api, context, query: { limit, cursor, trigger, ...filters } }) {
      const trigger_id = await triggerIdOf(api.store, trigger);
      const { records, next } = await search((part: Page) => listPipelines(api.store, part), {
        limit,
        cursor,
        filters: { ...filters, trigger_id },
      });
      return pageAnswer(context, api.baseUrl(), records.map(show), next);
    },
  }),
  operation({
    id: "getPipeline",
    method: "get",
    path: "/pipelines/{id}/",
    summary: "Read a pipeline with its nodes, edges and parameters",
    answers: { 200: { schema: pipelineDetails } },
    async perform({ api: { store }, context, params: { id } }) {
      const pipeline = await existing(store, id);
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
    async perform({ api: { store, pipelines }, context, params: { id } }) {
      await existing(store, id);
      await pipelines.stop(id);
      return context.json(show(await existing(store, id)), STATUS_CODE.Accepted);
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
    async perform({ api, context, params: { id } }) {
      const source = await existing(api.store, id);
      return made(await copyPipeline(source, startParts(api)), { api, context });
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
    async perform({ api, context, params: { id } }) {
      const source = await existing(api.store, id);
      return made(await retryPipeline(source, startParts(api)), { api, context });
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
    async perform({ api: { store, pipelines }, context, params: { id }, body }) {
      const pipeline = await existing(store, id);
      const { node } = parseInput(approval, body === undefined ? {} : body, "the approval");
      if (node !== undefined) expectNode(pipeline, node);
      if ((await pipelines.approve(id, node)).length === 0) {
        throw new ConflictError(noApprovalReason(await existing(store, id), node));
      }
      return context.json(show(await existing(store, id)), STATUS_CODE.Accepted);
    },
  }),
];

function existing(store: Store, id: string): Promise<Pipeline> {
  return found("pipeline", id, getPipeline(store, id));
}

function startParts({ store, clock, pipelines }: Operator): StartAgainParts {
  return { store, clock, begin: (id) => pipelines.begin(id) };
}

/** Answers with a pipeline that was just made. */
function made(
  pipeline: Pipeline,
  { api, context }: { api: Operator; context: Context },
): Response {
  const location = `${api.baseUrl()}/api/v0/pipelines/${pipeline.id}/`;
  return context.json(show(pipeline), STATUS_CODE.Created, { location });
}

/** A pipeline as a list shows it. */
export type ShownPipeline = ReturnType<typeof show>;

function show({ traceparent: _trace, ...pipeline }: Pipeline) {
  return pipeline;
}

/** A pipeline as it is shown alone. */
export type PipelineDetails = ReturnType<typeof withPlan>;

/** Adds what the plan says of a pipeline; nothing where the plan is damaged. */
function withPlan(pipeline: Pipeline, plan: PipelinePlan | undefined) {
  const { edges, parameters }: Pick<PipelinePlan, "edges" | "parameters"> = plan ??
    { edges: [], parameters: {} };
  return { ...show(pipeline), edges, parameters };
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
