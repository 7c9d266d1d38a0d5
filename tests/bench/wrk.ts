/**
 * Load as fast as the answers come, by wrk: its own work is small beside that of the service, which a
 * client in JavaScript would take the processor from.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { type Sent, wireText } from "./requests.ts";

/** What was measured of a load. */
export type Load = {
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  /** Answers with a status of 400 or more. */
  refused: number;
  /** Requests without an answer. */
  failed: number;
};

/** A load. */
export interface LoadOptions {
  port: number;
  connections: number;
  /** Sent in turn, again and again. */
  requests: readonly Sent[];
  /** How long, if not as long as the benchmark's other loads. */
  seconds?: number;
}

const WARM_UP_S = 1;

/**
 * Measures a load, after a short one that is not measured.
 *
 * @throws {Error} when a request has no answer, or not the one it should have
 */
export async function underLoad(
  bench: Bench,
  expected: "accepted" | "refused",
  options: LoadOptions,
): Promise<Load> {
  await load(bench, { ...options, seconds: WARM_UP_S });
  const measured = await load(bench, options);
  const { refused, failed } = measured;
  if (failed > 0 || (refused > 0) !== (expected === "refused")) {
    throw new Error(`Expected all to be ${expected}: ${refused} refused, ${failed} not answered`);
  }
  return measured;
}

/** Sends a load at once, whatever the answers are. */
export async function load(
  bench: Bench,
  { port, connections, requests, seconds = bench.seconds }: LoadOptions,
): Promise<Load> {
  const file = await Deno.makeTempFile({ dir: bench.folder });
  await Deno.writeTextFile(
    file,
    requests.map(wireText).map((text) => `${text.length}\n${text}`).join(""),
  );
  const script = new URL("wrk.lua", import.meta.url).pathname;
  const child = bench.spawn("wrk", {
    args: [
      ...["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "20s", "-s", script],
      ...[`http://127.0.0.1:${port}/`, "--", file],
    ],
    stdout: "piped",
  });
  const { success, stdout } = await child.output();
  await Deno.remove(file);
  const printed = new TextDecoder().decode(stdout).trim();
  if (!success) throw new Error(`wrk failed: ${printed}`);
  return JSON.parse(printed.split("\n").at(-1) ?? "");
}
