/**
 * Launches at a constant rate, whether the answers come or not.
 *
 * @module
 */
import type { Sent } from "./requests.ts";
import { quantile } from "./measuring.ts";

/** What came of paced launches. */
export type Paced = {
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
  /** The bodies of the answers: the ids of the runs. */
  answers: string[];
  /** Those that were answered 503. */
  refused: number;
};

/** Paced launches. */
export interface PacedOptions {
  port: number;
  /** The request, or several that take turns. */
  request: Sent | readonly Sent[];
  per_second: number;
  seconds: number;
  /** Counts what is answered 503, in place of an error. */
  countsRefused?: boolean;
  /** Ends them before their time. */
  signal?: AbortSignal;
}

const TICK_MS = 2;

/**
 * Launches at a constant rate.
 *
 * @throws {Error} when one is not accepted
 */
export async function paced(options: PacedOptions): Promise<Paced> {
  const { port, request, per_second, seconds, signal, countsRefused = false } = options;
  const requests = [request].flat();
  const times_ms: number[] = [];
  const answers: string[] = [];
  const sending: Promise<void>[] = [];
  const failures: unknown[] = [];
  let refused = 0;
  const send = async ({ method, path, headers, body }: Sent) => {
    const began_ms = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body });
    const text = await answer.text();
    if (countsRefused && answer.status === 503) return void refused++;
    times_ms.push(performance.now() - began_ms);
    if (!answer.ok) throw new Error(`A paced launch was answered ${answer.status}: ${text}`);
    answers.push(text);
  };
  const start_ms = performance.now();
  for (let sent = 0; sent < per_second * seconds && !signal?.aborted && failures.length === 0;) {
    const due = Math.ceil((performance.now() - start_ms) / 1_000 * per_second);
    for (; sent < Math.min(due, per_second * seconds); sent++) {
      const next = requests[sent % requests.length];
      if (next) sending.push(send(next).catch((error) => void failures.push(error)));
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(sending);
  if (failures.length > 0) throw failures[0];
  return {
    p50_ms: quantile(times_ms, 0.5),
    p99_ms: quantile(times_ms, 0.99),
    max_ms: quantile(times_ms, 1),
    answers,
    refused,
  };
}
