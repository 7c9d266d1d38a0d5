/**
 * Launches at one, two and three instances on one denokv server: of a free trigger, and of one with a window
 * that all of them share; also with a database that is 20 ms away.
 *
 * @module
 */
import { serve, type Served } from "../faults/served.ts";
import { workshop } from "../faults/workshop.ts";
import { has } from "../needs.ts";
import { denokv, faultyWay } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import type { Bench } from "./bench.ts";
import type { Sent } from "./requests.ts";
import { atLeast } from "./table.ts";
import { type Load, load } from "./wrk.ts";

const CONNECTIONS = 128;
const INSTANCES = 3;
const LATENCY_MS = 20;
const FREE = "01900000-0000-7000-8000-000000000001";
const SHARED = "01900000-0000-7000-8000-000000000002";
const KINDS = [
  { text: "of a free trigger", id: FREE },
  { text: "of a trigger with a window", id: SHARED },
];
/** An action that costs little, since launches are measured. */
const ACTIONS = [{ type: "fetch_repository" }];
const ENV = { [KV_TOKEN.name]: KV_TOKEN.value, HOOKLAUNCH_SECRET_KEY: "00".repeat(32) };

/** Measures launches at several instances. */
export async function measureInstances(bench: Bench): Promise<void> {
  if (!has("denokv")) throw new Error("The benchmark of instances needs denokv");
  for (const latency_ms of [0, LATENCY_MS]) {
    await using shop = await workshop([
      { id: FREE, name: "free", actions: ACTIONS },
      {
        id: SHARED,
        name: "shared",
        actions: ACTIONS,
        conditions: [{ type: "rate_limit", period: 3_600, quota: 1_000_000 }],
      },
    ]);
    await using server = await denokv(shop.folder);
    await using way = faultyWay(server.port);
    way.delay_ms = latency_ms;
    const url = latency_ms === 0 ? server.url : way.url;
    const serving: Served[] = [];
    const alone = new Map<string, Load>();
    for (let count = 1; count <= INSTANCES; count++) {
      const data = `${shop.folder}/data-${count}`;
      serving.push(await serve(shop.folder, { data, flags: ["--kv", url], env: ENV }));
      for (const { text, id } of KINDS) {
        const measured = await together(bench, serving, id);
        alone.set(id, alone.get(id) ?? measured);
        const one = alone.get(id) ?? measured;
        const away = latency_ms === 0 ? "" : `, the database ${latency_ms} ms away`;
        const { p50_ms, p99_ms, refused } = measured;
        bench.add(atLeast(shareOf(count, latency_ms), {
          what: `launches at ${count} of ${INSTANCES} instances, ${text}${away}`,
          value: measured.per_second,
          unit: "/s",
          floor: one.per_second,
          floor_what: "one instance",
          detail: `p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms, ${refused} refused`,
        }));
      }
    }
    for (const each of serving) each.signal("SIGKILL");
    await Promise.all(serving.map((each) => each.end()));
  }
}

/** The share of the launches of one instance that several should reach. */
function shareOf(count: number, latency_ms: number): number {
  return count === INSTANCES && latency_ms > 0 ? 2.5 : 0.9;
}

/** Sends to all instances at once, and adds up what they accepted. */
async function together(bench: Bench, serving: readonly Served[], id: string): Promise<Load> {
  const request: Sent = {
    method: "POST",
    path: `/api/v0/launch/${id}/`,
    headers: {},
    body: "x".repeat(1_024),
  };
  const connections = Math.floor(CONNECTIONS / serving.length);
  const loads = await Promise.all(
    serving.map(({ port }) => load(bench, { port, connections, requests: [request] })),
  );
  const most = (of: (load: Load) => number) => Math.max(...loads.map(of));
  const sum = (of: (load: Load) => number) => loads.reduce((sum, load) => sum + of(load), 0);
  return {
    per_second: sum(({ per_second, refused }) => per_second - refused / bench.seconds),
    p50_ms: most(({ p50_ms }) => p50_ms),
    p99_ms: most(({ p99_ms }) => p99_ms),
    refused: sum(({ refused }) => refused),
    failed: sum(({ failed }) => failed),
  };
}
