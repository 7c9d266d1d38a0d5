/**
 * Loaded before the service: no runs are handed over in memory, so that messages of the queue alone wake its worker. The
 * service ends itself by SIGKILL at the stage that `KILLED_AT` names.
 *
 * @module
 */
import { Worker } from "../../src/runs/worker.ts";
import { standIn, watchedKv } from "../store/fixture.ts";

/** The stages of a run at which the service can be killed. */
export const STAGES = {
  enqueued: "a message is stored",
  delivered: "a message is delivered, and no run is claimed",
  claimed: "a run is claimed and performed, and its end is not stored",
  ended: "the end of a run is stored",
} as const;

/** The variable that names the stage. */
export const KILLED_AT = "KILLED_AT";

const killedAt = Deno.env.get(KILLED_AT);
if (killedAt !== undefined) wakeByMessages(killedAt);

function wakeByMessages(killedAt: string): void {
  const at = (stage: keyof typeof STAGES, holds = true) => {
    if (holds && stage === killedAt) {
      new Deno.Command("sh", { args: ["-c", `kill -KILL ${Deno.pid}`] }).outputSync();
    }
  };
  Worker.prototype.take = function (pending) {
    this.withdraw(pending.run.id);
  };
  Worker.prototype.wake = Worker.prototype.claim;
  const open = Deno.openKv;
  const openKv = async (path?: string) => {
    const kv = await open(path);
    const watched = watchedKv(kv, async ({ keys, messages }, store) => {
      const endsRun = keys.some(([kind]) => kind === "run");
      at("claimed", endsRun);
      const result = await store();
      at("ended", endsRun);
      at("enqueued", messages.length > 0);
      return result;
    });
    return standIn(watched, {
      listenQueue: (handler: (message: unknown) => Promise<void>) =>
        kv.listenQueue((message: unknown) => {
          at("delivered");
          return handler(message);
        }),
    });
  };
  Object.defineProperty(Deno, "openKv", { value: openKv });
}
