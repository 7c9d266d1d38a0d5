/**
 * `deno task bench scale --deliveries N --triggers N`: the service on a data folder with so much stored. Its
 * records are those that the store's own functions make, and nothing of it is copied: cleanup comes last.
 *
 * @module
 */
import { join } from "node:path";
import { CONFIG_FLAGS } from "../surroundings.ts";
import type { Bench } from "./bench.ts";
import { bootOnce, spread } from "./boot.ts";
import { launchOn } from "./cleanup.ts";
import { measureLists } from "./deliveries.ts";
import { quantile } from "./measuring.ts";
import { idleMib } from "./memory.ts";
import { type Paced, paced } from "./paced.ts";
import { launches, triggerId } from "./requests.ts";
import { serverOn, startServer } from "./servers.ts";
import { atMost, told } from "./table.ts";

const MIB = 1024 * 1024;
const STARTS = 3;
/** Fewer than a service accepts, so that it waits for the disk and not for the processor. */
const LAUNCHES_PER_SECOND = 100;
/** Launches are measured for so long. */
const LAUNCHES_S = 20;
/** A cleanup that takes longer is measured until then. */
const CLEANUP_MAX_S = 600;
const CLEANUP_QUICK_MAX_S = 30;
/** The slowest launch of a hundred, against the same on an empty data folder. */
const SLOWER = 1.5;
const MAIN = new URL("../../src/main.ts", import.meta.url).pathname;

/** Measures start, memory, launches, lists, a backup and a cleanup. */
export async function measureScale(bench: Bench): Promise<void> {
  const { deliveries, triggers } = bench.scale;
  const began_ms = performance.now();
  const data = await bench.stock("scale");
  const filled_s = (performance.now() - began_ms) / 1_000;
  bench.add(told({
    what: `${deliveries} deliveries and ${triggers} triggers stored`,
    value: filled_s,
    unit: "s",
    detail: `${((deliveries + triggers) / filled_s).toFixed(0)} records/s`,
  }));
  const stored_bytes = await bytesIn(data);
  bench.add(told({
    what: "the data folder",
    value: stored_bytes / MIB,
    unit: "MiB",
    detail: `${(stored_bytes / (deliveries + triggers)).toFixed(0)} bytes a record`,
  }));
  await measureStart(bench, data);
  await measureIdle(bench, data);
  const empty = await launchesOn(bench, "empty", 1);
  const full = await launchesOn(bench, data, triggers);
  const rate = `p99 of ${LAUNCHES_PER_SECOND} launches/s`;
  bench.add(slower(`${rate}, over all triggers`, full, empty));
  await using server = await startServer(bench, "service", data);
  await measureLists(bench, server.port, deliveries, [
    ["triggers", "triggers/"],
    ["triggers, 200 of them", "triggers/?limit=200"],
    ["a trigger by its name", `triggers/?name=trigger-${triggerId(Math.floor(triggers / 2))}`],
    ["executions", "executions/"],
    ["what needs attention", "attention/"],
  ]);
  await measureBackup(bench, { data, port: server.port, triggers });
  await server.stop();
  await measureCleanup(bench, data);
}

async function measureStart(bench: Bench, data: string): Promise<void> {
  await using empty = await bench.data("empty");
  const times_ms: { empty: number[]; full: number[] } = { empty: [], full: [] };
  // The first start of all compiles what the others find compiled.
  await bootOnce(bench, empty.path);
  const first_ms = await bootOnce(bench, data);
  for (let count = 0; count < STARTS; count++) {
    times_ms.empty.push(await bootOnce(bench, empty.path));
    times_ms.full.push(await bootOnce(bench, data));
  }
  bench.add(atMost(1.2, {
    what: "start to first accepted launch",
    value: quantile(times_ms.full, 0.5),
    unit: "ms",
    floor: quantile(times_ms.empty, 0.5),
    floor_what: "the same, empty",
    detail: `${spread(times_ms.full)}; the first of all ${first_ms.toFixed(0)} ms`,
  }));
}

