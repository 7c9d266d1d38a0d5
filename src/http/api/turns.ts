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
import { run } from "./runs.ts";
import { withStates } from "./work_states.ts";

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
    async perform({ api, context, params: { id } }) {
      return context.json(await decided(api, id, () => api.worker.pacer.hurry(id)));
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
    async perform({ api, context, params: { id } }) {
      // The caller has put it there.
      const { access }: Authenticated = context.env;
      const stop = () => api.worker.pacer.cancel(id, `Stopped by ${access.name} before its turn`);
      return context.json(await decided(api, id, stop));
    },
  }),
];

/** @throws {ConflictError} when the run does not wait */
async function decided(api: Operator, id: string, decide: () => boolean) {
  const { status } = await found("run", id, getRun(api.store, id));
  if (!decide()) {
    const why = status === "pending"
      ? "it is being performed, or waits for a place"
      : "it has ended";
    throw new ConflictError(`Cannot do that with run ${id}: it does not wait for its turn: ${why}`);
  }
  await api.worker.pacer.settled();
  return await withStates(api, await found("run", id, getRun(api.store, id)));
}
