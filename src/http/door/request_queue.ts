/**
 * The queue of senders' requests that have arrived and are not handled yet.
 *
 * Deno starts the handlers of all requests that have come before it does anything else. With thousands of
 * connections that takes a tenth of a second, in which no answer leaves, no commit ends and no timer fires.
 * All those answers then leave together, so the next requests come together, too. Therefore only some
 * requests begin in one turn of the event loop, and the others wait here.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../platform/clock.ts";

/** The requests that begin in one turn: some milliseconds of work. */
const PER_TURN = 128;
/** The requests that are turned away in one turn, which is less work. */
const TURNED_AWAY_PER_TURN = 4 * PER_TURN;
/** The longest wait of a request. Slack gives up first of all senders, after 3 s. */
const WAIT_MAX_MS = 2_000;
/** The interval at which a full queue is looked at again. */
const BUSY_POLL_MS = 2;
/** The beginning of the paths of launches and run info. Operators' requests never wait. */
const SENDERS_PATH = "/api/v0/launch/";
/** The end of the path of run info, behind the trigger's id, which is a UUID. */
const RUN_INFO_PATH = "/run";
const ID_LENGTH = 36;

/** The wait of a request in the queue. One that is late is to be turned away. */
interface Wait {
  waited_ms: number;
  isLate: boolean;
}

/** The facts that a handler gets beside a request; those of its wait only if it waited. */
export interface HandlerInfo extends Deno.ServeHandlerInfo<Deno.NetAddr>, Partial<Wait> {}

/** Answers a request. */
type Handler = (request: Request, info: HandlerInfo) => Response | Promise<Response>;

/**
 * Makes a handler for which senders' requests wait when many come at once.
 *
 * @param isBusy returns true while so many launches wait to be stored that others should wait here
 */
export function withRequestQueue(
  handler: Handler,
  clock: Pick<Clock, "steady">,
  isBusy: () => boolean,
): Handler {
  const launches = new RequestQueue(clock, isBusy);
  const polls = new RequestQueue(clock, () => false);
  return (request, info) => {
    const path = decodedPath(request.url);
    const at = path.indexOf(SENDERS_PATH);
    if (at === -1) return handler(request, info);
    const isPoll = path.startsWith(RUN_INFO_PATH, at + SENDERS_PATH.length + ID_LENGTH);
    const queue = isPoll ? polls : launches;
    if (queue.begins()) return handler(request, info);
    const { remoteAddr, completed } = info;
    return queue.wait().then((wait) => handler(request, { remoteAddr, completed, ...wait }));
  };
}

/** Returns a URL without its query, its ASCII characters decoded, as the routes decode them. */
function decodedPath(url: string): string {
  const query = url.indexOf("?");
  const path = query === -1 ? url : url.slice(0, query);
  if (!path.includes("%")) return path;
  return path.replace(
    /%[2-7][\da-f]/gi,
    (code) => String.fromCharCode(parseInt(code.slice(1), 16)),
  );
}

interface Waiting {
  since_ms: number;
  end(wait: Wait): void;
}

/** Lets a limited number of requests begin in each turn of the event loop, in the order in which they came. */
class RequestQueue {
  readonly #clock: Pick<Clock, "steady">;
  readonly #isBusy: () => boolean;
  readonly #waiting: Waiting[] = [];
  /** The requests that have begun since the last turn. */
  #begun = 0;
  #isScheduled = false;

  constructor(clock: Pick<Clock, "steady">, isBusy: () => boolean) {
    this.#clock = clock;
    this.#isBusy = isBusy;
  }

  /** Returns true when a request may begin at once; otherwise it has to {@linkcode wait}. */
  begins(): boolean {
    if (this.#begun === PER_TURN || this.#waiting.length > 0 || this.#isBusy()) return false;
    this.#begun++;
    if (this.#begun === PER_TURN) this.#schedule();
    return true;
  }

  /** Resolves when a request may begin, or has waited too long. */
  wait(): Promise<Wait> {
    return new Promise((resolve) => {
      this.#waiting.push({ since_ms: this.#clock.steady(), end: resolve });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const onTurn = () => {
      this.#isScheduled = false;
      this.#beginWaiting();
    };
    if (this.#isBusy()) setTimeout(onTurn, BUSY_POLL_MS);
    else setImmediate(onTurn);
  }

  #beginWaiting(): void {
    const now_ms = this.#clock.steady();
    const isLate = () => now_ms - (this.#waiting[0]?.since_ms ?? Infinity) > WAIT_MAX_MS;
    const end = (waiting: Waiting | undefined, isLate: boolean) =>
      waiting?.end({ waited_ms: now_ms - waiting.since_ms, isLate });
    for (let count = 0; count < TURNED_AWAY_PER_TURN && isLate(); count++) {
      end(this.#waiting.shift(), true);
    }
    // With more late requests than one turn can turn away, the latest to come begin: others would be late, too.
    const next = isLate() ? () => this.#waiting.pop() : () => this.#waiting.shift();
    this.#begun = this.#isBusy() ? 0 : Math.min(PER_TURN, this.#waiting.length);
    for (let count = 0; count < this.#begun; count++) end(next(), false);
    if (this.#waiting.length > 0 || this.#begun === PER_TURN) this.#schedule();
  }
}
