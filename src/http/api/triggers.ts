/**
 * `/api/v0/triggers/`: the triggers, their runs and their logs.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { childOf } from "../../platform/schema.ts";
import { listTriggerRuns } from "../../store/records/runs.ts";
import { removeTriggerLog } from "../../store/records/trigger_log.ts";
import { triggerWarnings } from "../../triggers/review.ts";
import { settingsOf } from "../../triggers/registry.ts";
import { type Trigger, withoutReadOnly } from "../../triggers/trigger.ts";
import { finder } from "./finder.ts";
import { mergePatch, PAYLOAD_BODY_BYTES_MAX, readJson } from "./input.ts";
import type { Operator } from "./operator.ts";
import { pageAnswer } from "./page_answer.ts";
import { listQuery, readQuery } from "./queries.ts";
import { signForTrigger, testTrigger } from "./try_out.ts";

/** The routes below `/api/v0/triggers`. */
export function triggerRoutes(operator: Operator): Hono {
  const { triggers, store, triggerLog, worker, baseUrl } = operator;
  const show = (trigger: Trigger) => shown(trigger, operator);
  const found = finder("trigger", (id) => triggers.get(id));
  const prepared = finder("trigger", async (id) => await triggers.prepared(id));
  const written = async (context: Context) =>
    withoutReadOnly(await readJson(context, operator.bodies));
  const tried = (context: Context) => readJson(context, operator.bodies, PAYLOAD_BODY_BYTES_MAX);

  return new Hono({ strict: false })
    .get("/", async (context) => {
      const { limit, cursor } = readQuery(context, listQuery);
      const page = await triggers.list({ after: cursor, limit });
      return pageAnswer(context, baseUrl(), page.records.map(show), page.next);
    })
    .post("/", async (context) => {
      const trigger = show(await triggers.create(await written(context)));
      return context.json(trigger, STATUS_CODE.Created, {
        location: `${baseUrl()}/api/v0/triggers/${trigger.id}/`,
      });
    })
    .get("/:id", async (context) => context.json(show(await found(context))))
    .put("/:id", async (context) => {
      const settings = await written(context);
      return context.json(show(await triggers.update(context.req.param("id"), () => settings)));
    })
    .patch("/:id", async (context) => {
      const patch = await written(context);
      const patched = await triggers.update(
        context.req.param("id"),
        (current) => patchSettings(settingsOf(current), patch),
      );
      return context.json(show(patched));
    })
    .delete("/:id", async (context) => {
      const id = context.req.param("id");
      await triggers.delete(id);
      await removeTriggerLog(store, id);
      return context.body(null, STATUS_CODE.NoContent);
    })
    .post("/:id/test", async (context) => {
      const input = await tried(context);
      return context.json(await testTrigger(operator, await prepared(context), input));
    })
    .post("/:id/sign", async (context) => {
      const input = await tried(context);
      return context.json(await signForTrigger(operator, await prepared(context), input));
    })
    .get("/:id/runs", async (context) => {
      const { limit, cursor } = readQuery(context, listQuery);
      const { id } = await found(context);
      const page = await listTriggerRuns(store, id, {
        pending: worker.pendingOf(id),
        before: cursor,
        limit,
      });
      return pageAnswer(context, baseUrl(), page.records, page.next);
    })
    .get("/:id/log", async (context) => {
      const { limit, cursor } = readQuery(context, listQuery);
      const { id } = await found(context);
      const page = await triggerLog.list(id, { before: cursor, limit });
      return pageAnswer(context, baseUrl(), page.records, page.next);
    });
}

/**
 * Applies a merge patch to a trigger's settings. A response that says its type is a whole one: merged,
 * it would keep what the one before held, and lose what is null.
 */
function patchSettings(settings: unknown, patch: unknown): unknown {
  const patched = mergePatch(settings, patch);
  const response = childOf(patch, "response");
  return childOf(response, "type") === undefined ? patched : { ...Object(patched), response };
}

/** A trigger as the API shows it. */
export type ShownTrigger = ReturnType<typeof shown>;

function shown(trigger: Trigger, { baseUrl, env }: Operator) {
  return {
    ...trigger,
    url: `${baseUrl()}/api/v0/launch/${trigger.id}/`,
    warnings: triggerWarnings(trigger, env),
  };
}
