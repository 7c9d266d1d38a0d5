/**
 * Refused requests: a bad signature.
 *
 * @module
 */
import type { Bench, Stock } from "./bench.ts";
import { times } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { forgedLaunch } from "./requests.ts";
import { type Server, startFloor, startService } from "./servers.ts";
import { atLeast } from "./table.ts";
import { type Load, underLoad } from "./wrk.ts";

/** Measures refused requests against the same answer given at once. */
export async function measureRefused(bench: Bench): Promise<void> {
  const found = await inTurn(bench.rounds, {
    floor: () => refusedLoad(bench, "empty", (data) => startFloor(bench, "refusing", data)),
    service: () => refusedLoad(bench, "empty"),
  });
  bench.add(atLeast(0.7, {
    what: "refused requests (bad signature), 32 connections",
    value: found.service.per_second,
    unit: "/s",
    floor: found.floor.per_second,
    floor_what: "the same app answering 400 at once",
    detail: times(found.service),
  }));
}

/** Measures forged launches. */
export async function refusedLoad(
  bench: Bench,
  stock: Stock,
  start: (data: string) => Promise<Server> = (data) => startService(bench, "service", data),
): Promise<Load> {
  await using data = await bench.data(stock);
  await using server = await start(data.path);
  const options = { port: server.port, connections: 32, requests: [forgedLaunch()] };
  return await underLoad(bench, "refused", options);
}
