/**
 * The turns of runs: those that wait are launched at once, or stopped.
 *
 * @module
 */
import { ConflictError } from "../../platform/errors.ts";
import { getRun } from "../../store/records/runs.ts";
import type { Authenticated } from "./auth.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import type { Records } from "./records.ts";
import { run } from "./runs.ts";
import { type ShownRun, shownRun } from "./shown_run.ts";
import { TriggerLabels } from "./trigger_labels.ts";

/** The operations on runs that wait. */
export const turnOperations = [
  operation({
    id: "launchWaitingRun",
    method: "post",
    path: "/runs/{id}/launch/",
    scope: "operate",
    summary: "Launch a run now that waits for a time, or for more runs of its burst",
    description: "It still waits for a place where its trigger has a limit of concurrent runs.",
    answers: { 200: { schema: run } },
    async perform({ api, records, context, params: { id } }) {
      const hurry = () => api.worker.pacer.hurry(id);
      return context.json(await decided(api, records, { id, decide: hurry }));
    },
  }),
  operation({
    id: "stopWaitingRun",
    method: "post",
    path: "/runs/{id}/stop/",
    scope: "operate",
    summary: "Stop a run that waits for its turn",
    description: "It ends with an error that names who has stopped it, and nothing is launched.",
    answers: { 200: { schema: run } },
    async perform({ api, records, context, params: { id } }) {
      // The caller has put it there.
      const { access }: Authenticated = context.env;
      const stop = () => api.worker.pacer.cancel(id, `Stopped by ${access.name} before its turn`);
      return context.json(await decided(api, records, { id, decide: stop }));
    },
  }),
];

/** @throws {ConflictError} when the run does not wait */
async function decided(
  api: Operator,
  records: Records,
  { id, decide }: { id: string; decide: () => boolean },
): Promise<ShownRun> {
  const { status } = await found("run", id, getRun(api.store, id));
  if (!decide()) {
    const why = status === "pending"
      ? "it is being performed, or waits for a place"
      : "it has ended";
    throw new ConflictError(`Cannot do that with run ${id}: it does not wait for its turn: ${why}`);
  }
  await api.worker.pacer.settled();
  const run = await found("run", id, getRun(api.store, id));
  return await records.withoutForeignName(await shownRun(api, new TriggerLabels(api), run));
}
