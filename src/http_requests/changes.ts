/**
 * Changes of the records of HTTP requests, one after the other.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import type { Write } from "../store/commit/change.ts";
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
import { GuardedRequest } from "./guarded.ts";
import type { Part } from "./transitions.ts";

/** Changes a record; returns the body that is stored with it, if any, or false to store nothing. */
type Change = (request: HttpRequest, now_ms: number) => Part | undefined | false;

/** A changed record that is not stored yet. */
interface Changed {
  request: HttpRequest;
  /** The writes that are stored beside it. */
  beside: readonly Write[];
  hasEnded: boolean;
}

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
    const isGuarded = request.owner !== undefined && this.#store.shared !== undefined;
    const made = isGuarded ? await this.#storeGuarded(id, change) : this.#changed(request, change);
    if (made === undefined) return false;
    if (!isGuarded) {
      const told = made.hasEnded ? httpRequestEndWrites(this.#store, request) : [];
      await this.#store.committer.write([...made.beside, ...httpRequestWrites(request), ...told]);
    }
    if (made.hasEnded) this.#onEnd(made.request);
    return true;
  }

  /** Stores a change of an instance's own request: it is decided again where another instance was faster. */
  async #storeGuarded(id: string, change: Change): Promise<Changed | undefined> {
    const store = this.#store;
    const guard = new GuardedRequest(store.kv, id);
    let made: Changed | undefined;
    let told: readonly Write[] | undefined;
    await store.intake.commit({
      guards: [guard],
      refresh() {
        const reading = store.refreshNotifiers?.();
        if (reading) told = undefined;
        return reading ?? guard.refresh();
      },
      writes: () => {
        const request = guard.copy();
        made = request && this.#changed(request, change);
        if (made === undefined) return [];
        const [record, ...rest] = httpRequestWrites(made.request);
        guard.value = record?.value;
        if (made.hasEnded) told ??= httpRequestEndWrites(store, made.request);
        return [...made.beside, ...rest, ...made.hasEnded ? told ?? [] : []];
      },
    });
    return made;
  }

  /** Changes a record; undefined where nothing is to be stored. */
  #changed(request: HttpRequest, change: Change): Changed | undefined {
    const hadEnded = hasHttpRequestEnded(request.status);
    const part = change(request, this.#clock.now());
    if (part === false) return undefined;
    const beside = part === undefined
      ? []
      : answerWrites(request.id, part.part, part.body, part.before);
    return { request, beside, hasEnded: !hadEnded && hasHttpRequestEnded(request.status) };
  }
}
