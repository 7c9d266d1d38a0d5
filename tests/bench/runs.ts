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
const WARM_UP_S = 2;
/** A backlog that has grown by no more than this much of a second's launches has not grown. */
const GROWTH_MAX = 0.25;

/** What came of a sustained load. */
export type Sustained = {
  /** At first, before runs had fallen behind. */
  accepted_at_first: number;
  /** In the window after the backlog had settled, a second. */
  accepted: number;
  ended: number;
  backlog_before: number;
  backlog_after: number;
  /** Launches that were turned away, since too many runs waited. */
  refused: number;
};

/** Measures how many runs end, against how many launches are accepted at first. */
export async function measureRuns(bench: Bench): Promise<void> {
  await using server = await serverOn(bench, "service", "empty");
  const found = await sustained(bench, server);
  const { accepted_at_first, accepted, ended, backlog_before, backlog_after, refused } = found;
  const grew = backlog_after - backlog_before;
  // A backlog that is full cannot grow any more.
  const isGrowing = grew > GROWTH_MAX * accepted_at_first || refused > 0;
  const row = atLeast(0.5, {
    what: "runs completed under sustained launches, 32 connections",
    value: ended,
    unit: "/s",
    floor: accepted_at_first,
    floor_what: "launches accepted before runs fell behind",
    detail: `accepted meanwhile ${Math.round(accepted)}/s; backlog ${backlog_before} at first, ` +
      `${backlog_after} at the end${isGrowing ? ": growing" : ""}` +
      (refused === 0 ? "" : `; ${refused} launches turned away`),
  });
  bench.add({ ...row, met: row.met && !isGrowing });
}

/** Keeps the load on until the backlog has settled, and then for the time that is measured. */
export async function sustained(bench: Bench, { port }: Server): Promise<Sustained> {
  const settle_s = bench.isQuick ? 3 : 10;
  const window_s = bench.isQuick ? 3 : 10;
  const seconds = WARM_UP_S + bench.seconds + settle_s + window_s + 1;
  const requests = launches(1);
  const loading = load(bench, { port, connections: CONNECTIONS, requests, seconds });
  await pause(WARM_UP_S * 1_000);
  const first = await look(port);
  await pause(bench.seconds * 1_000);
  const behind = await look(port);
  await pause(settle_s * 1_000);
  const before = await look(port);
  await pause(window_s * 1_000);
  const after = await look(port);
  const { refused, failed } = await loading;
  if (failed > 0) throw new Error(`${failed} launches were not answered`);
  return {
    accepted_at_first: rate(first, behind, "accepted"),
    accepted: rate(before, after, "accepted"),
    ended: rate(before, after, "ended"),
    backlog_before: before.backlog,
    backlog_after: after.backlog,
    refused,
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
