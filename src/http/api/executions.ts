/**
 * `/api/v0/executions/`: the executions, what they printed and what they left behind.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { NotFoundError } from "../../errors.ts";
import { type Execution, getExecution, listExecutions } from "../../store/executions.ts";
import { pageAnswer, pageOf } from "./input.ts";
import type { Operator } from "./operator.ts";

/** The routes below `/api/v0/executions`. */
export function executionRoutes(operator: Operator): Hono {
  const { store, engines, baseUrl } = operator;
  const found = async (context: Context): Promise<Execution> => {
    const id = context.req.param("id") ?? "";
    const execution = await getExecution(store, id);
    if (execution === undefined) throw new NotFoundError(`There is no execution of the id ${id}`);
    return execution;
  };
  const engineOf = ({ engine }: Execution) => engines.of(engine.type);

  return new Hono({ strict: false })
    .get("/", async (context) => {
      const { limit, cursor } = pageOf(context);
      const page = await listExecutions(store, { limit, ...(cursor ? { before: cursor } : {}) });
      return pageAnswer(context, baseUrl(), page.executions.map(show), page.next);
    })
    .get("/:id", async (context) => context.json(show(await found(context))))
    .get("/:id/log", async (context) => {
      const execution = await found(context);
      const after = Number(context.req.query("cursor") ?? "0");
      const engine = engineOf(execution);
      const page = await engine.log(execution.id, {
        after: Number.isSafeInteger(after) && after >= 0 ? after : 0,
      });
      return context.json({ results: page.lines, cursor: String(page.next) });
    })
    .get("/:id/outputs/:path{.+}", async (context) => {
      const execution = await found(context);
      const path = context.req.param("path");
      const listed = execution.outputs.find((output) => output.path === path);
      const file = listed && await engineOf(execution).output(execution.id, path);
      if (file === undefined) throw new NotFoundError(`There is no output "${path}"`);
      return context.body(file.readable, 200, {
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
      });
    })
    .post("/:id/stop", async (context) => {
      const execution = await found(context);
      await engineOf(execution).stop(execution.id);
      return context.json(show(await found(context)), STATUS_CODE.Accepted);
    });
}

/** An execution as the API shows it. */
function show({ engine_state: _state, ...execution }: Execution) {
  return execution;
}
