/**
 * Launches beside consoles that follow the list of deliveries, as the script of the console does.
 *
 * @module
 */
import { Browser } from "../http/console/fixture.ts";
import type { Bench } from "./bench.ts";
import { pause, quantile } from "./measuring.ts";
import { paced } from "./paced.ts";
import { launches, OPERATORS_TOKEN } from "./requests.ts";
import { type Server, serverOn } from "./servers.ts";
import { atMost } from "./table.ts";

const CONSOLES = 5;
const LAUNCHES_PER_SECOND = 200;
const TIMES_MAX = 1.1;
/** The time from one console to the next: readers do not come in the same moment. */
const OPENED_MS = 200;
/** As in `live.js`. */
const REFRESH_MS = 1_000;
const LOAD_SHARE = 10;
const REFRESH_MS_MAX = 5_000;
/** Both are measured so often in turn: p99 differs from one time to the next. */
const TURNS = 10;

/** Measures launches with and without consoles on a data folder with many deliveries. */
export async function measureConsoles(bench: Bench): Promise<void> {
  await using server = await serverOn(bench, "service", "deliveries");
  const alone_ms: number[] = [];
  const beside_ms: number[] = [];
  let loads = 0;
  // The first loads what it needs.
  await p99(bench, server);
  for (let turn = 0; turn < TURNS; turn++) {
    alone_ms.push(await p99(bench, server));
    const over = new AbortController();
    const watched: { end: Promise<number> }[] = [];
    while (watched.length < CONSOLES) {
      watched.push(await watch(server, over.signal));
      await pause(OPENED_MS);
    }
    beside_ms.push(await p99(bench, server));
    over.abort();
    for (const each of watched) loads += await each.end;
  }
  bench.add(atMost(TIMES_MAX, {
    what: `p99 of ${LAUNCHES_PER_SECOND} launches/s beside ${CONSOLES} live consoles`,
    value: quantile(beside_ms, 0.5),
    unit: "ms",
    floor: quantile(alone_ms, 0.5),
    floor_what: "no console; the median of each",
    detail: `${loads} loads of the list`,
  }));
}

async function p99(bench: Bench, { port }: Server): Promise<number> {
  const [request] = launches(1);
  if (request === undefined) throw new Error("There is no request");
  const load = { port, request, per_second: LAUNCHES_PER_SECOND, seconds: bench.seconds };
  return (await paced(load)).p99_ms;
}

/** Opens a console. Its `end` is the number of times that it has loaded the list. */
async function watch({ port }: Server, signal: AbortSignal): Promise<{ end: Promise<number> }> {
  const url = `http://127.0.0.1:${port}`;
  const browser = new Browser(url);
  await browser.logIn(OPERATORS_TOKEN);
  const cookie = [...browser.cookies].map((each) => each.join("=")).join("; ");
  const answer = await fetch(`${url}/deliveries/events`, { headers: { cookie }, signal });
  const list = new LiveList(browser, signal);
  const follow = async () => {
    try {
      for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        if (text.includes("data: ")) list.refresh();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return await list.loads();
  };
  return { end: follow() };
}

/** A list that is loaded again when something has changed, but not too often. */
class LiveList {
  readonly #browser: Browser;
  readonly #signal: AbortSignal;
  #isStale = false;
  #loads = 0;
  #loading: Promise<void> | undefined;

  constructor(browser: Browser, signal: AbortSignal) {
    this.#browser = browser;
    this.#signal = signal;
  }

  refresh(): void {
    this.#isStale = true;
    this.#loading ??= this.#load().finally(() => this.#loading = undefined);
  }

  async loads(): Promise<number> {
    await this.#loading;
    return this.#loads;
  }

  async #load(): Promise<void> {
    while (this.#isStale && !this.#signal.aborted) {
      this.#isStale = false;
      const began_ms = performance.now();
      await this.#browser.get("deliveries", { "x-console-refresh": "1" });
      this.#loads++;
      const took_ms = performance.now() - began_ms;
      await pause(Math.min(REFRESH_MS_MAX, Math.max(REFRESH_MS, took_ms * LOAD_SHARE)));
    }
  }
}
