/**
 * How long it takes from a launch's acceptance until its command runs: to the command's own first look
 * at the clock.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { quantile } from "./measuring.ts";
import { paced } from "./paced.ts";
import { COMMAND } from "./project.ts";
import { launches, OPERATORS_TOKEN } from "./requests.ts";
import { type Server, serverOn, settled } from "./servers.ts";
import { atMostOver, below } from "./table.ts";

const QUANTILES = [{ name: "p50", share: 0.5, over_ms: 15 }, {
  name: "p99",
  share: 0.99,
  over_ms: 100,
}];
const LAUNCHES_PER_SECOND = 100;
/** How long commands may take to start when the launches are over. */
const SETTLED_WITHIN_MS = 30_000;
/** More launches a second than commands can start, and how long. */
const BURST = { per_second: 200, seconds: 5, settled_within_ms: 120_000 };

/**
 * Measures the time to the command's start, idle and at 100 launches a second, against a spawn, and counts what a
 * burst loses.
 */
export async function measureStarts(bench: Bench): Promise<void> {
  const spawns_ms: number[] = [];
  for (let count = 0; count < (bench.isQuick ? 50 : 200); count++) {
    spawns_ms.push(await spawnOnce());
  }
  const cases = [
    { name: "idle", starts_ms: await idleOnes(bench) },
    {
      name: `at ${LAUNCHES_PER_SECOND} launches/s`,
      starts_ms: await pacedStarts(bench, {
        per_second: LAUNCHES_PER_SECOND,
        seconds: bench.isQuick ? 3 : 10,
        settled_within_ms: SETTLED_WITHIN_MS,
      }),
    },
  ];
  for (const { name, starts_ms } of cases) {
    const never = starts_ms.filter((time) => time === Infinity).length;
    for (const { name: quantileName, share, over_ms } of QUANTILES) {
      bench.add(atMostOver(over_ms, {
        what: `acceptance to command started, ${name}, ${quantileName}`,
        value: quantile(starts_ms, share),
        unit: "ms",
        floor: quantile(spawns_ms, share),
        floor_what: `a spawn of bash with the same command, ${quantileName}`,
        detail: `${starts_ms.length} launches` +
          (never === 0 ? "" : `, ${never} not started ${SETTLED_WITHIN_MS / 1_000} s later`),
      }));
    }
  }
  const burst_ms = await pacedStarts(bench, BURST);
  bench.add(below(1, {
    what: `a burst at ${BURST.per_second} launches/s, commands that never start`,
    value: burst_ms.filter((time) => time === Infinity).length,
    unit: `of ${burst_ms.length}`,
    detail: `p99 of the others' start ${
      (quantile(burst_ms.filter((time) => time < Infinity), 0.99) / 1_000).toFixed(1)
    } s`,
  }));
}

async function idleOnes(bench: Bench): Promise<number[]> {
  await using server = await serverOn(bench, "real_engine", "empty");
  return await idleStarts(server, bench.isQuick ? 20 : 100);
}

/** The times to the start of commands that are launched one after the other, in milliseconds. */
export async function idleStarts({ port }: Server, launched: number): Promise<number[]> {
  const [launch] = launches(1);
  if (launch === undefined) return [];
  const starts_ms: number[] = [];
  // The first brings the project's repository.
  for (let count = -1; count < launched; count++) {
    const { path, headers, body } = launch;
    const url = `http://127.0.0.1:${port}${path}`;
    const answer = await fetch(url, { method: "POST", headers, body });
    const runId = await answer.text();
    await settled(port, SETTLED_WITHIN_MS);
    const start_ms = await startOf(port, runId);
    if (count >= 0) starts_ms.push(start_ms);
  }
  return starts_ms;
}

async function pacedStarts(
  bench: Bench,
  { settled_within_ms, ...pace }: typeof BURST,
): Promise<number[]> {
  await using server = await serverOn(bench, "real_engine", "empty");
  const { port } = server;
  const [request] = launches(1);
  if (request === undefined) return [];
  await paced({ port, request, per_second: 1, seconds: 1 });
  await settled(port, SETTLED_WITHIN_MS);
  const { answers } = await paced({ port, request, ...pace });
  await settled(port, settled_within_ms);
  const starts_ms: number[] = [];
  for (const runId of answers) starts_ms.push(await startOf(port, runId));
  return starts_ms;
}

async function spawnOnce(): Promise<number> {
  const began_ms = Date.now();
  const { stdout } = await new Deno.Command("bash", { args: ["-c", COMMAND] }).output();
  return epoch_ms(new TextDecoder().decode(stdout)) - began_ms;
}

/** From a run's acceptance to its command's look at the clock; infinite where it has not started. */
export async function startOf(
  port: number,
  runId: string,
  read_ms: (printed: string) => number = epoch_ms,
): Promise<number> {
  const headers = { authorization: `Bearer ${OPERATORS_TOKEN}` };
  const read = async (path: string) =>
    await (await fetch(`http://127.0.0.1:${port}/api/v0/${path}`, { headers })).json();
  const run = await read(`runs/${runId}`);
  const execution = run.actions[0]?.created.execution_id;
  if (execution === undefined) return Infinity;
  const log = await read(`executions/${execution}/log`);
  const line = log.results.find(({ stream }: { stream: string }) => stream === "stdout");
  return line === undefined ? Infinity : read_ms(line.message) - Date.parse(run.created_at);
}

/** Returns seconds with a fraction, such as those of EPOCHREALTIME in bash, in milliseconds. */
function epoch_ms(text: string): number {
  return Number(text.trim().replace(",", ".")) * 1_000;
}
