/**
 * `/api/v0/pipelines/`: the pipelines and how far their nodes are.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { parseWith } from "../../platform/schema.ts";
import type { Listed, Page } from "../../store/lists.ts";
import {
  getPipeline,
  getPlan,
  listPipelines,
  type Pipeline,
  type PipelinePlan,
} from "../../store/records/pipelines.ts";
import { finder } from "./finder.ts";
import { readOptionalJson } from "./input.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { pipelineQuery, readQuery } from "./queries.ts";
import { search } from "./search.ts";

/** What an approval may say. */
export const approvalSchema = z.strictObject({
  /** The only node that is approved; all that wait when absent. */
  node: z.string().min(1).max(256).optional(),
});

/** The routes below `/api/v0/pipelines`. */
export function pipelineRoutes(operator: Operator): Hono {
  const { store, pipelines, baseUrl } = operator;
  const found = finder("pipeline", (id) => getPipeline(store, id));

  return new Hono({ strict: false })
    .get("/", async (context) => {
      const { records, next } = await listed(operator, context);
      return pageAnswer(context, baseUrl(), records.map(show), next);
    })
    .get("/:id", async (context) => {
      const pipeline = await found(context);
      return context.json(withPlan(pipeline, await getPlan(store, pipeline.id)));
    })
    .post("/:id/stop", async (context) => {
      await pipelines.stop((await found(context)).id);
      return context.json(show(await found(context)), STATUS_CODE.Accepted);
    })
    .post("/:id/approve", async (context) => {
      const pipeline = await found(context);
      const { node } = parseWith(
        approvalSchema,
        await readOptionalJson(context, operator.bodies) ?? {},
        "the approval",
      );
      if (node !== undefined) expectNode(pipeline, node);
      if ((await pipelines.approve(pipeline.id, node)).length === 0) {
        throw new ConflictError(whyNothingWaits(await found(context), node));
      }
      return context.json(show(await found(context)), STATUS_CODE.Accepted);
    });
}

async function listed({ store }: Operator, context: Context): Promise<Listed<Pipeline>> {
  const { limit, cursor, project, status } = readQuery(context, pipelineQuery);
  const read = (page: Page) => listPipelines(store, page);
  if (project === undefined && status === undefined) return await search(read, { limit, cursor });
  return await search(read, {
    limit,
    cursor,
    matches: (pipeline) =>
      (project === undefined || pipeline.project === project) &&
      (status === undefined || pipeline.status === status),
  });
}

/** A pipeline as the API shows it. */
function show({ traceparent: _trace, ...pipeline }: Pipeline) {
  return pipeline;
}

/** A pipeline as a list of them shows it. */
export type ShownPipeline = ReturnType<typeof show>;

/** A pipeline with what its plan says; nothing where that is damaged. */
function withPlan(pipeline: Pipeline, plan: PipelinePlan | undefined) {
  const { edges, parameters }: Pick<PipelinePlan, "edges" | "parameters"> = plan ??
    { edges: [], parameters: {} };
  return { ...show(pipeline), edges, parameters };
}

/** A pipeline as it is shown alone. */
export type PipelineDetails = ReturnType<typeof withPlan>;

function expectNode({ nodes }: Pipeline, name: string): void {
  if (nodes.some((node) => node.name === name)) return;
  const names = nodes.map(({ name }) => JSON.stringify(name)).join(", ");
  throw new InvalidInputError("the approval", [{
    pointer: "/node",
    detail: `Expected one of ${names}, found ${JSON.stringify(name)}`,
  }]);
}

function whyNothingWaits({ id, status, nodes }: Pipeline, name: string | undefined): string {
  const node = nodes.find((each) => each.name === name);
  return node === undefined
    ? `Cannot approve pipeline ${id}, which is ${status}: none of its nodes waits for approval`
    : `Cannot approve node "${node.name}" of pipeline ${id}: it does not wait for approval, ` +
      `it is ${node.status}`;
}
