/**
 * Run info: senders that ask how a run went.
 *
 * @module
 */
import type { Bench, Stock } from "./bench.ts";
import { times } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { paced } from "./paced.ts";
import { launches, pollBySignature, pollByToken } from "./requests.ts";
import { startFloor, startService } from "./servers.ts";
import { atLeast } from "./table.ts";
import { type Load, underLoad } from "./wrk.ts";

const CONNECTIONS = 32;
const LAUNCHES_PER_SECOND = 500;
/** Longer than any load: the launches are stopped when it is over. */
const LONG_S = 600;

/** The polls of the table. */
export const POLLS = [
  { text: "by GET with a token", request: pollByToken() },
  { text: "by POST with an HMAC", request: pollBySignature() },
];

/** Which polls. */
export interface PollKind {
  request: (typeof POLLS)[number]["request"];
  /** Whether 500 launches a second arrive meanwhile. */
  whileLaunching: boolean;
}

/** Measures polls against one read of the database by the same framework. */
export async function measurePolls(bench: Bench): Promise<void> {
  for (const { text, request } of POLLS) {
    const found = await inTurn(bench.rounds, {
      floor: () => floorLoad(bench, request),
      idle: () => pollLoad(bench, "empty", { request, whileLaunching: false }),
      launching: () => pollLoad(bench, "empty", { request, whileLaunching: true }),
    });
    for (const name of ["idle", "launching"] as const) {
      const meanwhile = name === "idle" ? "nothing launched" : `${LAUNCHES_PER_SECOND} launches/s`;
      bench.add(atLeast(0.7, {
        what: `run info ${text}, ${meanwhile}`,
        value: found[name].per_second,
        unit: "/s",
        floor: found.floor.per_second,
        floor_what: "Hono and one kv.get, nothing launched",
        detail: times(found[name]),
      }));
    }
  }
}

/** Measures polls of an ended run. */
export async function pollLoad(
  bench: Bench,
  stock: Stock,
  { request, whileLaunching }: PollKind,
): Promise<Load> {
  await using data = await bench.data(stock);
  await using server = await startService(bench, "service", data.path);
  const { port } = server;
  const stop = new AbortController();
  const [launch] = launches(1);
  const launching = whileLaunching && launch !== undefined
    ? paced({
      port,
      request: launch,
      per_second: LAUNCHES_PER_SECOND,
      seconds: LONG_S,
      signal: stop.signal,
    })
    : undefined;
  const options = { port, connections: CONNECTIONS, requests: [request] };
  const measured = await underLoad(bench, "accepted", options);
  stop.abort();
  await launching;
  return measured;
}

async function floorLoad(bench: Bench, request: PollKind["request"]): Promise<Load> {
  await using data = await bench.data("empty");
  await using server = await startFloor(bench, "reading", data.path);
  const options = { port: server.port, connections: CONNECTIONS, requests: [request] };
  return await underLoad(bench, "accepted", options);
}
