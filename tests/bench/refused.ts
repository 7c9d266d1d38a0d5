/**
 * Refused requests: a bad signature.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { times } from "./launch.ts";
import { inTurn } from "./measuring.ts";
import { forgedLaunch } from "./requests.ts";
import { measuredOn, type Server } from "./servers.ts";
import { atLeast } from "./table.ts";
import { type Load, underLoad } from "./wrk.ts";

/** Measures refused requests against the same answer given at once. */
export async function measureRefused(bench: Bench): Promise<void> {
  const found = await inTurn(bench.rounds, {
    floor: () => measuredOn([bench, "refusing", "empty"], (server) => refusedLoad(bench, server)),
    service: () => measuredOn([bench, "service", "empty"], (server) => refusedLoad(bench, server)),
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
export function refusedLoad(bench: Bench, { port }: Server): Promise<Load> {
  return underLoad(bench, "refused", { port, connections: 32, requests: [forgedLaunch()] });
}
