/**
 * Memory: what the process takes of it, as the service itself tells.
 *
 * @module
 */
import type { Bench, Stock } from "./bench.ts";
import { pause } from "./measuring.ts";
import { launches } from "./requests.ts";
import { metric, spawnServe, startServer } from "./servers.ts";
import { atMost, below } from "./table.ts";
import { load } from "./wrk.ts";

const MIB = 1024 * 1024;
const CONNECTIONS = 32;
/** What is no growth: memory differs by some percent from start to start. */
const SAME = 1.1;

/** Measures memory idle, with much stored, and after full load. */
export async function measureMemory(bench: Bench): Promise<void> {
  const empty = await idleMibOn(bench, "empty");
  bench.add(below(80, { what: "memory, idle", value: empty, unit: "MiB" }));
  bench.add(atMost(SAME, {
    what: `memory, idle, ${bench.runs} runs stored`,
    value: await idleMibOn(bench, "full"),
    unit: "MiB",
    floor: empty,
    floor_what: "idle, empty",
  }));
  const seconds = bench.isQuick ? 10 : 60;
  const what = `memory, after ${seconds} s of full load`;
  const loaded = await afterLoad(bench, "empty", seconds);
  bench.add(below(250, { what, value: loaded.mib, unit: "MiB", detail: loaded.detail }));
  const full = await afterLoad(bench, "full", seconds);
  bench.add(atMost(SAME, {
    what: `${what}, ${bench.runs} runs stored`,
    value: full.mib,
    unit: "MiB",
    floor: loaded.mib,
    floor_what: "after full load, empty",
    detail: full.detail,
  }));
}

async function idleMibOn(bench: Bench, stock: Stock): Promise<number> {
  await using data = await bench.data(stock);
  return await idleMib(bench, data.path);
}

/** Returns the memory of a service that was started on a data folder, in MiB. */
export async function idleMib(bench: Bench, data: string): Promise<number> {
  await using server = spawnServe(bench, data);
  const { port } = server;
  while (!await fetch(`http://127.0.0.1:${port}/healthz`).then((r) => r.text(), () => undefined)) {
    await pause(50);
  }
  // What is looked through at the start is looked through by then.
  await pause(bench.isQuick ? 2_000 : 5_000);
  return await rssMib(port);
}

async function afterLoad(
  bench: Bench,
  stock: Stock,
  seconds: number,
): Promise<{ mib: number; detail: string }> {
  await using data = await bench.data(stock);
  await using server = await startServer(bench, "service", data.path);
  const { port } = server;
  const options = { port, connections: CONNECTIONS, requests: launches(1), seconds };
  const { per_second, refused } = await load(bench, options);
  const mib = await rssMib(port);
  const backlog = await metric(port, "hooklaunch_backlog");
  const sent = Math.round(per_second * seconds);
  return {
    mib,
    detail: `${sent - refused} launches accepted, ${refused} turned away, ${backlog} wait`,
  };
}

async function rssMib(port: number): Promise<number> {
  return await metric(port, "hooklaunch_memory_bytes") / MIB;
}
