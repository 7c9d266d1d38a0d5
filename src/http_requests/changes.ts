/**
 * Changes of the records of HTTP requests, one after the other.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { InTurn } from "../platform/waiting/in_turn.ts";
import {
  answerWrites,
  getHttpRequest,
  hasHttpRequestEnded,
  type HttpRequest,
  httpRequestWrites,
} from "../store/records/http_requests.ts";
import { httpRequestEndWrites } from "../store/records/notices.ts";
import type { Store } from "../store/store.ts";
import type { Part } from "./transitions.ts";

/** Changes a record; returns the body that is stored with it, if any, or false to store nothing. */
type Change = (request: HttpRequest, now_ms: number) => Part | undefined | false;

/** Changes the records of HTTP requests. */
export class Changes {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #onEnd: (request: HttpRequest) => void;
  readonly #turns = new InTurn();

  /** @param onEnd called for each request that has ended, once that is on disk */
  constructor(
    { store, clock }: { store: Store; clock: Clock },
    onEnd: (request: HttpRequest) => void,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /**
   * Changes a record after its earlier changes. Resolves when that is on disk.
   *
   * @returns whether anything was stored
   */
  make(id: string, change: Change): Promise<boolean> {
    return this.#turns.run(id, () => this.#make(id, change));
  }

  /** Changes a record, unless its request has ended. */
  makeOpen(id: string, change: Change): Promise<boolean> {
    return this.make(
      id,
      (request, now_ms) => hasHttpRequestEnded(request.status) ? false : change(request, now_ms),
    );
  }

  /** Resolves when no change is under way. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  async #make(id: string, change: Change): Promise<boolean> {
    const request = await getHttpRequest(this.#store, id);
    if (request === undefined) return false;
    const hadEnded = hasHttpRequestEnded(request.status);
    const part = change(request, this.#clock.now());
    if (part === false) return false;
    const body = part === undefined ? [] : answerWrites(id, part.part, part.body, part.before);
    const hasEnded = !hadEnded && hasHttpRequestEnded(request.status);
    const told = hasEnded ? httpRequestEndWrites(this.#store, request) : [];
    await this.#store.committer.write([...body, ...httpRequestWrites(request), ...told]);
    if (hasEnded) this.#onEnd(request);
    return true;
  }
}
