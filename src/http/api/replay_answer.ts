/**
 * The answer to the replay of one delivery.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { ConflictError } from "../../platform/errors.ts";
import type { Run } from "../../store/records/runs.ts";
import type { Replayed } from "../../triggers/replay.ts";
import { requestTracer } from "../request_spans.ts";
import type { Operator } from "./operator.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { shownRun } from "./shown_run.ts";
import type { Records } from "./records.ts";

/** A replay that an operator asked for. */
interface Asked {
  api: Operator;
  records: Pick<Records, "withoutForeignName">;
  context: Context;
  /** The delivery. */
  id: string;
  /** The path of the operation, as OpenAPI documents and traces name it. */
  path: string;
}

const trace = requestTracer();

/**
 * Launches a delivery again, and answers the new run.
 *
 * @throws {ConflictError} when no run was made
 */
export async function answerReplay(
  { api, records, context, id, path }: Asked,
  launch: () => Promise<Replayed>,
): Promise<Response> {
  const perform = async () => {
    const made = runOf(id, await launch());
    const shown = await shownRun(api, new TriggerLabels(api), made);
    return context.json(await records.withoutForeignName(shown), STATUS_CODE.Created, {
      location: `${api.baseUrl()}/api/v0/runs/${made.id}/`,
    });
  };
  const traceparent = context.req.header("traceparent");
  const request = { method: "POST", route: `/api/v0${path}`, traceparent };
  return await (trace?.(request, perform) ?? perform());
}

function runOf(id: string, replayed: Replayed): Run {
  if ("run" in replayed) return replayed.run;
  if ("repeatOf" in replayed) {
    throw new ConflictError(
      `Cannot replay delivery ${id}: it was sent again meanwhile and has made run ${replayed.repeatOf}`,
    );
  }
  const { quota, period } = replayed.exhausted;
  throw new ConflictError(
    `Cannot replay delivery ${id}: the quota of ${quota} launches in ${period} s is used up`,
  );
}
