/**
 * Clusters: how long it takes from a launch's acceptance until its command runs there, against what the
 * cluster itself takes, and what it costs to look after many open executions.
 *
 * @module
 */
import { has } from "../needs.ts";
import { eventually } from "../surroundings.ts";
import type { Bench } from "./bench.ts";
import { startKubernetes, startSlurm, type TimedCluster, uptimeAsEpoch_ms } from "./clusters.ts";
import { pause, quantile } from "./measuring.ts";
import { fill } from "./prefill.ts";
import { makeProject } from "./project.ts";
import { launches, OPERATORS_TOKEN } from "./requests.ts";
import { metric, type Server, startServerForJobs } from "./servers.ts";
import { startOf } from "./start.ts";
import { atMost, below } from "./table.ts";

const OPEN = 500;
const WITHIN_MS = 120_000;
/** The time between two looks at a cluster. */
const LOOK_S = 2;
/** The time between two ticks of the engine. */
const TICK_S = 1;
/** The most processor time of a tick. */
const CPU_MS_MAX = 100;

/** The clusters, by what they need of the machine. */
const CLUSTERS = {
  slurmctld: { name: "Slurm", start: startSlurm },
  kubelet: { name: "Kubernetes", start: startKubernetes },
} as const;

/** Measures each cluster that this machine can run. */
export async function measureEngines(bench: Bench): Promise<void> {
  for (const [needed, { name, start }] of Object.entries(CLUSTERS)) {
    // The names are the keys of the object itself.
    if (!has(needed as keyof typeof CLUSTERS)) {
      console.error(`Left out: ${name}, since ${needed} is not installed, or cannot be used`);
      continue;
    }
    await using cluster = bench.owned(await start(bench.folder));
    await measureSubmissions(bench, name, cluster);
    await measureOpen(bench, name, cluster);
  }
}

async function measureSubmissions(bench: Bench, name: string, cluster: TimedCluster) {
  await using server = await serverOf(bench, cluster, { isHeld: false });
  const found: Record<"own" | "ours", number[]> = { own: [], ours: [] };
  const measures = { own: () => cluster.startOnce(), ours: () => launchOnce(server) };
  const names = ["own", "ours"] as const;
  // The first brings the project's repository.
  for (const measure of Object.values(measures)) await measure();
  for (let count = 0; count < (bench.isQuick ? 10 : 50); count++) {
    for (const each of count % 2 === 0 ? names : names.toReversed()) {
      found[each].push(await measures[each]());
    }
  }
  const slowest_ms = Math.round(Math.max(...found.ours));
  bench.add(atMost(1.5, {
    what: `acceptance to command started, ${name}, p50`,
    value: quantile(found.ours, 0.5),
    unit: "ms",
    floor: quantile(found.own, 0.5),
    floor_what: `${cluster.own}, p50`,
    detail: `${found.ours.length} launches, the slowest ${slowest_ms} ms; ` +
      `the cluster's own slowest ${Math.round(Math.max(...found.own))} ms`,
  }));
}

async function measureOpen(bench: Bench, name: string, cluster: TimedCluster): Promise<void> {
  await using server = await serverOf(bench, cluster, { isHeld: true });
  const seconds = bench.isQuick ? 10 : 30;
  const idle = await costOf(server, seconds);
  const requests = launches(1);
  for (let count = 0; count < OPEN; count++) await launch(server, requests[0]);
  await eventually(async () => await cluster.heldJobs() >= OPEN || undefined, {
    within_ms: WITHIN_MS,
    what: `${OPEN} jobs`,
  });
  // The looks that see the last of them.
  await pause(3 * LOOK_S * 1_000);
  const waiting = await metric(server.port, "hooklaunch_executions_waiting");
  const open = await costOf(server, seconds);
  const looks = seconds / LOOK_S;
  bench.add(below(cluster.lists + 0.5, {
    what: `requests each ${LOOK_S} s at ${waiting} open executions, ${name}`,
    value: open.requests / looks,
    unit: "",
    detail: `${cluster.lists === 1 ? "one list" : `${cluster.lists} lists`} a look`,
  }));
  bench.add(below(CPU_MS_MAX, {
    what: `processor time per tick at ${waiting} open executions, ${name}`,
    value: open.cpu_ms / seconds * TICK_S,
    unit: "ms",
    detail: `a tick each ${TICK_S} s; without any execution ${
      (idle.cpu_ms / seconds).toFixed(1)
    } ms`,
  }));
}

/** Starts the service, with the cluster as the engine of its project. */
async function serverOf(
  bench: Bench,
  cluster: TimedCluster,
  { isHeld }: { isHeld: boolean },
): Promise<Server> {
  const engine = cluster.settings({ isHeld });
  const folder = `clock-${engine.type}`;
  const repository = await makeProject(bench.folder, { folder, ...cluster.step });
  const data = await Deno.makeTempDir({ dir: bench.folder, prefix: "data-" });
  await fill(data, repository, { triggers: 1, runs: 0, engine });
  return await startServerForJobs(bench, data);
}

async function launch({ port }: Server, request = launches(1)[0]): Promise<string> {
  if (request === undefined) throw new Error("There is nothing to launch");
  const { path, headers, body } = request;
  const url = `http://127.0.0.1:${port}${path}`;
  const answer = await fetch(url, { method: "POST", headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`The launch was refused: ${answer.status} ${text}`);
  return text;
}

/** Launches, and returns the time to the command's look at the clock, in milliseconds. */
async function launchOnce(server: Server): Promise<number> {
  const { port } = server;
  const runId = await launch(server);
  const headers = { authorization: `Bearer ${OPERATORS_TOKEN}` };
  const read = async (path: string) =>
    await (await fetch(`http://127.0.0.1:${port}/api/v0/${path}`, { headers })).json();
  await eventually(async () => {
    const execution = (await read(`runs/${runId}`)).actions[0]?.created.execution_id;
    if (execution === undefined) return undefined;
    const { status, reason } = await read(`executions/${execution}`);
    if (status === "error") throw new Error(`The execution failed: ${reason}`);
    return status === "complete" || undefined;
  }, { within_ms: WITHIN_MS, what: "the end of the execution" });
  return await startOf(port, runId, uptimeAsEpoch_ms);
}

/** Returns what the service costs in a while. */
async function costOf(server: Server, seconds: number): Promise<Cost> {
  const before = await costUntilNow(server);
  await pause(seconds * 1_000);
  const after = await costUntilNow(server);
  return { requests: after.requests - before.requests, cpu_ms: after.cpu_ms - before.cpu_ms };
}

interface Cost {
  requests: number;
  cpu_ms: number;
}

async function costUntilNow(server: Server): Promise<Cost> {
  const before = server.printed().length;
  await server.tell("cost");
  const line = await eventually(() => /^\{.*\}\n/.exec(server.printed().slice(before))?.[0]);
  return JSON.parse(line);
}
