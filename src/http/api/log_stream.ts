/**
 * The events of a log that is followed: `GET /api/v0/executions/<id>/log/?follow`.
 *
 * @module
 */
import type { Engine, LogPage } from "../../engines/engine.ts";
import { nextAttempt } from "../../store/records/attempts.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import { type Events, eventText, type Followed } from "./event_stream.ts";

/** The `id` of the last event. A client that reconnects with it has the whole log. */
export const END_ID = "end";

/** The log to follow. */
interface FollowedLog extends Pick<Followed, "isAllowed"> {
  executionId: string;
  engine: Engine;
  /** The position to begin at, as the engine gave it. */
  cursor: string;
}

/** Follows a log until its execution has ended and the whole log was sent. */
export class LogSource implements Followed {
  readonly what: string;
  readonly isAllowed: Followed["isAllowed"];
  readonly #store: Store;
  readonly #followed: FollowedLog;
  readonly #limit: number;
  #position: string;

  /** @param limit the most lines of one read */
  constructor(store: Store, followed: FollowedLog, limit: number) {
    this.what = `the log of execution ${followed.executionId}`;
    this.isAllowed = followed.isAllowed;
    this.#store = store;
    this.#followed = followed;
    this.#limit = limit;
    this.#position = followed.cursor;
  }

  watch(onNew: () => void): () => void {
    const { engine, executionId } = this.#followed;
    return engine.watchLog(executionId, onNew);
  }

  async look(): Promise<Events | undefined> {
    const { engine, executionId } = this.#followed;
    for (;;) {
      // First the record: a log that is read after its execution has ended is complete.
      const execution = await getExecution(this.#store, executionId);
      const after = this.#position;
      const page = await engine.log(executionId, { after, limit: this.#limit });
      this.#position = page.next;
      if (page.lines.length > 0) return { text: linesText(page) };
      if (page.next !== after) continue;
      if (execution === undefined) return { text: "", isLast: true };
      return hasEnded(execution.status) ? { text: endText(execution), isLast: true } : undefined;
    }
  }
}

function linesText({ lines }: LogPage): string {
  return lines.map(({ next, ...line }) => eventText({ id: next, data: line })).join("");
}

function endText(execution: Execution): string {
  const { status, exit_code, reason, duration } = execution;
  const next_attempt = nextAttempt(execution)?.attempt;
  const data = { status, exit_code, reason, duration, next_attempt };
  return eventText({ event: "end", id: END_ID, data });
}
