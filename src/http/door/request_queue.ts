/**
 * The queue of senders' requests that have arrived and are not looked at yet.
 *
 * Deno hands over all requests that have come since it asked last, and looks at nothing else before
 * all of them are begun. With thousands of connections that is a tenth of a second in which no answer
 * leaves, no commit is seen to end and no timer goes off; as all those answers then leave together, the
 * next requests come together, too. So only some begin in one turn of the event loop, and the others
 * wait here for the next ones: untouched, since what lies in memory for long is what costs.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../platform/clock.ts";

/** How many requests begin in one turn: some milliseconds of work. */
const PER_TURN = 128;
/** How many are turned away in one, which is less work. */
const TURNED_AWAY_PER_TURN = 4 * PER_TURN;
/** How long a request may wait. Slack, the first of the senders to give up, does so after 3 s. */
const WAIT_MAX_MS = 2_000;
/** How often it is looked whether launches can be stored again. */
const BUSY_POLL_MS = 2;
/** What the paths of launches and run info have in common. Operators' requests never wait. */
const SENDERS_PATH = "/api/v0/launch/";
/** What the path of run info has behind that and a trigger's id, which is a UUID. */
const RUN_INFO_PATH = "/run";
const ID_LENGTH = 36;

/** How long a request has waited in the queue, and whether that was too long: then it is to be turned away. */
interface Wait {
  waited_ms: number;
  isLate: boolean;
}

/** What a handler is told of a request beside it; of a wait, where there was one. */
export interface Arrival extends Deno.ServeHandlerInfo<Deno.NetAddr>, Partial<Wait> {}

/** Answers a request. */
export type Handler = (request: Request, arrival: Arrival) => Response | Promise<Response>;

/**
 * Makes of a handler one that senders' requests wait for where many come at once.
 *
 * @param isBusy whether so many launches wait to be stored that the others should wait here
 */
export function inTurn(
  handler: Handler,
  clock: Pick<Clock, "steady">,
  isBusy: () => boolean,
): Handler {
  const launches = new RequestQueue(clock, isBusy);
  const polls = new RequestQueue(clock, () => false);
  return (request, arrival) => {
    const path = decodedPath(request.url);
    const at = path.indexOf(SENDERS_PATH);
    if (at === -1) return handler(request, arrival);
    const isPoll = path.startsWith(RUN_INFO_PATH, at + SENDERS_PATH.length + ID_LENGTH);
    const queue = isPoll ? polls : launches;
    if (queue.begins()) return handler(request, arrival);
    const { remoteAddr, completed } = arrival;
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

/** Lets so many requests begin in each turn of the event loop, the first to come first. */
class RequestQueue {
  readonly #clock: Pick<Clock, "steady">;
  readonly #isBusy: () => boolean;
  readonly #waiting: Waiting[] = [];
  /** How many have begun since the last turn that was waited for. */
  #begun = 0;
  #isTurnAwaited = false;

  constructor(clock: Pick<Clock, "steady">, isBusy: () => boolean) {
    this.#clock = clock;
    this.#isBusy = isBusy;
  }

  /** Whether a request may begin at once. If not, it is to {@linkcode wait}. */
  begins(): boolean {
    if (this.#begun === PER_TURN || this.#waiting.length > 0 || this.#isBusy()) return false;
    this.#begun++;
    if (this.#begun === PER_TURN) this.#awaitTurn();
    return true;
  }

  /** Resolves when a request may begin, or has waited for too long. */
  wait(): Promise<Wait> {
    return new Promise((resolve) => {
      this.#waiting.push({ since_ms: this.#clock.steady(), end: resolve });
      this.#awaitTurn();
    });
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    const turn = () => {
      this.#isTurnAwaited = false;
      this.#turn();
    };
    if (this.#isBusy()) setTimeout(turn, BUSY_POLL_MS);
    else setImmediate(turn);
  }

  #turn(): void {
    const now_ms = this.#clock.steady();
    const isLate = () => now_ms - (this.#waiting[0]?.since_ms ?? Infinity) > WAIT_MAX_MS;
    const end = (waiting: Waiting | undefined, isLate: boolean) =>
      waiting?.end({ waited_ms: now_ms - waiting.since_ms, isLate });
    for (let count = 0; count < TURNED_AWAY_PER_TURN && isLate(); count++) {
      end(this.#waiting.shift(), true);
    }
    // Where more are late than are turned away in a turn, the last to come begin: else none would any more.
    const next = isLate() ? () => this.#waiting.pop() : () => this.#waiting.shift();
    this.#begun = this.#isBusy() ? 0 : Math.min(PER_TURN, this.#waiting.length);
    for (let count = 0; count < this.#begun; count++) end(next(), false);
    if (this.#waiting.length > 0 || this.#begun === PER_TURN) this.#awaitTurn();
  }
}