async function measureIdle(bench: Bench, data: string): Promise<void> {
  await using empty = await bench.data("empty");
  bench.add(atMost(1.1, {
    what: "memory, idle",
    value: await idleMib(bench, data),
    unit: "MiB",
    floor: await idleMib(bench, empty.path),
    floor_what: "idle, empty",
  }));
}

/** Launches at a constant rate, of so many triggers in turn. */
async function launchesOn(bench: Bench, data: string, triggers: number): Promise<Paced> {
  await using server = data === "empty"
    ? await serverOn(bench, "service", "empty")
    : await startServer(bench, "service", data);
  return await launchAt(server.port, { triggers, seconds: bench.isQuick ? 5 : LAUNCHES_S });
}

async function launchAt(
  port: number,
  { triggers, ...options }: { triggers: number; seconds: number; signal?: AbortSignal },
): Promise<Paced> {
  const request = launches(triggers);
  const per_second = LAUNCHES_PER_SECOND;
  return await paced({ port, request, per_second, countsRefused: true, ...options });
}

/** Measures the command `backup` beside the service, and launches meanwhile. */
async function measureBackup(
  bench: Bench,
  { data, port, triggers }: { data: string; port: number; triggers: number },
): Promise<void> {
  const target = join(bench.folder, "backup.tar.gz");
  const without = await launchAt(port, { triggers, seconds: LAUNCHES_S });
  const over = new AbortController();
  const launching = launchAt(port, { triggers, seconds: Infinity, signal: over.signal });
  const began_ms = performance.now();
  try {
    await succeed(bench, ["backup", target, "--data", data]);
  } finally {
    over.abort();
  }
  const took_s = (performance.now() - began_ms) / 1_000;
  const { size } = await Deno.stat(target);
  bench.add(told({
    what: "a backup beside launches",
    value: took_s,
    unit: "s",
    detail: `${(size / MIB).toFixed(0)} MiB`,
  }));
  bench.add(slower("p99 of launches meanwhile", await launching, without));
  await Deno.remove(target);
}

/** Measures a cleanup of what is older than 30 days, which nine of ten deliveries are. */
async function measureCleanup(bench: Bench, data: string): Promise<void> {
  const max_s = bench.isQuick ? CLEANUP_QUICK_MAX_S : CLEANUP_MAX_S;
  const rate = { per_second: LAUNCHES_PER_SECOND, countsRefused: true };
  const without = await launchOn(bench, data, { cleansUp: false, seconds: LAUNCHES_S, ...rate });
  const during = await launchOn(bench, data, { cleansUp: true, seconds: max_s, ...rate });
  const { report } = during;
  // Runs are taken off their lists first.
  const removed = report ? report.unlisted + report.runs + report.log_entries : NaN;
  bench.add(told({
    what: "entries of lists, runs and log entries removed by cleanup",
    value: removed / (report?.seconds ?? NaN),
    unit: "/s",
    detail: `${removed} in ${report?.seconds.toFixed(0)} s, of at most ${max_s} s`,
  }));
  bench.add(slower("p99 of launches meanwhile", during, without));
}

function slower(what: string, value: Paced, floor: Paced) {
  return atMost(SLOWER, {
    what,
    value: value.p99_ms,
    unit: "ms",
    floor: floor.p99_ms,
    floor_what: "the same without",
    detail: `p50 ${value.p50_ms.toFixed(1)} against ${floor.p50_ms.toFixed(1)} ms, slowest ` +
      `${value.max_ms.toFixed(0)} against ${
        floor.max_ms.toFixed(0)
      } ms, ${value.refused} against ` +
      `${floor.refused} refused`,
  });
}

/** Runs a command of the command line to its end. */
async function succeed(bench: Bench, args: string[]): Promise<void> {
  const child = bench.spawn(Deno.execPath(), {
    args: ["run", ...CONFIG_FLAGS, "--allow-all", MAIN, ...args],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
  const { success } = await child.status;
  if (!success) throw new Error(`hooklaunch ${args.join(" ")} failed`);
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    bytes += isDirectory ? await bytesIn(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}
