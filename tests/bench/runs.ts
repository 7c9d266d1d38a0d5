/**
 * Runs that come to their end while launches go on arriving as fast as they are answered, on an engine
 * that does nothing.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { pause } from "./measuring.ts";
import { launches } from "./requests.ts";
import { metrics, type Server, serverOn } from "./servers.ts";
import { atLeast } from "./table.ts";
import { load } from "./wrk.ts";

const CONNECTIONS = 32;
/** The load goes on for so long before and after what is measured. */
const MARGIN_S = 1;
/** A backlog that has grown by no more than this part of the launches has not grown. */
const GROWTH_MAX = 0.05;
/** The burst that goes before the work is over by then, on any machine. */
const SETTLE_WITHIN_S = 120;
const SETTLE_STEP_S = 1;
/** What came of a sustained load. */
export type Sustained = {
  /** At first, before runs had fallen behind, a second. */
  accepted_at_first: number;
  /** In the window after the backlog had settled, a second. */
  accepted: number;
  ended: number;
  backlog_before: number;
  backlog_after: number;
  /** The time under load before that window. */
  settled_s: number;
  window_s: number;
  /** Launches that were turned away. */
  refused: number;
};
/** Measures how many runs end, beside the launches that are accepted meanwhile. */
export async function measureRuns(bench: Bench): Promise<void> {
  await using server = await serverOn(bench, "service", "empty");
  const found = await sustained(bench, server);
  const { accepted_at_first, accepted, ended, backlog_before, backlog_after, refused } = found;
  const isGrowing = backlog_after - backlog_before > GROWTH_MAX * accepted * found.window_s;
  const row = atLeast(0.5, {
    what: "runs completed under sustained launches, 32 connections",
    value: ended,
    unit: "/s",
    floor: accepted,
    floor_what: `launches accepted meanwhile; ${Math.round(accepted_at_first)}/s at first`,
    detail: `backlog ${backlog_before} after ${found.settled_s.toFixed(0)} s, ${backlog_after} ` +
      `at the end${isGrowing ? ": growing" : ""}` +
      (refused === 0 ? "" : `; ${refused} launches turned away`),
  });
  bench.add({ ...row, met: row.met && !isGrowing && refused === 0 });
}

/** Keeps the load on until runs keep pace, and then for the time that is measured. */
export async function sustained(bench: Bench, { port }: Server): Promise<Sustained> {
  const began_ms = performance.now();
  const launch = async (seconds: number, measured_s = seconds) => {
    const requests = launches(1);
    const loading = load(bench, { port, connections: CONNECTIONS, requests, seconds });
    await pause((seconds - measured_s) * 1_000 / 2);
    const before = await look(port);
    await pause(measured_s * 1_000);
    const after = await look(port);
    const { refused, failed } = await loading;
    if (failed > 0) throw new Error(`${failed} launches were not answered`);
    return { before, after, refused };
  };
  const first = await launch(bench.seconds + 2 * MARGIN_S, bench.seconds);
  let { refused } = first;
  const keepsPace = ({ before, after }: Awaited<ReturnType<typeof launch>>) =>
    rate(before, after, "ended") >= 0.5 * rate(before, after, "accepted");
  const until_ms = performance.now() + SETTLE_WITHIN_S * 1_000;
  for (let found = first; !keepsPace(found) && performance.now() < until_ms;) {
    found = await launch(SETTLE_STEP_S);
    refused += found.refused;
  }
  const settled_s = (performance.now() - began_ms) / 1_000;
  const window_s = bench.isQuick ? 5 : 10;
  const { before, after, refused: last } = await launch(window_s + 2 * MARGIN_S, window_s);
  return {
    accepted_at_first: rate(first.before, first.after, "accepted"),
    accepted: rate(before, after, "accepted"),
    ended: rate(before, after, "ended"),
    backlog_before: before.backlog,
    backlog_after: after.backlog,
    settled_s,
    window_s,
    refused: refused + last,
  };
}

/** The counters of a service at one moment. */
interface Look {
  time_ms: number;
  accepted: number;
  ended: number;
  backlog: number;
}

async function look(port: number): Promise<Look> {
  const [accepted = NaN, ended = NaN, backlog = NaN] = await metrics(port, [
    ["hooklaunch_launch_seconds_count", 'status="200"'],
    ["hooklaunch_run_seconds_count", ""],
    ["hooklaunch_backlog", ""],
  ]);
  return { time_ms: performance.now(), accepted, ended, backlog };
}

function rate(before: Look, after: Look, what: "accepted" | "ended"): number {
  return (after[what] - before[what]) / ((after.time_ms - before.time_ms) / 1_000);
}
