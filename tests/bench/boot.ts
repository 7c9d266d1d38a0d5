/**
 * From the start of the process `serve` to its first accepted launch.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { pause, quantile } from "./measuring.ts";
import { launches } from "./requests.ts";
import { settled, spawnServe } from "./servers.ts";
import { atMost, below } from "./table.ts";

const AIM_MS = 300;
const POLL_MS = 2;
const SETTLED_WITHIN_MS = 30_000;
const ACCEPTED_WITHIN_MS = 120_000;

/** Measures the start with an empty data folder and with a full one. */
export async function measureBoot(bench: Bench): Promise<void> {
  await using empty = await bench.data("empty");
  await using full = await bench.data("full");
  // The first start of all compiles what the others find compiled.
  await bootOnce(bench, empty.path);
  const empty_ms: number[] = [];
  const full_ms: number[] = [];
  for (let count = 0; count < (bench.isQuick ? 3 : 7); count++) {
    empty_ms.push(await bootOnce(bench, empty.path));
    full_ms.push(await bootOnce(bench, full.path));
  }
  const what = "start to first accepted launch";
  const value = quantile(empty_ms, 0.5);
  bench.add(below(AIM_MS, { what: `${what}, empty`, value, unit: "ms", detail: spread(empty_ms) }));
  bench.add(atMost(1.2, {
    what: `${what}, full`,
    value: quantile(full_ms, 0.5),
    unit: "ms",
    floor: value,
    floor_what: "the same, empty",
    detail: spread(full_ms),
  }));
}

/** Starts the service on a data folder, and returns the milliseconds until its first 200. */
export async function bootOnce(bench: Bench, data: string): Promise<number> {
  const [launch] = launches(1);
  if (launch === undefined) return NaN;
  const { path, headers, body } = launch;
  const began_ms = performance.now();
  await using server = spawnServe(bench, data);
  const { port } = server;
  let took_ms: number | undefined;
  while (took_ms === undefined) {
    try {
      const url = `http://127.0.0.1:${port}${path}`;
      const answer = await fetch(url, { method: "POST", headers, body });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`The first launch was answered ${answer.status}: ${text}`);
      took_ms = performance.now() - began_ms;
    } catch (error) {
      const isLate = performance.now() - began_ms > ACCEPTED_WITHIN_MS;
      if (!(error instanceof TypeError) || isLate) throw error;
      // It does not listen yet.
      await pause(POLL_MS);
    }
  }
  // The next start should find nothing to go on with.
  await settled(port, SETTLED_WITHIN_MS);
  return took_ms;
}

/** Says how far the times of starts are apart. */
export function spread(times_ms: readonly number[]): string {
  const [least, most] = [quantile(times_ms, 0), quantile(times_ms, 1)].map(Math.round);
  return `median of ${times_ms.length}, ${least} to ${most} ms`;
}
