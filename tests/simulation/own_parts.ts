/**
 * Runs that are their instances' own: a trigger whose action sends an HTTP request, the receiver of these, what one
 * process sends by, and deliberate defects.
 *
 * @module
 */
import { Runner } from "../../src/http_requests/runner.ts";
import type { Answered } from "../../src/http_requests/exchange.ts";
import { derivedId } from "../../src/platform/ids.ts";
import { Claims } from "../../src/runs/claims.ts";
import type { Perform } from "../../src/runs/outcome.ts";
import { isOwn } from "../../src/runs/own_runs.ts";
import { apply } from "../../src/store/commit/committer.ts";
import type { Store } from "../../src/store/store.ts";
import {
  createHttpRequestWrites,
  getHttpRequest,
  type HttpRequest,
  type HttpRequestPlan,
  openHttpRequests,
} from "../../src/store/records/http_requests.ts";
import type { SimProcess, World } from "./world.ts";

/** Times that the receiver takes to answer, one after the other. */
const ANSWER_MS = [20, 400, 1_200];
/** The limit of an attempt: some are answered too late. */
const TIMEOUT_MS = 1_000;
const RETRY_S = 1;
const ATTEMPTS = 1_000;

/** Who gets the requests: it is outside of the processes, as a cluster is. */
export class Receiver {
  readonly #world: World;
  /** The attempts that each request has had, by its id. */
  readonly attempts = new Map<string, number>();
  /** Who sends which request now, and how long at most. */
  readonly #sending = new Map<string, { process: SimProcess; until_ms: number }>();
  /** What must not be. */
  readonly strange: string[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Answers an attempt after some time; undefined where that is too late for who waits. */
  async receive(id: string, process: SimProcess, left_ms: number): Promise<Answered | undefined> {
    const now_ms = this.#world.now_ms;
    const other = this.#sending.get(id);
    if (other && other.process !== process && other.until_ms > now_ms) {
      this.strange.push(`request ${id} is sent by ${other.process.name} and ${process.name}`);
    }
    const count = this.attempts.get(id) ?? 0;
    this.attempts.set(id, count + 1);
    const answer_ms = ANSWER_MS[count % ANSWER_MS.length] ?? 0;
    this.#sending.set(id, { process, until_ms: now_ms + Math.min(answer_ms, left_ms) });
    await this.#world.delay(Math.min(answer_ms, left_ms));
    await process.gate();
    if (answer_ms > left_ms) return undefined;
    const body = new Uint8Array();
    // The first is answered by an error.
    const status = count === 0 ? 503 : 200;
    return {
      status,
      headers: {},
      body,
      isCut: false,
      duration_ms: 1,
      mayPass: status !== 200,
      wait_ms: undefined,
    };
  }
}

/** Makes what one process sends by, and how it performs runs whose only action sends a request. */
export function sendingOf(
  { store, process, receiver }: { store: Store; process: SimProcess; receiver: Receiver },
): { runner: Runner; perform: Perform; takeOver(): void } {
  const { clock } = process;
  const runner = new Runner({
    store,
    clock,
    id: store.shared?.id ?? process.name,
    network: { resolve: () => Promise.resolve([]), isPublic: () => true, caCerts: [] },
    reveal: () => undefined,
    valuesOf: () => () => Promise.resolve({ values: [] }),
    send: async ({ id }, _plan, _parts, { left_ms }) =>
      await receiver.receive(id, process, left_ms) ??
        { failure: "no answer in time", mayPass: true },
  });
  return {
    runner,
    async perform(waiting) {
      const { run, repeated } = waiting;
      const id = derivedId(run.id, 0, "http_request");
      const existing = repeated ? await getHttpRequest(store, id) : undefined;
      const owner = isOwn(store, waiting) ? waiting.worker : undefined;
      const request: HttpRequest = existing ?? {
        id,
        run_id: run.id,
        trigger_id: run.trigger_id,
        project: run.project,
        method: "POST",
        url: "https://example.com/",
        wait: "none",
        status: "sending",
        ...(owner !== undefined && { owner }),
        created_at: new Date(clock.now()).toISOString(),
        attempts: 0,
        tried: 0,
      };
      return {
        outcomes: [{
          action: "http_request",
          created: { url: request.url, http_request_id: id },
        }],
        unstored: {
          writes: existing ? [] : createHttpRequestWrites(request, PLAN),
          begin: () => runner.begin(id),
        },
      };
    },
    takeOver() {
      openHttpRequests(store).then((ids) => {
        for (const id of ids) runner.takeUp(id);
      }, () => {
        // The next sweep tries again.
      });
    },
  };
}

const PLAN: HttpRequestPlan = {
  method: "POST",
  url: "https://example.com/",
  headers: {},
  timeout_ms: TIMEOUT_MS,
  retry: { attempts: ATTEMPTS, first: RETRY_S, factor: 1 },
  private_networks: false,
  wait: { for: "none" },
};

/** Plants a defect in what one process stores: its own runs end by commits that do not check its lanes. */
export function plantUncheckedEnds({ intake, kv }: Store, defect: string | undefined): void {
  if (defect !== "end without the lanes") return;
  const commit = intake.commit.bind(intake);
  intake.commit = async (change) => {
    const isEnd = change.refresh && !change.guards && !change.withdrawal;
    const writes = isEnd ? change.writes() : [];
    if (!writes.some(({ key }) => key[0] === "run")) return await commit(change);
    const operation = kv.atomic();
    for (const write of writes) apply(operation, write);
    await operation.commit();
  };
}

/** Plants a defect in how runs are claimed that are instances' own, until it is disposed of. */
export function plantOwnDefect(defect: string | undefined): Disposable {
  const { isElsewhere } = Claims.prototype;
  if (defect === "own run claimed") Claims.prototype.isElsewhere = () => false;
  if (defect === "own run of a gone instance left") {
    Claims.prototype.isElsewhere = ({ own }) => own === true;
  }
  return { [Symbol.dispose]: () => void (Claims.prototype.isElsewhere = isElsewhere) };
}
