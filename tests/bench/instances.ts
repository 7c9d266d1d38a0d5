/**
 * Launches at one, two and three instances on one denokv server: of a free trigger, and of one with a window
 * that all of them share; also with a database that is 20 ms away. Beside them stands what the server itself stores, and
 * how many of the runs are performed a second until all have ended.
 *
 * @module
 */
import { serve, type Served } from "../faults/served.ts";
import { workshop } from "../faults/workshop.ts";
import { has } from "../needs.ts";
import { denokv, faultyWay } from "../store/denokv.ts";
import { KV_TOKEN } from "../store/kv_connect.ts";
import { newId } from "../../src/platform/ids.ts";
import { acceptWrites, newPending } from "../../src/store/records/runs.ts";
import { pendingOf } from "../runs/fixture.ts";
import type { Bench } from "./bench.ts";
import { pause } from "./measuring.ts";
import { OPERATORS_TOKEN, type Sent } from "./requests.ts";
import { metrics } from "./servers.ts";
import { atLeast } from "./table.ts";
import { type Load, load } from "./wrk.ts";

const CONNECTIONS = 128;
const INSTANCES = 3;
const LATENCY_MS = 20;
const POLL_MS = 50;
/** Commits that an instance has under way at once. */
const LANES = 4;
const OTHER = "01900000-0000-7000-8000-000000000003";
const FREE = "01900000-0000-7000-8000-000000000001";
const SHARED = "01900000-0000-7000-8000-000000000002";
const OWN = "01900000-0000-7000-8000-000000000004";
const KINDS = [
  { text: "of a free trigger", id: FREE, performed: "" },
  { text: "of a trigger with a window", id: SHARED },
  { text: "of a trigger with an HTTP request", id: OWN, performed: ", each by its own" },
];
/** An action that costs little, since launches are measured. */
const ACTIONS = [{ type: "fetch_repository" }];
/** One that every instance can perform. Nothing is sent. */
const OWN_ACTIONS = [{ type: "http_request", url: "https://example.com/", if: "false" }];
const ENV = {
  [KV_TOKEN.name]: KV_TOKEN.value,
  HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
  HOOKLAUNCH_ADMIN_TOKEN: OPERATORS_TOKEN,
};

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
      { id: OWN, name: "own", actions: OWN_ACTIONS },
    ]);
    await using server = await denokv(shop.folder);
    await using way = faultyWay(server.port);
    way.delay_ms = latency_ms;
    const url = latency_ms === 0 ? server.url : way.url;
    const serving: Served[] = [];
    const alone = new Map<string, Load>();
    const away = latency_ms === 0 ? "" : `, the database ${latency_ms} ms away`;
    const stored = await storedBy(url, bench.seconds);
    const performedByOne = new Map<string, number>();
    for (let count = 1; count <= INSTANCES; count++) {
      const data = `${shop.folder}/data-${count}`;
      serving.push(
        await serve(shop.folder, {
          data,
          flags: ["--kv", url],
          env: ENV,
        }),
      );
      for (const { text, id, performed: by } of KINDS) {
        const { measured, performed } = await together(bench, serving, id);
        alone.set(id, alone.get(id) ?? measured);
        const one = alone.get(id) ?? measured;
        const { p50_ms, p99_ms, refused } = measured;
        bench.add(atLeast(shareOf(count, latency_ms), {
          what: `launches at ${count} of ${INSTANCES} instances, ${text}${away}`,
          value: measured.per_second,
          unit: "/s",
          floor: one.per_second,
          floor_what: "one instance",
          detail: `p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms, ${refused} refused; ` +
            `${Math.round(100 * measured.per_second / stored)} % of what denokv stores (${
              Math.round(stored)
            }/s)`,
        }));
        if (by === undefined) continue;
        performedByOne.set(id, performedByOne.get(id) ?? performed);
        bench.add(atLeast(shareOf(count, latency_ms), {
          what: `runs performed at ${count} of ${INSTANCES} instances${by}${away}`,
          value: performed,
          unit: "/s",
          floor: performedByOne.get(id) ?? performed,
          floor_what: "one instance",
          detail: "from the first launch until all have ended",
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

/** Sends to all instances at once, adds up what they accepted, and waits until all runs have ended. */
async function together(
  bench: Bench,
  serving: readonly Served[],
  id: string,
): Promise<{ measured: Load; performed: number }> {
  const request: Sent = {
    method: "POST",
    path: `/api/v0/launch/${id}/`,
    headers: {},
    body: "x".repeat(1_024),
  };
  const connections = Math.floor(CONNECTIONS / serving.length);
  const [began_ms, before] = [performance.now(), await look(serving)];
  const loads = await Promise.all(
    serving.map(({ port }) => load(bench, { port, connections, requests: [request] })),
  );
  let after = await look(serving);
  while (after.backlog > 0) {
    await pause(POLL_MS);
    after = await look(serving);
  }
  const took_s = (performance.now() - began_ms) / 1_000;
  const most = (of: (load: Load) => number) => Math.max(...loads.map(of));
  const sum = (of: (load: Load) => number) => loads.reduce((sum, load) => sum + of(load), 0);
  const measured = {
    per_second: sum(({ per_second, refused }) => per_second - refused / bench.seconds),
    p50_ms: most(({ p50_ms }) => p50_ms),
    p99_ms: most(({ p99_ms }) => p99_ms),
    refused: sum(({ refused }) => refused),
    failed: sum(({ failed }) => failed),
  };
  return { measured, performed: (after.ended - before.ended) / took_s };
}

/** Counts what all instances have performed, and have before them. */
async function look(serving: readonly Served[]): Promise<{ ended: number; backlog: number }> {
  const wanted = [["hooklaunch_run_seconds_count", ""], ["hooklaunch_backlog", ""]] as const;
  const all = await Promise.all(serving.map(({ port }) => metrics(port, wanted)));
  const sum = (index: number) => all.reduce((sum, found) => sum + (found[index] ?? 0), 0);
  return { ended: sum(0), backlog: sum(1) };
}

/** Returns how many records of launches the server stores a second, by as many commits at once as an instance has. */
async function storedBy(url: string, seconds: number): Promise<number> {
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  using kv = await Deno.openKv(url);
  const body = new TextEncoder().encode("x".repeat(1_024));
  const until_ms = performance.now() + seconds * 1_000;
  let stored = 0;
  const commits = Array.from({ length: LANES }, async () => {
    while (performance.now() < until_ms) {
      const operation = kv.atomic();
      for (let count = 0; count < CONNECTIONS / LANES; count++) {
        const { run, worker } = pendingOf({ time_ms: Date.now() });
        const trigger = { ...run, id: newId(Date.now()), trigger_id: OTHER };
        const pending = newPending({ run: trigger, actions: ACTIONS, worker }, body);
        for (const { key, value } of acceptWrites(pending, body)) {
          // Not under the keys of runs: nobody is to perform these.
          operation.set(["stored", ...key], value);
        }
      }
      await operation.commit();
      stored += CONNECTIONS / LANES;
    }
  });
  await Promise.all(commits);
  return stored / seconds;
}
