/**
 * Callbacks: each tells a sender that its run and the run's work have ended. The commit that ends a run lists it, so
 * that a restart goes on. Nothing of it is loaded before the first one.
 *
 * @module
 */
import { AfterWork } from "../runs/after_work.ts";
import { dueCallbacks } from "../store/records/callbacks.ts";
import type { NewCallbackParts } from "./new_callback.ts";

/** Makes the callbacks of runs. */
export class Callbacks extends AfterWork {
  constructor(parts: () => NewCallbackParts) {
    super({
      what: "the callback",
      due: () => dueCallbacks(parts().store),
      make: async (runId) => {
        const { makeCallback } = await import("./new_callback.ts");
        return await makeCallback(runId, parts());
      },
    });
  }

  /** Tells that a run has ended, which is on disk. */
  runEnded({ id, callback }: { id: string; callback?: true }): void {
    if (callback) this.look(id);
  }
}
