/**
 * Run info: senders that ask how a run went.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { times } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { paced } from "./paced.ts";
import { launches, pollBySignature, pollByToken, type Sent } from "./requests.ts";
import { measuredOn, type Server } from "./servers.ts";
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

/** Measures polls against one read of the database by the same framework. */
export async function measurePolls(bench: Bench): Promise<void> {
  for (const { text, request } of POLLS) {
    const found = await inTurn(bench.rounds, {
      floor: () =>
        measuredOn([bench, "reading", "empty"], (server) => pollLoad(bench, server, request)),
      idle: () =>
        measuredOn([bench, "service", "empty"], (server) => pollLoad(bench, server, request)),
      launching: () =>
        measuredOn(
          [bench, "service", "empty"],
          (server) => whileLaunching(server, () => pollLoad(bench, server, request)),
        ),
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
export function pollLoad(bench: Bench, { port }: Server, request: Sent): Promise<Load> {
  return underLoad(bench, "accepted", { port, connections: CONNECTIONS, requests: [request] });
}

async function whileLaunching(
  { port }: Server,
  measure: () => Promise<Load>,
): Promise<Load> {
  const [request] = launches(1);
  if (request === undefined) throw new Error("There is no launch");
  const stop = new AbortController();
  const load = { port, request, per_second: LAUNCHES_PER_SECOND, seconds: LONG_S };
  const launching = paced({ ...load, signal: stop.signal });
  const measured = await measure();
  stop.abort();
  await launching;
  return measured;
}
