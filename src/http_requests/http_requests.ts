/**
 * HTTP requests that actions send. Nothing of it is loaded before the first one.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import { openHttpRequests } from "../store/records/http_requests.ts";
import type { Came } from "./judge.ts";
import type { CallResult, Runner, RunnerParts } from "./runner.ts";

const log = getLogger(["hooklaunch", "http_requests"]);

/** All HTTP requests of a service. */
export class HttpRequests {
  readonly #parts: () => RunnerParts;
  #runner: Promise<Runner> | undefined;
  #isSending = () => false;
  #isClosing = false;

  constructor(parts: () => RunnerParts) {
    this.#parts = parts;
  }

  /** True while a request is looked at, or under way. */
  get isSending(): boolean {
    return this.#isSending();
  }

  /** Continues the requests that an earlier process has left, or another instance that is gone. */
  async takeOver(): Promise<void> {
    const ids = await openHttpRequests(this.#parts().store);
    if (ids.length === 0) return;
    const runner = await this.#load();
    for (const id of ids) runner.takeUp(id);
  }

  /** Sends a request that is on disk. Returns at once. */
  begin(id: string): void {
    this.#load().then((runner) => runner.begin(id)).catch((error) =>
      log.error("Cannot send HTTP request {http_request_id}: {error}", {
        http_request_id: id,
        error: messageOf(error),
      })
    );
  }

  /** Tells whether a token is that of a request. */
  async knows(id: string, token: string): Promise<boolean> {
    return await (await this.#load()).knows(id, token);
  }

  /** Takes a callback, if its token is that of a request. Resolves when it is on disk. */
  async call(id: string, token: string, came: Came): Promise<CallResult> {
    return await (await this.#load()).call(id, token, came);
  }

  /** Stops a request. Resolves when that is on disk, to false when it has ended, or is not known. */
  async stop(id: string): Promise<boolean> {
    return await (await this.#load()).stop(id);
  }

  /** Begins nothing more. What is under way may end until the deadline. */
  async close(deadline_ms: number): Promise<void> {
    this.#isClosing = true;
    await (await this.#runner)?.close(deadline_ms);
  }

  #load(): Promise<Runner> {
    return this.#runner ??= import("./runner.ts").then(({ Runner }) => {
      const runner = new Runner(this.#parts());
      this.#isSending = () => runner.isSending;
      // It begins nothing after the end.
      if (this.#isClosing) void runner.close(0);
      return runner;
    });
  }
}
